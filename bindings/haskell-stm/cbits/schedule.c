/* The transaction scheduler. Owns waiting: after a conflict, and for a token; and when the
 * bandit is asked. Refuses to block: whoever waits here spins, for some microseconds at
 * most, no longer than the runtime leaves its capability alone, and then goes on whatever
 * the others do. No thread is parked, so that none can queue behind another.
 *
 * Nothing here is reached without a conflict, but for one look at `way` in each attempt
 * and, while the number of transactions is limited, the taking of tokens. */
#define _GNU_SOURCE
#include "schedule.h"

#include "rtscope_plan.h"

#include <sched.h>
#include <time.h>

#define US ((uint64_t)1000)

/* After a conflict a capability keeps away for 5 to 10 us: long against a small
 * transaction, so that others run hundreds in their own caches meanwhile, and short against
 * all that other threads of this capability may wait for. */
#define SPIN_NS (5 * US)
#define SPIN_MORE_NS 5119u /* and up to this, by chance, so that two do not do it in step */
/* A token is kept for some 10 us of commits: handing it over costs some hundred
 * nanoseconds, which is to stay a small part. */
#define LEASE_NS (10 * US)
#define LEASE_MAX 4096u
/* A token is waited for as long as two leases, or two attempts where these take longer. */
#define HOLD_MIN_NS (20 * US)
#define HOLD_MAX_NS (100 * US)
/* The clock is read on each so many occasions: reading it takes about as long as a small
 * transaction. */
#define LOOK_EVERY 16u
/* Pauses between two readings of the clock while spinning. */
#define PAUSES 4

struct rtscope_in_force rtscope_in_force;

/* A capability holds one when its number plus one is in it. */
static struct {
  _Alignas(128) _Atomic uint32_t holder;
} tokens[RTSCOPE_STM_TOKENS];

/* What the one who decides knows. */
static struct {
  _Alignas(128) atomic_flag taken;
  struct rtscope_bandit bandit;
  struct rtscope_epoch sums; /* of all lanes when the epoch began */
  uint64_t from_ns;
  uint32_t allowed_cpus; /* in the mask that the process started with */
  uint32_t cpus;         /* 0: not known yet */
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
  decision.allowed_cpus = read_allowed_cpus();
  if (mode == RTSCOPE_STM_ADAPTIVE) due = rtscope_bandit_start(&decision.bandit);
  if (mode == RTSCOPE_STM_LIMIT) due = 0;
  if (mode == RTSCOPE_STM_BACKOFF) atomic_store(&rtscope_in_force.way, RTSCOPE_WAY_BACKOFF);
  if (mode == RTSCOPE_STM_LIMIT) atomic_store(&rtscope_in_force.way, RTSCOPE_WAY_LIMIT);
  atomic_store(&rtscope_in_force.limit, rtscope_stm_asked.limit);
  atomic_store(&rtscope_in_force.lease, 1);
  atomic_store(&rtscope_in_force.hold_ns, HOLD_MIN_NS);
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
    if (i >= count && i != RTSCOPE_STM_LANES - 1) continue;
    struct rtscope_stm_lane *lane = &rtscope_stm.lanes[i];
    uint64_t attempts = atomic_load_explicit(&lane->attempts, memory_order_relaxed);
    if (attempts != rtscope_places[i].seen_attempts) running++;
    rtscope_places[i].seen_attempts = attempts;
    sums.attempts += attempts;
    sums.commits += atomic_load_explicit(&lane->commits, memory_order_relaxed);
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

/* How long tokens are kept and waited for follows from how long an attempt takes. */
static void set_lease(const struct rtscope_epoch *epoch) {
  if (epoch->attempts == 0) return;
  uint64_t attempt_ns = epoch->ns * epoch->running / epoch->attempts;
  uint64_t lease = attempt_ns == 0 ? LEASE_MAX : LEASE_NS / attempt_ns;
  uint64_t hold = 2 * attempt_ns;
  lease = lease < 1 ? 1 : lease > LEASE_MAX ? LEASE_MAX : lease;
  hold = hold < HOLD_MIN_NS ? HOLD_MIN_NS : hold > HOLD_MAX_NS ? HOLD_MAX_NS : hold;
  atomic_store_explicit(&rtscope_in_force.lease, (uint32_t)lease, memory_order_relaxed);
  atomic_store_explicit(&rtscope_in_force.hold_ns, hold, memory_order_relaxed);
}

/* A lease that is set once more after so long, where no bandit says when. */
#define LEASE_AGAIN_NS (10000 * US)

/* Decides anew. The caller holds `decision.taken`. */
static void decide(struct rtscope_place *place, uint64_t now) {
  struct rtscope_epoch epoch = epoch_until(now);
  uint64_t next = LEASE_AGAIN_NS;
  set_lease(&epoch);
  if (rtscope_stm_asked.mode == RTSCOPE_STM_ADAPTIVE) {
    struct rtscope_arm before = decision.bandit.now, now_in_force;
    next = rtscope_bandit_next(&decision.bandit, &epoch);
    now_in_force = decision.bandit.now;
    if (now_in_force.way != before.way || now_in_force.limit != before.limit) {
      rtscope_count(place, &place->lane->decisions, 1);
      atomic_store_explicit(&rtscope_in_force.limit, now_in_force.limit, memory_order_relaxed);
      atomic_store_explicit(&rtscope_in_force.way, now_in_force.way, memory_order_relaxed);
    }
  }
  atomic_store_explicit(&rtscope_in_force.due_ns, now + next, memory_order_relaxed);
}

static void decide_if_due(struct rtscope_place *place, uint64_t now) {
  if (now < atomic_load_explicit(&rtscope_in_force.due_ns, memory_order_relaxed)) return;
  if (atomic_flag_test_and_set_explicit(&decision.taken, memory_order_acquire)) return;
  if (now >= atomic_load_explicit(&rtscope_in_force.due_ns, memory_order_relaxed)) decide(place, now);
  atomic_flag_clear_explicit(&decision.taken, memory_order_release);
}

/* Looks whether a decision is due, not on every occasion; and says in the lane what is in
 * force. */
static void look_sometimes(struct rtscope_place *place) {
  if (++place->looks % LOOK_EVERY != 0) return;
  decide_if_due(place, clock_ns());
  atomic_store_explicit(&place->lane->arm, load(&rtscope_in_force.way), memory_order_relaxed);
  atomic_store_explicit(&place->lane->limit, load(&rtscope_in_force.limit), memory_order_relaxed);
}

static uint32_t by_chance(struct rtscope_place *place) {
  uint32_t word = place->random;
  word ^= word << 13;
  word ^= word >> 17;
  word ^= word << 5;
  place->random = word;
  return word;
}

static void back_off(struct rtscope_place *place, const Capability *capability) {
  uint64_t from = clock_ns(), now = from;
  uint64_t until = from + SPIN_NS + by_chance(place) % SPIN_MORE_NS;
  while (now < until && !rtscope_is_wanted(capability)) {
    pause_a_little();
    now = clock_ns();
  }
  rtscope_count(place, &place->lane->backoffs, 1);
  rtscope_count(place, &place->lane->backoff_ns, now - from);
  decide_if_due(place, now);
}

void rtscope_after_conflict(struct rtscope_place *place, const Capability *capability) {
  /* Capabilities that share a place have no state of their own to schedule by; and where
   * there is one capability, whoever is waited for cannot run. */
  if (rtscope_stm_asked.mode == RTSCOPE_STM_COUNT || place->shared || rtscope_capabilities() < 2) return;
  if (load(&rtscope_in_force.way) == RTSCOPE_WAY_BACKOFF) back_off(place, capability);
  look_sometimes(place);
}

static bool take(_Atomic uint32_t *holder, uint32_t me) {
  uint32_t nobody = 0;
  if (load(holder) != 0) return false;
  return atomic_compare_exchange_strong_explicit(holder, &nobody, me, memory_order_relaxed, memory_order_relaxed);
}

/* Waits for a token. Who has waited long enough takes it away, as its holder may be gone
 * to do other things; whom the runtime wants goes without. False: without. */
static bool wait_for(struct rtscope_place *place, const Capability *capability, _Atomic uint32_t *holder, uint32_t me) {
  uint64_t hold = atomic_load_explicit(&rtscope_in_force.hold_ns, memory_order_relaxed);
  uint64_t from = clock_ns(), now = from;
  bool wanted = false, taken = false;
  while (!taken && !wanted && now - from < hold) {
    pause_a_little();
    taken = take(holder, me);
    wanted = rtscope_is_wanted(capability);
    now = clock_ns();
  }
  if (!taken && !wanted) {
    atomic_store_explicit(holder, me, memory_order_relaxed);
    taken = true;
  }
  rtscope_count(place, &place->lane->limited, 1);
  rtscope_count(place, &place->lane->limited_ns, now - from);
  return taken;
}

void rtscope_hold_back(struct rtscope_place *place, const Capability *capability) {
  uint32_t limit = load(&rtscope_in_force.limit), number = rtscope_number_of(capability);
  if (place->token != NULL || place->shared || limit == 0 || rtscope_capabilities() <= limit) return;
  /* Each token serves those capabilities whose numbers leave the same remainder: nobody
   * looks for a free one, and no line is written by all. */
  _Atomic uint32_t *holder = &tokens[number % limit % RTSCOPE_STM_TOKENS].holder;
  if (take(holder, number + 1) || wait_for(place, capability, holder, number + 1)) {
    place->token = holder;
    place->lease = load(&rtscope_in_force.lease);
  }
  look_sometimes(place);
}

void rtscope_give_back(struct rtscope_place *place) {
  uint32_t me = (uint32_t)(place - rtscope_places) + 1;
  atomic_compare_exchange_strong_explicit(place->token, &me, 0, memory_order_relaxed, memory_order_relaxed);
  place->token = NULL;
}
