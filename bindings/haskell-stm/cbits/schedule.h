/* Transactions scheduled: what capabilities do after a conflict and before an attempt, as
 * the bandit decides. For this folder only. */
#ifndef RTSCOPE_STM_SCHEDULE_H
#define RTSCOPE_STM_SCHEDULE_H

#include "bandit.h"
#include "count.h"

/* What is in force, read by every capability and seldom written. */
struct rtscope_in_force {
  _Alignas(128) _Atomic uint32_t way;
  _Atomic uint32_t limit;
  _Atomic uint32_t lease;   /* commits for which a token is kept */
  _Atomic uint64_t hold_ns; /* how long a token is waited for */
  _Atomic uint64_t due_ns;  /* when the next decision is due */
};

extern struct rtscope_in_force rtscope_in_force;

static inline bool rtscope_is_limiting(void) {
  return atomic_load_explicit(&rtscope_in_force.way, memory_order_relaxed) == RTSCOPE_WAY_LIMIT;
}

/* Before main, once what is asked for is known. */
void rtscope_schedule_prepare(void);

/* An attempt on this capability was lost: it may be held up for some microseconds here. */
void rtscope_after_conflict(struct rtscope_place *place, const Capability *capability);

/* An attempt is about to begin on this capability, which may have to wait for a token. */
void rtscope_hold_back(struct rtscope_place *place, const Capability *capability);

/* The token of this capability goes back, where it has one. */
void rtscope_give_back(struct rtscope_place *place);

#endif
