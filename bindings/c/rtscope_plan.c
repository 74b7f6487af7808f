/* The rules of docs/plan-rules.md. Owns every threshold; refuses to read files. */
#include "rtscope_plan.h"

#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define NO_LIMIT UINT64_MAX

static const char *const names[] = {"latency", "throughput", "memory"};

bool rtscope_goal_named(const char *name, enum rtscope_goal *goal) {
  for (int i = 0; i < 3; i++) {
    if (strcmp(name, names[i]) != 0) continue;
    *goal = (enum rtscope_goal)i;
    return true;
  }
  return false;
}

const char *rtscope_goal_name(enum rtscope_goal goal) {
  return names[goal];
}

static uint32_t at_most(uint32_t one, uint32_t other) {
  return one < other ? one : other;
}

/* `limit` or the quota, whichever is less, at least 1. The quota is a fraction: it is
 * rounded here and nowhere before. */
static uint32_t quota_or(const struct rtscope_machine *machine, uint32_t limit, bool up) {
  uint32_t workers = limit;
  if (machine->quota_set && machine->quota_cpus < (double)limit) {
    workers = (uint32_t)machine->quota_cpus;
    if (up && (double)workers < machine->quota_cpus) workers++;
  }
  return workers < 1 ? 1 : workers;
}

static uint32_t workers(const struct rtscope_machine *machine, enum rtscope_goal goal) {
  return goal == RTSCOPE_THROUGHPUT ? quota_or(machine, machine->cpus_allowed, true)
                                    : quota_or(machine, machine->cores, false);
}

uint32_t rtscope_gc_threads(const struct rtscope_machine *machine, uint32_t workers) {
  return at_most(workers, quota_or(machine, machine->cores, false));
}

uint64_t rtscope_ghc_default_nursery_bytes(uint32_t ghc_version) {
  if (ghc_version == 0) return 0;
  return ghc_version < 902 ? MIB : 4 * MIB;
}

/* The largest of `sizes` that is at most `wanted` and for which `count` of them are at
 * most a `share`th of `limit`; the last where none is. */
static uint64_t largest(const uint64_t *sizes, size_t number, uint64_t wanted, uint32_t count, uint64_t share,
                        uint64_t limit, bool *too_large) {
  *too_large = false;
  for (size_t i = 0; i < number; i++)
    if (sizes[i] <= wanted && (limit == NO_LIMIT || sizes[i] * count <= limit / share)) return sizes[i];
  *too_large = true;
  return sizes[number - 1];
}

uint64_t rtscope_nursery_bytes(enum rtscope_goal goal, uint32_t ghc_version, uint32_t workers, uint64_t memory_bytes,
                               bool *too_large) {
  static const uint64_t sizes[] = {64 * MIB, 16 * MIB, 4 * MIB, MIB};
  uint64_t wanted = goal == RTSCOPE_LATENCY ? 16 * MIB : 64 * MIB;
  if (goal == RTSCOPE_MEMORY) {
    wanted = rtscope_ghc_default_nursery_bytes(ghc_version);
    if (wanted == 0) wanted = 4 * MIB;
  }
  return largest(sizes, 4, wanted, workers, 5, memory_bytes, too_large);
}

static void plan_ocaml(const struct rtscope_machine *machine, uint64_t memory_bytes, struct rtscope_plan *plan) {
  static const uint64_t kib_words[] = {8192, 4096, 1024, 256, 32};
  static const uint64_t wanted[] = {1024, 4096, 256};
  uint64_t sizes[5];
  for (int i = 0; i < 5; i++) sizes[i] = kib_words[i] * 1024 * 8;
  plan->domains = plan->workers;
  plan->minor_words = largest(sizes, 5, wanted[plan->goal] * 1024 * 8, plan->domains, 10, memory_bytes,
                              &plan->minor_too_large) / 8;
  bool tight = machine->memory_limited && machine->memory_limit_bytes < 512 * MIB;
  plan->space_overhead = plan->goal == RTSCOPE_MEMORY || tight ? 80 : 120;
}

void rtscope_make_plan(const struct rtscope_machine *machine, enum rtscope_goal goal, uint32_t ghc_version,
                       struct rtscope_plan *plan) {
  uint64_t memory_bytes = machine->memory_known ? machine->memory_limit_bytes : NO_LIMIT;
  memset(plan, 0, sizeof *plan);
  plan->goal = goal;
  plan->ghc_version = ghc_version;
  plan->workers = workers(machine, goal);
  plan->gc_threads = rtscope_gc_threads(machine, plan->workers);
  plan->nursery_bytes =
      rtscope_nursery_bytes(goal, ghc_version, plan->workers, memory_bytes, &plan->nursery_too_large);
  plan_ocaml(machine, memory_bytes, plan);
}
