/* Names of transactions, and which thread is in which. For this folder only. */
#ifndef RTSCOPE_STM_NAMES_H
#define RTSCOPE_STM_NAMES_H

#include "block.h"
#include "runtime.h"

/* How an attempt of a named transaction ended, but by a commit. */
enum rtscope_end {
  RTSCOPE_END_WAIT,
  RTSCOPE_END_LOST,   /* a conflict: tried again */
  RTSCOPE_END_RAISED, /* by an exception of its own, which is on its way */
};

static inline bool rtscope_names_used(void) {
  return atomic_load_explicit(&rtscope_stm.names_used, memory_order_relaxed) != 0;
}

/* The attempt of the thread on a capability has ended so. */
void rtscope_names_end(const Capability *capability, enum rtscope_end end);

/* For RtScope.STM; each is of the calling thread. */

/* The number of a name, made where it is new. */
uint32_t rtscope_stm_name(const char *text);
/* Its attempt, which has just begun, has this name. */
void rtscope_stm_mark(uint32_t name);
/* Its attempt has nothing left to do but to commit. */
void rtscope_stm_ready(void);
/* Its named transaction has committed. */
void rtscope_stm_done(void);

enum rtscope_thrown {
  RTSCOPE_THROWN_ASIDE = 0,     /* from elsewhere, while an attempt ran or waited */
  RTSCOPE_THROWN_RAISED = 1,    /* by the transaction itself */
  RTSCOPE_THROWN_COMMITTED = 2, /* from elsewhere, when the transaction had committed */
};
/* An exception comes out of its named transaction: an `enum rtscope_thrown`. */
uint32_t rtscope_stm_thrown(void);

#endif
