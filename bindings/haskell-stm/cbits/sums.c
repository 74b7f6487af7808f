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
    const _Atomic uint64_t *const counts[RTSCOPE_STM_SUMS - 2] = {
        &lane->restarts,  &lane->conflicts, &lane->waits,      &lane->wait_conflicts,   &lane->wakes,
        &lane->idle_wakes, &lane->invalid,  &lane->exceptions, &lane->nested_conflicts, &lane->backoffs,
        &lane->backoff_ns, &lane->limited,  &lane->limited_ns, &lane->decisions,        &lane->condemned,
        &lane->interrupted,
    };
    /* Ends before attempts: what ends in between then counts as a commit, not as less than none. */
    uint64_t failed = rtscope_stm_failed(lane), attempts = rtscope_stm_attempts(lane);
    sums[0] += attempts;
    sums[1] += attempts - failed;
    for (uint32_t k = 2; k < RTSCOPE_STM_SUMS; k++) sums[k] += load(counts[k - 2]);
  }
}

uint32_t rtscope_stm_names_used(void) {
  return atomic_load_explicit(&rtscope_stm.names_used, memory_order_acquire);
}

const char *rtscope_stm_name_figures(uint32_t name, uint64_t figures[4]) {
  if (name >= RTSCOPE_STM_NAMES) name = RTSCOPE_STM_NAMES - 1;
  for (uint32_t k = 0; k < 4; k++) figures[k] = 0;
  for (uint32_t i = 0; i < RTSCOPE_STM_LANES; i++) {
    const struct rtscope_stm_named *named = &rtscope_stm_named[i][name];
    figures[0] += load(&named->attempts);
    figures[1] += load(&named->commits);
    figures[2] += load(&named->waits);
    figures[3] += load(&named->exceptions);
  }
  return rtscope_stm.names[name].text;
}

uint32_t rtscope_stm_state(void) {
  return rtscope_stm_is_linked() ? 0 : 1;
}

uint32_t rtscope_stm_way(void) {
  uint32_t way = atomic_load_explicit(&rtscope_in_force.way, memory_order_relaxed);
  return way < RTSCOPE_WAY_LIMIT ? way : 1 + atomic_load_explicit(&rtscope_in_force.limit, memory_order_relaxed);
}
