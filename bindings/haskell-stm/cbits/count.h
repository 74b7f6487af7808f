/* Where the counts of a capability go. For this folder only. */
#ifndef RTSCOPE_STM_COUNT_H
#define RTSCOPE_STM_COUNT_H

#include "asked.h"
#include "block.h"
#include "runtime.h"

/* Read before main. */
extern struct rtscope_stm_asked rtscope_stm_asked;

#define RTSCOPE_LAST (RTSCOPE_STM_LANES - 1)

/* The number of the lane in which a capability counts. */
static inline uint32_t rtscope_lane_of(const Capability *capability) {
  return RTSCOPE_NUMBERED ? rtscope_number_of(capability) % RTSCOPE_STM_LANES : RTSCOPE_LAST;
}

/* Adds to a count of a lane. Its only writer holds its capability, so that nothing has to
 * be locked; where capabilities cannot be told apart, it has more. */
static inline void rtscope_add(_Atomic uint64_t *count, uint64_t more) {
  if (RTSCOPE_NUMBERED)
    atomic_store_explicit(count, atomic_load_explicit(count, memory_order_relaxed) + more, memory_order_relaxed);
  else
    atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static inline void rtscope_add_attempt(struct rtscope_stm_lane *lane) {
  if (RTSCOPE_NUMBERED)
    lane->attempts++;
  else
    __atomic_fetch_add(&lane->attempts, 1, __ATOMIC_RELAXED);
}

/* Whether the linker led the runtime's calls here. */
bool rtscope_stm_is_linked(void);

#endif
