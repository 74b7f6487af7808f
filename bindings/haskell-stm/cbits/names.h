/* Names of transactions, and which thread is in which. For this folder only. */
#ifndef RTSCOPE_STM_NAMES_H
#define RTSCOPE_STM_NAMES_H

#include "block.h"
#include "runtime.h"

/* How an attempt of a named transaction ended. */
enum rtscope_end {
  RTSCOPE_END_COMMIT,
  RTSCOPE_END_WAIT,
  RTSCOPE_END_LOST,   /* a conflict: tried again */
  RTSCOPE_END_RAISED, /* by an exception of its own, which is on its way */
  RTSCOPE_END_UNSEEN, /* its thread begins another: it was given up in between */
};

static inline bool rtscope_names_used(void) {
  return atomic_load_explicit(&rtscope_stm.names_used, memory_order_relaxed) != 0;
}

/* The attempt of the thread on a capability has ended so. */
void rtscope_names_end(const Capability *capability, enum rtscope_end end);

/* For RtScope.STM. The number of a name, made where it is new. */
uint32_t rtscope_stm_name(const char *text);
/* The calling thread's attempt, which has just begun, has this name. */
void rtscope_stm_mark(uint32_t name);
/* An exception comes out of the calling thread's named transaction: whether that raised it
 * itself. If not, it came from elsewhere while an attempt ran or waited. */
uint32_t rtscope_stm_thrown(void);

#endif
