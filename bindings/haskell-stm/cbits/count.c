/* The runtime's calls for transactions, counted. Owns which of them means what; refuses
 * to change anything of a transaction: arguments and answers pass as they are.
 *
 * Every outermost attempt begins with stmStartTransaction without an enclosing one and
 * has one end, so that at rest
 *   attempts = commits + conflicts + waits + wait_conflicts + invalid + exceptions + restarts.
 * Where the runtime tries again after a call that said no, it does so at once, on the same
 * OS thread and without a safe point between: `tried_in_vain` and `raised_invalid` pass
 * from one wrapper to the next. */
#define _GNU_SOURCE
#include "count.h"

#include "names.h"
#include "schedule.h"

#include <stdlib.h>

#define LAST (RTSCOPE_STM_LANES - 1)

/* Not there where the linker did not wrap: in shared libraries. Then nothing comes here. */
extern StgTRecHeader *__real_stmStartTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmCommitTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmCommitNestedTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmWait(Capability *, StgTSO *, StgTRecHeader *) __attribute__((weak));
extern StgBool __real_stmReWait(Capability *, StgTSO *) __attribute__((weak));
extern void __real_stmAbortTransaction(Capability *, StgTRecHeader *) __attribute__((weak));
/* The third word is there in no runtime that this was tested with, and passed on for
 * those to come that have one. */
extern StgBool __real_stmValidateNestOfTransactions(Capability *, StgTRecHeader *, StgWord) __attribute__((weak));

StgTRecHeader *__wrap_stmStartTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmCommitTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmCommitNestedTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmWait(Capability *, StgTSO *, StgTRecHeader *);
StgBool __wrap_stmReWait(Capability *, StgTSO *);
void __wrap_stmAbortTransaction(Capability *, StgTRecHeader *);
StgBool __wrap_stmValidateNestOfTransactions(Capability *, StgTRecHeader *, StgWord);

size_t rtscope_stm_header_excess;
struct rtscope_stm_asked rtscope_stm_asked;
struct rtscope_place rtscope_places[RTSCOPE_STM_LANES];

/* An attempt ended without success, and the runtime is about to try again. */
static _Thread_local bool tried_in_vain;
/* An exception reached the end of a transaction that was found invalid: it counts as not
 * thrown. */
static _Thread_local bool raised_invalid;

/* Before main, and before the runtime: nothing of it but constants may be used. */
__attribute__((constructor)) static void prepare(void) {
  rtscope_stm_header_excess = rts_isProfiled() ? 2 * sizeof(StgWord) : 0;
  for (uint32_t i = 0; i < RTSCOPE_STM_LANES; i++) {
    rtscope_places[i].lane = &rtscope_stm.lanes[i];
    rtscope_places[i].random = 0x9e3779b9u * (i + 1);
  }
  rtscope_places[LAST].shared = true;
  if (!rtscope_stm_read_asked(secure_getenv("RTSCOPE_STM"), &rtscope_stm_asked))
    rtscope_stm_flag(RTSCOPE_STM_NOT_UNDERSTOOD);
  if (rtscope_stm_asked.off) rtscope_stm_flag(RTSCOPE_STM_OFF);
  atomic_store_explicit(&rtscope_stm.mode, rtscope_stm_asked.mode, memory_order_relaxed);
  rtscope_schedule_prepare();
}

/* Where numbers do not tell capabilities apart, all of them share the last place. */
static struct rtscope_place *place_without_number(void) {
  rtscope_stm_flag(RTSCOPE_STM_LED | RTSCOPE_STM_NO_NUMBERS);
  return &rtscope_places[LAST];
}

/* The place of a capability that its own place does not know: NULL where nothing is to be
 * counted. A number is believed where it is one of as many as there are, and no other
 * capability has it. */
static __attribute__((noinline)) struct rtscope_place *place_of_stranger(const Capability *capability) {
  if (rtscope_stm_asked.off) return NULL;
  if (atomic_load_explicit(&rtscope_stm.flags, memory_order_relaxed) & RTSCOPE_STM_NO_NUMBERS)
    return &rtscope_places[LAST];
  uint32_t number = rtscope_number_of(capability);
  if (number >= rtscope_capabilities()) return place_without_number();
  rtscope_stm_flag(RTSCOPE_STM_LED);
  if (number >= LAST) return &rtscope_places[LAST];
  const Capability *none = NULL;
  struct rtscope_place *place = &rtscope_places[number];
  if (atomic_compare_exchange_strong(&place->capability, &none, capability) || none == capability) return place;
  return place_without_number();
}

static inline struct rtscope_place *place_of(const Capability *capability) {
  uint32_t number = rtscope_number_of(capability);
  struct rtscope_place *place = &rtscope_places[number < LAST ? number : LAST];
  if (__builtin_expect(atomic_load_explicit(&place->capability, memory_order_relaxed) == capability, 1)) return place;
  return place_of_stranger(capability);
}

/* The transaction in which the thread is that a capability runs. */
static inline const void *transaction_on(const Capability *capability) {
  return rtscope_StgTSO_trec(rtscope_thread_on(capability));
}

/* A thread that tries again still has its old transaction. If that was not given up by one
 * of the calls here, the runtime gave it up because a nested one could not be merged. */
static __attribute__((noinline)) void try_again(struct rtscope_place *place, const Capability *capability) {
  if (tried_in_vain) {
    tried_in_vain = false;
    return;
  }
  rtscope_count(place, &place->lane->restarts, 1);
  rtscope_names_end(capability, RTSCOPE_END_LOST);
  rtscope_after_conflict(place, capability);
}

StgTRecHeader *__wrap_stmStartTransaction(Capability *capability, StgTRecHeader *enclosing) {
  if (enclosing == RTSCOPE_NO_TREC) {
    struct rtscope_place *place = place_of(capability);
    if (__builtin_expect(place != NULL, 1)) {
      rtscope_count(place, &place->lane->attempts, 1);
      if (__builtin_expect(transaction_on(capability) != RTSCOPE_NO_TREC, 0))
        try_again(place, capability);
      else if (__builtin_expect(rtscope_names_used(), 0))
        rtscope_names_end(capability, RTSCOPE_END_UNSEEN);
      if (__builtin_expect(rtscope_is_limiting(), 0)) rtscope_hold_back(place, capability);
    }
  }
  return __real_stmStartTransaction(capability, enclosing);
}

/* The attempt that a capability's thread made is over, and not by a commit. */
static void ended(struct rtscope_place *place, const Capability *capability, enum rtscope_end end) {
  if (rtscope_names_used()) rtscope_names_end(capability, end);
  if (place->token != NULL) rtscope_give_back(place);
}

static __attribute__((noinline)) void conflicted(struct rtscope_place *place, const Capability *capability) {
  rtscope_count(place, &place->lane->conflicts, 1);
  tried_in_vain = true;
  ended(place, capability, RTSCOPE_END_LOST);
  rtscope_after_conflict(place, capability);
}

StgBool __wrap_stmCommitTransaction(Capability *capability, StgTRecHeader *transaction) {
  StgBool committed = __real_stmCommitTransaction(capability, transaction);
  struct rtscope_place *place = place_of(capability);
  if (__builtin_expect(place == NULL, 0)) return committed;
  if (__builtin_expect(committed, 1)) {
    rtscope_count(place, &place->lane->commits, 1);
    if (__builtin_expect(rtscope_names_used(), 0)) rtscope_names_end(capability, RTSCOPE_END_COMMIT);
    if (__builtin_expect(place->token != NULL, 0) && --place->lease == 0) rtscope_give_back(place);
  } else {
    conflicted(place, capability);
  }
  return committed;
}

StgBool __wrap_stmCommitNestedTransaction(Capability *capability, StgTRecHeader *transaction) {
  StgBool merged = __real_stmCommitNestedTransaction(capability, transaction);
  if (__builtin_expect(merged, 1)) return merged;
  struct rtscope_place *place = place_of(capability);
  if (place != NULL) rtscope_count(place, &place->lane->nested_conflicts, 1);
  return merged;
}

StgBool __wrap_stmWait(Capability *capability, StgTSO *thread, StgTRecHeader *transaction) {
  StgBool waits = __real_stmWait(capability, thread, transaction);
  struct rtscope_place *place = place_of(capability);
  if (place == NULL) return waits;
  rtscope_count(place, waits ? &place->lane->waits : &place->lane->wait_conflicts, 1);
  tried_in_vain = !waits;
  ended(place, capability, waits ? RTSCOPE_END_WAIT : RTSCOPE_END_LOST);
  return waits;
}

/* What waited has ended its attempt before: there is none to end here. */
StgBool __wrap_stmReWait(Capability *capability, StgTSO *thread) {
  StgBool waits = __real_stmReWait(capability, thread);
  struct rtscope_place *place = place_of(capability);
  if (place == NULL) return waits;
  rtscope_count(place, waits ? &place->lane->idle_wakes : &place->lane->wakes, 1);
  tried_in_vain = !waits;
  return waits;
}

/* Two ask this: the scheduler after a thread ran, with no thread set, and an exception at
 * the edge of a transaction, which then ends it. What the scheduler condemns will end
 * later, when its commit is refused. */
StgBool __wrap_stmValidateNestOfTransactions(Capability *capability, StgTRecHeader *transaction, StgWord more) {
  StgBool valid = __real_stmValidateNestOfTransactions(capability, transaction, more);
  if (__builtin_expect(valid, 1)) return valid;
  struct rtscope_place *place = place_of(capability);
  if (place == NULL) return valid;
  if (rtscope_thread_on(capability) != NULL)
    raised_invalid = true;
  else if (rtscope_StgTRecHeader_state(transaction) != TREC_WAITING)
    rtscope_count(place, &place->lane->condemned, 1);
  return valid;
}

/* The end of an attempt by an exception, of its own or from another thread. In the second
 * case the thread that runs here is perhaps another: names.c learns of it elsewhere. */
static void thrown(struct rtscope_place *place, const Capability *capability, const StgTRecHeader *transaction) {
  const void *thread = rtscope_thread_on(capability);
  bool own = thread != NULL && rtscope_StgTSO_trec(thread) == transaction;
  bool invalid = own && raised_invalid;
  if (invalid) raised_invalid = false;
  if (rtscope_StgTRecHeader_state(transaction) == TREC_WAITING) {
    rtscope_count(place, &place->lane->interrupted, 1);
    return;
  }
  rtscope_count(place, invalid ? &place->lane->invalid : &place->lane->exceptions, 1);
  if (own && rtscope_names_used()) rtscope_names_end(capability, invalid ? RTSCOPE_END_LOST : RTSCOPE_END_RAISED);
  if (place->token != NULL) rtscope_give_back(place);
}

void __wrap_stmAbortTransaction(Capability *capability, StgTRecHeader *transaction) {
  if (rtscope_StgTRecHeader_enclosing_trec(transaction) == RTSCOPE_NO_TREC) {
    struct rtscope_place *place = place_of(capability);
    if (place != NULL) thrown(place, capability, transaction);
  }
  __real_stmAbortTransaction(capability, transaction);
}

bool rtscope_stm_is_linked(void) {
  return __real_stmStartTransaction != NULL;
}
