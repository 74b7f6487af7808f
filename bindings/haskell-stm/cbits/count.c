/* The runtime's calls for transactions, counted. Owns which of them means what; refuses
 * to change anything of a transaction: arguments and answers pass as they are.
 *
 * Every outermost attempt begins with stmStartTransaction without an enclosing one and
 * has one end. Ends but by a commit are counted; the rest of the attempts, at rest, are
 * commits. That leaves one jump, one comparison and one addition to a transaction without
 * conflict: stmCommitTransaction is called straight.
 *
 * Where the runtime tries again after a call that said no, it does so at once, on the same
 * OS thread and without a safe point between: `just` and `raised_invalid` pass from one
 * wrapper to the next. */
#define _GNU_SOURCE
#include "count.h"

#include "names.h"
#include "schedule.h"

#include <stdlib.h>

/* Not there where the linker did not wrap: in shared libraries. Then nothing comes here. */
extern StgTRecHeader *__real_stmStartTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmCommitNestedTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmWait(Capability *, StgTSO *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmReWait(Capability *, StgTSO *) __attribute__((weak));
extern void __real_stmAbortTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
/* The third word is there in no runtime that this was tested with, and passed on for
 * those to come that have one. */
extern StgBool __real_stmValidateNestOfTransactions(Capability *, StgTRecHeader *, StgWord) __attribute__((weak));

StgTRecHeader *__wrap_stmStartTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmCommitNestedTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmWait(Capability *, StgTSO *, StgTRecHeader *);
StgBool __wrap_stmReWait(Capability *, StgTSO *);
void __wrap_stmAbortTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmValidateNestOfTransactions(Capability *, StgTRecHeader *, StgWord);

size_t rtscope_stm_header_excess;
struct rtscope_stm_asked rtscope_stm_asked;

/* What the last call on this OS thread told the runtime, if that was bad. */
static _Thread_local enum { NOTHING, COUNTED, REFUSED_PART } just;
/* An exception reached the end of a transaction that was found invalid: it counts as not
 * thrown. */
static _Thread_local bool raised_invalid;

/* Before main, and before the runtime: nothing of it but constants may be used. */
__attribute__((constructor)) static void prepare(void) {
  rtscope_stm_header_excess = rts_isProfiled() ? 2 * sizeof(StgWord) : 0;
  if (!rtscope_stm_read_asked(secure_getenv("RTSCOPE_STM"), &rtscope_stm_asked))
    rtscope_stm_flag(RTSCOPE_STM_NOT_UNDERSTOOD);
  if (rtscope_stm_is_linked()) rtscope_stm_flag(RTSCOPE_STM_LED);
  if (!RTSCOPE_NUMBERED) rtscope_stm_flag(RTSCOPE_STM_NO_NUMBERS);
  atomic_store_explicit(&rtscope_stm.mode, rtscope_stm_asked.mode, memory_order_relaxed);
  atomic_store_explicit(&rtscope_stm.named_offset, (uintptr_t)rtscope_stm_named - (uintptr_t)&rtscope_stm,
                        memory_order_relaxed);
  rtscope_schedule_prepare();
}

static struct rtscope_stm_lane *lane_at(uint32_t lane) {
  return &rtscope_stm.lanes[lane];
}

/* A thread that tries again still has its old transaction. If no other end of that was
 * counted, its commit was refused, or before that a part of it. */
static void try_again(const Capability *capability, uint32_t lane) {
  bool counted = just == COUNTED, part = just == REFUSED_PART;
  just = NOTHING;
  if (counted) return;
  rtscope_add(part ? &lane_at(lane)->restarts : &lane_at(lane)->conflicts, 1);
  if (rtscope_names_used()) rtscope_names_end(capability, RTSCOPE_END_LOST);
  rtscope_after_conflict(lane, capability);
}

/* All that is not the first attempt of a transaction: parts, and attempts that are tried
 * again. */
static __attribute__((noinline)) StgTRecHeader *start_otherwise(Capability *capability, StgTRecHeader *enclosing) {
  if (enclosing == RTSCOPE_NO_TREC) {
    uint32_t lane = rtscope_lane_of(capability);
    rtscope_add_attempt(lane_at(lane));
    if (rtscope_transaction_of(rtscope_thread_on(capability)) != RTSCOPE_NO_TREC) try_again(capability, lane);
    if (__builtin_expect(rtscope_capabilities() > RTSCOPE_STM_LANES, 0)) rtscope_stm_flag(RTSCOPE_STM_CROWDED);
  } else {
    just = NOTHING;
  }
  return __real_stmStartTransaction(capability, enclosing);
}

/* Every transaction comes here, so that each instruction shows: no frame, one branch. */
__attribute__((aligned(64))) StgTRecHeader *__wrap_stmStartTransaction(Capability *capability, StgTRecHeader *enclosing) {
  if (__builtin_expect(!rtscope_has_no_transaction(capability), 0)) return start_otherwise(capability, enclosing);
  rtscope_add_attempt(lane_at(rtscope_lane_of(capability)));
  return __real_stmStartTransaction(capability, enclosing);
}

StgBool __wrap_stmCommitNestedTransaction(Capability *capability, StgTRecHeader *transaction) {
  StgBool merged = __real_stmCommitNestedTransaction(capability, transaction);
  if (__builtin_expect(merged, 1)) return merged;
  uint32_t lane = rtscope_lane_of(capability);
  rtscope_add(&lane_at(lane)->nested_conflicts, 1);
  just = REFUSED_PART;
  return merged;
}

StgBool __wrap_stmWait(Capability *capability, StgTSO *thread, StgTRecHeader *transaction) {
  StgBool waits = __real_stmWait(capability, thread, transaction);
  uint32_t lane = rtscope_lane_of(capability);
  rtscope_add(waits ? &lane_at(lane)->waits : &lane_at(lane)->wait_conflicts, 1);
  if (!waits) just = COUNTED;
  if (rtscope_names_used()) rtscope_names_end(capability, waits ? RTSCOPE_END_WAIT : RTSCOPE_END_LOST);
  return waits;
}

/* What waited has ended its attempt before: there is none to end here. */
StgBool __wrap_stmReWait(Capability *capability, StgTSO *thread) {
  StgBool waits = __real_stmReWait(capability, thread);
  uint32_t lane = rtscope_lane_of(capability);
  rtscope_add(waits ? &lane_at(lane)->idle_wakes : &lane_at(lane)->wakes, 1);
  if (!waits) just = COUNTED;
  return waits;
}

/* Two ask this: the scheduler after a thread ran, with no thread set, and an exception at
 * the edge of a transaction, which then ends it. What the scheduler condemns will end
 * later, when its commit is refused. */
StgBool __wrap_stmValidateNestOfTransactions(Capability *capability, StgTRecHeader *transaction, StgWord more) {
  StgBool valid = __real_stmValidateNestOfTransactions(capability, transaction, more);
  if (__builtin_expect(valid, 1)) return valid;
  uint32_t lane = rtscope_lane_of(capability);
  if (rtscope_thread_on(capability) != NULL)
    raised_invalid = true;
  else if (rtscope_StgTRecHeader_state(transaction) != TREC_WAITING)
    rtscope_add(&lane_at(lane)->condemned, 1);
  return valid;
}

/* The end of an attempt by an exception, of its own or from another thread. In the second
 * case the thread that runs here is perhaps another: names.c learns of it elsewhere. */
static void thrown(const Capability *capability, const StgTRecHeader *transaction) {
  uint32_t lane = rtscope_lane_of(capability);
  const void *thread = rtscope_thread_on(capability);
  bool own = thread != NULL && rtscope_transaction_of(thread) == transaction;
  bool invalid = own && raised_invalid;
  if (invalid) raised_invalid = false;
  if (rtscope_StgTRecHeader_state(transaction) == TREC_WAITING) {
    rtscope_add(&lane_at(lane)->interrupted, 1);
    return;
  }
  rtscope_add(invalid ? &lane_at(lane)->invalid : &lane_at(lane)->exceptions, 1);
  if (own && rtscope_names_used()) rtscope_names_end(capability, invalid ? RTSCOPE_END_LOST : RTSCOPE_END_RAISED);
}

void __wrap_stmAbortTransaction(Capability *capability, StgTRecHeader *transaction) {
  if (rtscope_StgTRecHeader_enclosing_trec(transaction) == RTSCOPE_NO_TREC) thrown(capability, transaction);
  __real_stmAbortTransaction(capability, transaction);
}

bool rtscope_stm_is_linked(void) {
  return __real_stmStartTransaction != NULL;
}
