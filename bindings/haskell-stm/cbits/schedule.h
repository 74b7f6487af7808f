/* Transactions scheduled: what capabilities do after a conflict, as the bandit decides. For
 * this folder only. */
#ifndef RTSCOPE_STM_SCHEDULE_H
#define RTSCOPE_STM_SCHEDULE_H

#include "bandit.h"
#include "count.h"

/* What is in force, read by every capability and seldom written. */
struct rtscope_in_force {
  _Alignas(128) _Atomic uint32_t way;
  _Atomic uint32_t limit;
  _Atomic uint64_t keep_ns; /* how long one that conflicted keeps its place, where they are limited */
  _Atomic uint64_t due_ns;  /* when the next decision is due */
};

extern struct rtscope_in_force rtscope_in_force;

/* Before main, once what is asked for is known. */
void rtscope_schedule_prepare(void);

/* An attempt on this capability was lost: it may be held up for some microseconds here. */
void rtscope_after_conflict(uint32_t lane, const Capability *capability);

#endif
