/* The block's figures, for the program itself. */
#include "sums.h"

#include "schedule.h"

static uint64_t load(const _Atomic uint64_t *count) {
  return atomic_load_explicit(count, memory_order_relaxed);
}

void rtscope_stm_sums(uint64_t sums[RTSCOPE_STM_SUMS]) {
  for (uint32_t i = 0; i < RTSCOPE_STM_SUMS; i++) sums[i] = 0;
  for (uint32_t i = 0; i < RTSCOPE_STM_LANES; i++) {
    const struct rtscope_stm_lane *lane = &rtscope_stm.lanes[i];
    const _Atomic uint64_t *const counts[RTSCOPE_STM_SUMS] = {
        &lane->attempts,   &lane->commits,    &lane->conflicts, &lane->waits,      &lane->wait_conflicts,
        &lane->wakes,      &lane->idle_wakes, &lane->invalid,   &lane->exceptions, &lane->nested_conflicts,
        &lane->backoffs,   &lane->backoff_ns, &lane->limited,   &lane->limited_ns, &lane->decisions,
        &lane->restarts,   &lane->condemned,  &lane->interrupted,
    };
    for (uint32_t k = 0; k < RTSCOPE_STM_SUMS; k++) sums[k] += load(counts[k]);
  }
}

uint32_t rtscope_stm_names_used(void) {
  return atomic_load_explicit(&rtscope_stm.names_used, memory_order_acquire);
}

const char *rtscope_stm_name_figures(uint32_t name, uint64_t figures[4]) {
  struct rtscope_stm_name *entry = &rtscope_stm.names[name < RTSCOPE_STM_NAMES ? name : RTSCOPE_STM_NAMES - 1];
  figures[0] = load(&entry->attempts);
  figures[1] = load(&entry->commits);
  figures[2] = load(&entry->waits);
  figures[3] = load(&entry->exceptions);
  return entry->name;
}

uint32_t rtscope_stm_state(void) {
  if (!rtscope_stm_is_linked()) return 2;
  return rtscope_stm_asked.off ? 1 : 0;
}

uint32_t rtscope_stm_way(void) {
  uint32_t way = atomic_load_explicit(&rtscope_in_force.way, memory_order_relaxed);
  return way < RTSCOPE_WAY_LIMIT ? way : 1 + atomic_load_explicit(&rtscope_in_force.limit, memory_order_relaxed);
}
