/* The plan becomes this runtime's defaults. Owns when what is set: the number of
 * capabilities before flags are parsed; what follows from it, collectors and nursery,
 * after that, since a user who says -N or -M means something for those too. Refuses to
 * touch what a flag was given for, and to print.
 *
 * The runtime calls FlagDefaultsHook, then parses flags, then calls initStats1, which
 * the linker leads here. */
#include "start.h"

#include "Rts.h"
#include "rtscope_words.h"

#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

/* The runtime's own. The first is not there where the linker did not wrap it: in a
 * runtime that has no such function, and in shared libraries. */
extern void __real_initStats1(void) __attribute__((weak));
extern uint32_t __real_getNumberOfProcessors(void) __attribute__((weak));
/* How many words of rts_argv are there; not each version's headers have it. */
extern int rts_argc __attribute__((weak));

void __wrap_initStats1(void);
uint32_t __wrap_getNumberOfProcessors(void);

enum state { NOT_STARTED, STARTED, OFF };

static struct {
  enum state state;
  bool parsing;     /* the runtime reads its flags right now */
  bool settled;     /* and has read them */
  bool nursery_set; /* -A is the plan's */
  struct rtscope_asked asked;
  struct rtscope_machine machine;
  struct rtscope_plan plan;
} start;

/* Reads and plans. */
static void make_plan(void) {
  rtscope_read_machine(start.asked.root, &start.machine);
  rtscope_make_plan(&start.machine, start.asked.goal, __GLASGOW_HASKELL__, &start.plan);
}

/* For programs that were not started by it; several threads may ask at once. */
static void make_plan_once(void) {
  static atomic_int made;
  int none = 0;
  if (start.state == STARTED) return;
  if (atomic_compare_exchange_strong(&made, &none, 1)) {
    rtscope_read_asked(&start.asked);
    make_plan();
    atomic_store(&made, 2);
  }
  while (atomic_load(&made) != 2) sched_yield();
}

/* Whether capabilities can be more than one; a profiled runtime is left at one. */
static bool has_workers(void) {
  return rtsSupportsBoundThreads() && !rts_isProfiled();
}

/* The last flag given that begins so, or NULL. Holds all that were let through: those of
 * the link, of GHCRTS, of the command line, in this order. */
static const char *given(const char *flag) {
  size_t length = strlen(flag);
  const char *last = NULL;
  if (&rts_argc == NULL || rts_argv == NULL) return NULL;
  for (int i = 0; i < rts_argc; i++)
    if (rts_argv[i] != NULL && strncmp(rts_argv[i], flag, length) == 0) last = rts_argv[i];
  return last;
}

/* Whether -A was given, or -H or -n, which change with it. */
static bool given_nursery(void) {
  for (int i = 0; &rts_argc != NULL && rts_argv != NULL && i < rts_argc; i++) {
    const char *word = rts_argv[i];
    if (word == NULL || word[0] != '-') continue;
    if (word[1] == 'H' || word[1] == 'n' || (word[1] == 'A' && word[2] != 'L')) return true;
  }
  return false;
}

static void set_collectors(uint32_t workers) {
  uint32_t collectors = rtscope_gc_threads(&start.machine, workers);
  if (collectors == workers) return;
  if (collectors == 1)
    RtsFlags.ParFlags.parGcEnabled = false;
  else
    RtsFlags.ParFlags.parGcThreads = collectors;
}

static void set_nursery(uint32_t workers) {
  uint64_t memory = start.machine.memory_known ? start.machine.memory_limit_bytes : UINT64_MAX;
  uint64_t heap = (uint64_t)RtsFlags.GcFlags.maxHeapSize * BLOCK_SIZE;
  bool too_large;
  if (heap > 0 && heap < memory) memory = heap;
  uint64_t bytes = rtscope_nursery_bytes(start.plan.goal, __GLASGOW_HASKELL__, workers, memory, &too_large);
  start.nursery_set = true;
  RtsFlags.GcFlags.minAllocAreaSize = (uint32_t)(bytes / BLOCK_SIZE);
  if (!start.settled) return;
  /* What the runtime itself derives from -A, by its own rules. */
  if (bytes >= 16 * MIB) RtsFlags.GcFlags.nurseryChunkSize = (uint32_t)(4 * MIB / BLOCK_SIZE);
  if (given("-qb") == NULL) RtsFlags.ParFlags.parGcLoadBalancingGen = bytes >= 32 * MIB ? 0 : 1;
}

void rtscope_start_defaults(void) {
  rtscope_read_asked(&start.asked);
  if (start.asked.off) {
    start.state = OFF;
    return;
  }
  make_plan();
  start.state = STARTED;
  start.parsing = true;
  uint32_t workers = has_workers() ? start.plan.workers : 1;
  if (has_workers()) RtsFlags.ParFlags.nCapabilities = workers;
  if (__real_initStats1 != NULL) return;
  /* Nobody will call when flags are parsed: what is not given is set now. */
  if (has_workers()) set_collectors(workers);
  set_nursery(workers);
}

void __wrap_initStats1(void) {
  start.parsing = false;
  if (start.state == STARTED) {
    start.settled = true;
    uint32_t workers = rtsSupportsBoundThreads() ? RtsFlags.ParFlags.nCapabilities : 1;
    if (workers > 1 && given("-qg") == NULL && given("-qn") == NULL && given("-g1") == NULL) set_collectors(workers);
    if (!given_nursery()) set_nursery(workers);
  }
  if (__real_initStats1 != NULL) __real_initStats1();
}

/* Whether the number of processors is asked for on behalf of a bare -N, or -maxN. For
 * -N8 it is asked too, to tell whether 8 is allowed: there the plan must not refuse what
 * was allowed without it. */
static bool asked_by_bare_n(void) {
  const char *last = NULL;
  for (int i = 0; &rts_argc != NULL && rts_argv != NULL && i < rts_argc; i++) {
    const char *word = rts_argv[i];
    if (word != NULL && (strncmp(word, "-N", 2) == 0 || strncmp(word, "-maxN", 5) == 0)) last = word;
  }
  return last != NULL && (strcmp(last, "-N") == 0 || last[1] == 'm');
}

/* Only while flags are parsed: later the runtime asks how many capabilities could ever be
 * useful, and programs through getNumProcessors. */
uint32_t __wrap_getNumberOfProcessors(void) {
  if (start.parsing && start.machine.cores > 0 && asked_by_bare_n()) return start.machine.cores;
  if (__real_getNumberOfProcessors != NULL) return __real_getNumberOfProcessors();
  long online = sysconf(_SC_NPROCESSORS_ONLN);
  return online < 1 ? 1 : (uint32_t)online;
}

void rtscope_start_figures(uint64_t figures[6]) {
  make_plan_once();
  figures[0] = start.state;
  figures[1] = start.plan.goal;
  figures[2] = start.plan.workers;
  figures[3] = start.plan.gc_threads;
  figures[4] = start.plan.nursery_bytes;
  figures[5] = start.nursery_set;
}

static void add_given(struct rtscope_words *text, const char *flag) {
  const char *word = given(flag);
  if (word != NULL) rtscope_add(text, "given: %s, which stays.\n", word);
}

size_t rtscope_start_text(char *space, size_t size) {
  static const char *const flags[] = {"-N", "-maxN", "-A", "-H", "-n", "-M", "-qg", "-qn"};
  uint64_t figures[6];
  rtscope_start_figures(figures);
  struct rtscope_words text = rtscope_words_in(space, size);
  rtscope_add_plan(&text, &start.machine, &start.plan, RTSCOPE_PART_MACHINE | RTSCOPE_PART_GHC);
  rtscope_add_asked(&text, &start.asked);
  if (start.state == NOT_STARTED)
    rtscope_add(&text, "note: this program was not started by the plan: it is linked with -dynamic, or has a defaults "
                       "hook of its own.\n");
  if (start.state == STARTED && !rtsSupportsBoundThreads())
    rtscope_add(&text, "note: linked without -threaded, so only -A is set.\n");
  if (start.state == STARTED)
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) add_given(&text, flags[i]);
  return text.length;
}
