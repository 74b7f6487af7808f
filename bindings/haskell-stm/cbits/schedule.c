/* The transaction scheduler. Owns waiting after a conflict, and when the bandit is asked.
 * Refuses to block: whoever waits here spins, for some microseconds at most, no longer than
 * the runtime leaves its capability alone, and then goes on whatever the others do. No
 * thread is parked, so that none can queue behind another.
 *
 * Nothing here is reached without a conflict. */
#define _GNU_SOURCE
#include "schedule.h"

#include "rtscope_plan.h"

#include <sched.h>
#include <time.h>

#define US ((uint64_t)1000)

/* After a conflict a capability keeps away for 10 to 20 us: long against a small
 * transaction, so that others run hundreds in their own caches meanwhile, and short against
 * all that other threads of this capability may wait for. */
#define SPIN_NS (10 * US)
#define SPIN_MORE_NS 10239u /* and up to this, by chance, so that two do not do it in step */
/* A place is kept for this long, or for two attempts where these take longer. */
#define KEEP_NS (10 * US)
/* No place is kept or waited for longer than this. */
#define WAIT_MAX_NS (100 * US)
/* The clock is read on each so many occasions: reading it takes about as long as a small
 * transaction. */
#define LOOK_EVERY 16u
/* Pauses between two readings of the clock while spinning: a hyper-thread that reads it all
 * the time takes the core from its sibling, which is the one that is to run. */
#define PAUSES 32

struct rtscope_in_force rtscope_in_force;

/* What is kept of a capability, by its lane's number; its holder alone writes it. */
static struct {
  _Alignas(128) uint32_t looks; /* occasions since the clock was read */
  uint32_t random;              /* state of its jitter, never 0 */
  uint64_t until_ns;            /* when the place that it took last is free again */
} own[RTSCOPE_STM_LANES];

/* Places of those that conflicted: until when one is taken. */
static struct {
  _Alignas(128) _Atomic uint64_t until_ns;
} places[RTSCOPE_STM_PLACES];

/* What the one who decides knows. */
static struct {
  _Alignas(128) atomic_flag taken;
  struct rtscope_bandit bandit;
  struct rtscope_epoch sums; /* of all lanes when the epoch began */
  uint64_t from_ns;
  uint32_t allowed_cpus; /* in the mask that the process started with */
  uint32_t cpus;         /* 0: not known yet */
  uint64_t seen[RTSCOPE_STM_LANES]; /* attempts of each lane when the epoch began */
} decision = {.taken = ATOMIC_FLAG_INIT};

static uint64_t clock_ns(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void pause_a_little(void) {
  for (int i = 0; i < PAUSES; i++) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#else
    __asm__ volatile("" ::: "memory");
#endif
  }
}

static uint32_t load(_Atomic uint32_t *word) {
  return atomic_load_explicit(word, memory_order_relaxed);
}

/* The process's own mask: later the runtime may pin its threads to a CPU each. */
static uint32_t read_allowed_cpus(void) {
  cpu_set_t *mask = CPU_ALLOC(RTSCOPE_MAX_CPUS);
  size_t size = CPU_ALLOC_SIZE(RTSCOPE_MAX_CPUS);
  if (mask == NULL) return 1;
  int count = sched_getaffinity(0, size, mask) == 0 ? CPU_COUNT_S(size, mask) : 1;
  CPU_FREE(mask);
  return count < 1 ? 1 : (uint32_t)count;
}

void rtscope_schedule_prepare(void) {
  enum rtscope_stm_mode mode = rtscope_stm_asked.mode;
  uint64_t due = UINT64_MAX;
  for (uint32_t i = 0; i < RTSCOPE_STM_LANES; i++) own[i].random = 0x9e3779b9u * (i + 1);
  decision.allowed_cpus = read_allowed_cpus();
  if (mode == RTSCOPE_STM_ADAPTIVE) due = rtscope_bandit_start(&decision.bandit);
  if (mode == RTSCOPE_STM_LIMIT) due = 0;
  if (mode == RTSCOPE_STM_BACKOFF) atomic_store(&rtscope_in_force.way, RTSCOPE_WAY_BACKOFF);
  if (mode == RTSCOPE_STM_LIMIT) atomic_store(&rtscope_in_force.way, RTSCOPE_WAY_LIMIT);
  atomic_store(&rtscope_in_force.limit, rtscope_stm_asked.limit);
  atomic_store(&rtscope_in_force.keep_ns, KEEP_NS);
  decision.from_ns = clock_ns();
  atomic_store(&rtscope_in_force.due_ns, due == UINT64_MAX ? due : decision.from_ns + due);
}

/* CPUs that this process may use at once. A quota is read when it is first needed, and not
 * again: reading it takes about a quarter of a millisecond. */
static uint32_t usable_cpus(void) {
  static struct rtscope_machine machine;
  if (decision.cpus != 0) return decision.cpus;
  decision.cpus = decision.allowed_cpus;
  rtscope_read_machine(NULL, &machine);
  if (machine.quota_set && machine.quota_cpus < decision.cpus) {
    uint32_t whole = (uint32_t)machine.quota_cpus;
    decision.cpus = whole < machine.quota_cpus ? whole + 1 : whole;
  }
  return decision.cpus;
}

/* What happened since it was last asked. */
static struct rtscope_epoch epoch_until(uint64_t now) {
  struct rtscope_epoch sums = {0}, since;
  uint32_t running = 0, count = rtscope_capabilities();
  for (uint32_t i = 0; i < RTSCOPE_STM_LANES; i++) {
    if (RTSCOPE_NUMBERED && i >= count) break;
    struct rtscope_stm_lane *lane = &rtscope_stm.lanes[i];
    uint64_t attempts = rtscope_stm_attempts(lane);
    if (attempts != decision.seen[i]) running++;
    decision.seen[i] = attempts;
    sums.attempts += attempts;
    sums.commits += attempts - rtscope_stm_failed(lane);
    sums.lost += atomic_load_explicit(&lane->conflicts, memory_order_relaxed);
    sums.lost += atomic_load_explicit(&lane->restarts, memory_order_relaxed);
  }
  since = (struct rtscope_epoch){
      .ns = now - decision.from_ns,
      .attempts = sums.attempts - decision.sums.attempts,
      .commits = sums.commits - decision.sums.commits,
      .lost = sums.lost - decision.sums.lost,
      .running = running,
      .cpus = usable_cpus(),
  };
  decision.sums = sums;
  decision.from_ns = now;
  return since;
}

/* How long a place is kept follows from how long an attempt takes. */
static void set_keep(const struct rtscope_epoch *epoch) {
  if (epoch->attempts == 0) return;
  uint64_t keep = 2 * epoch->ns * epoch->running / epoch->attempts;
  keep = keep < KEEP_NS ? KEEP_NS : keep > WAIT_MAX_NS ? WAIT_MAX_NS : keep;
  atomic_store_explicit(&rtscope_in_force.keep_ns, keep, memory_order_relaxed);
}

/* It is set once more after so long, where no bandit says when. */
#define KEEP_AGAIN_NS (10000 * US)

/* Decides anew. The caller holds `decision.taken`. */
static void decide(uint32_t lane, uint64_t now) {
  struct rtscope_epoch epoch = epoch_until(now);
  uint64_t next = KEEP_AGAIN_NS;
  set_keep(&epoch);
  if (rtscope_stm_asked.mode == RTSCOPE_STM_ADAPTIVE) {
    struct rtscope_arm before = decision.bandit.now, now_in_force;
    next = rtscope_bandit_next(&decision.bandit, &epoch);
    now_in_force = decision.bandit.now;
    if (now_in_force.way != before.way || now_in_force.limit != before.limit) {
      rtscope_add(&rtscope_stm.lanes[lane].decisions, 1);
      atomic_store_explicit(&rtscope_in_force.limit, now_in_force.limit, memory_order_relaxed);
      atomic_store_explicit(&rtscope_in_force.way, now_in_force.way, memory_order_relaxed);
    }
  }
  atomic_store_explicit(&rtscope_in_force.due_ns, now + next, memory_order_relaxed);
}

static void decide_if_due(uint32_t lane, uint64_t now) {
  if (now < atomic_load_explicit(&rtscope_in_force.due_ns, memory_order_relaxed)) return;
  if (atomic_flag_test_and_set_explicit(&decision.taken, memory_order_acquire)) return;
  if (now >= atomic_load_explicit(&rtscope_in_force.due_ns, memory_order_relaxed)) decide(lane, now);
  atomic_flag_clear_explicit(&decision.taken, memory_order_release);
}

/* Looks whether a decision is due, not on every occasion; and says in the lane what is in
 * force. */
static void look_sometimes(uint32_t lane) {
  if (++own[lane].looks % LOOK_EVERY != 0) return;
  decide_if_due(lane, clock_ns());
  atomic_store_explicit(&rtscope_stm.lanes[lane].arm, load(&rtscope_in_force.way), memory_order_relaxed);
  atomic_store_explicit(&rtscope_stm.lanes[lane].limit, load(&rtscope_in_force.limit), memory_order_relaxed);
}

static uint32_t by_chance(uint32_t lane) {
  uint32_t word = own[lane].random;
  word ^= word << 13;
  word ^= word >> 17;
  word ^= word << 5;
  own[lane].random = word;
  return word;
}

static void back_off(uint32_t lane, const Capability *capability) {
  uint64_t from = clock_ns(), now = from;
  uint64_t until = from + SPIN_NS + by_chance(lane) % SPIN_MORE_NS;
  while (now < until && !rtscope_is_wanted(capability)) {
    pause_a_little();
    now = clock_ns();
  }
  rtscope_add(&rtscope_stm.lanes[lane].backoffs, 1);
  rtscope_add(&rtscope_stm.lanes[lane].backoff_ns, now - from);
  decide_if_due(lane, now);
}

/* Takes a place that is free now; false: it is not. */
static bool take(_Atomic uint64_t *until, uint64_t now, uint64_t keep) {
  uint64_t taken = atomic_load_explicit(until, memory_order_relaxed);
  return taken <= now &&
         atomic_compare_exchange_strong_explicit(until, &taken, now + keep, memory_order_relaxed, memory_order_relaxed);
}

/* Of those that conflicted, no more than the limit go on at once: each takes a place for a
 * time and need not give it back. Each place serves those whose numbers leave the same
 * remainder, so that nobody looks for a free one and no line is written by all. Who has
 * waited for all before it, or whom the runtime wants, goes on without. */
static void keep_to_limit(uint32_t lane, const Capability *capability) {
  uint32_t limit = load(&rtscope_in_force.limit), count = rtscope_capabilities();
  if (limit == 0 || count <= limit) return;
  _Atomic uint64_t *until = &places[lane % limit % RTSCOPE_STM_PLACES].until_ns;
  uint64_t keep = atomic_load_explicit(&rtscope_in_force.keep_ns, memory_order_relaxed);
  uint64_t wait = keep * ((count + limit - 1) / limit);
  uint64_t from = clock_ns(), now = from, *mine = &own[lane].until_ns;
  if (wait > WAIT_MAX_NS) wait = WAIT_MAX_NS;
  if (now < *mine && atomic_load_explicit(until, memory_order_relaxed) == *mine) return;
  while (!take(until, now, keep) && now - from < wait && !rtscope_is_wanted(capability)) {
    pause_a_little();
    now = clock_ns();
  }
  *mine = now + keep;
  rtscope_add(&rtscope_stm.lanes[lane].limited, now > from);
  rtscope_add(&rtscope_stm.lanes[lane].limited_ns, now - from);
  decide_if_due(lane, now);
}

void rtscope_after_conflict(uint32_t lane, const Capability *capability) {
  /* Capabilities that share a lane have no state of their own to schedule by; and where
   * there is one capability, whoever is waited for cannot run. */
  uint32_t count = rtscope_capabilities();
  if (rtscope_stm_asked.mode == RTSCOPE_STM_COUNT || !RTSCOPE_NUMBERED || count < 2 || count > RTSCOPE_STM_LANES) return;
  uint32_t way = load(&rtscope_in_force.way);
  if (way == RTSCOPE_WAY_BACKOFF) back_off(lane, capability);
  if (way == RTSCOPE_WAY_LIMIT) keep_to_limit(lane, capability);
  look_sometimes(lane);
}
