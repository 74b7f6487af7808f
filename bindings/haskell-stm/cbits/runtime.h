/* What is read of the runtime's own objects: the number of a capability, the thread that
 * it runs, that thread's transaction. Owns where these lie; refuses to change any. For
 * this folder only. */
#ifndef RTSCOPE_STM_RUNTIME_H
#define RTSCOPE_STM_RUNTIME_H

/* Cabal builds C sources once, for profiled programs too, in which every heap object has
 * a longer header: layouts are those without, and the difference is added below. */
#undef PROFILING
#include "Rts.h"
#include "ghcversion.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The word behind what the runtime publishes of a capability is its number, in GHC 9.0 to
 * 9.10. Of a later one nothing is assumed. */
#define RTSCOPE_NUMBERED (__GLASGOW_HASKELL__ <= 910)

#define RTSCOPE_NO_TREC ((StgTRecHeader *)(void *)&stg_NO_TREC_closure)

/* How much longer headers are here: two words in a profiled runtime, set before main. */
extern size_t rtscope_stm_header_excess;

static inline void rtscope_stm_read(void *into, size_t size, const void *object, size_t offset) {
  memcpy(into, (const char *)object + offset + rtscope_stm_header_excess, size);
}

#define RTSCOPE_FIELD(type, structure, field)                                                        \
  static inline type rtscope_##structure##_##field(const void *object) {                             \
    type value;                                                                                      \
    rtscope_stm_read(&value, sizeof value, object, offsetof(struct structure##_, field));            \
    return value;                                                                                    \
  }

RTSCOPE_FIELD(StgThreadID, StgTSO, id)
RTSCOPE_FIELD(const void *, StgTRecHeader, enclosing_trec)
RTSCOPE_FIELD(TRecState, StgTRecHeader, state)

static inline uint32_t rtscope_number_of(const Capability *capability) {
  uint32_t number;
  memcpy(&number, (const char *)capability + offsetof(CapabilityPublic, r) + sizeof(StgRegTable), sizeof number);
  return number;
}

/* The Haskell thread that runs on a capability, or NULL: its scheduler runs. */
static inline const void *rtscope_thread_on(const Capability *capability) {
  return ((const CapabilityPublic *)capability)->r.rCurrentTSO;
}

static inline const void *rtscope_transaction_of(const void *thread) {
  const void *transaction;
  rtscope_stm_read(&transaction, sizeof transaction, thread, offsetof(struct StgTSO_, trec));
  return transaction;
}

/* Whether the thread on a capability is in no transaction: quickly, for every first attempt.
 * In a profiled program the word that is read here is another, never equal: it is always
 * no, and who asks looks closer. */
static inline bool rtscope_has_no_transaction(const Capability *capability) {
  return ((const CapabilityPublic *)capability)->r.rCurrentTSO->trec == RTSCOPE_NO_TREC;
}

/* Whether the runtime waits for a capability, to collect or to change threads: it then
 * takes the heap limit away, so that the next allocation stops. */
static inline bool rtscope_is_wanted(const Capability *capability) {
  return *(void *volatile const *)&((const CapabilityPublic *)capability)->r.rHpLim == NULL;
}

static inline uint32_t rtscope_capabilities(void) {
  return *(volatile unsigned int *)&n_capabilities;
}

#endif
