/* Where the counts of a capability go, and what else is kept of it. For this folder only. */
#ifndef RTSCOPE_STM_COUNT_H
#define RTSCOPE_STM_COUNT_H

#include "asked.h"
#include "block.h"
#include "runtime.h"

/* Read before main. */
extern struct rtscope_stm_asked rtscope_stm_asked;

/* A capability's place beside its lane, written by its holder only, too. */
struct rtscope_place {
  _Alignas(128) const Capability *_Atomic capability; /* NULL until it is first seen */
  struct rtscope_stm_lane *lane;
  bool shared; /* the last one: several capabilities use it at once */
  /* The scheduler's; see schedule.c. */
  uint32_t looks;           /* occasions since the clock was read */
  uint32_t random;          /* state of its jitter, never 0 */
  uint32_t lease;           /* commits left until its token goes back */
  _Atomic uint32_t *token;  /* where its token lies, or NULL */
  uint64_t seen_attempts;   /* by the last epoch; guarded as the bandit is */
};

extern struct rtscope_place rtscope_places[RTSCOPE_STM_LANES];

/* Whether the linker led the runtime's calls here. */
bool rtscope_stm_is_linked(void);

/* Adds to one of a place's counts. */
static inline void rtscope_count(const struct rtscope_place *place, _Atomic uint64_t *count, uint64_t more) {
  if (__builtin_expect(place->shared, 0))
    rtscope_stm_add_shared(count, more);
  else
    rtscope_stm_add(count, more);
}

#endif
