/* The block of counters, as it lies in memory: other processes read it there, so that a
 * change of anything here is a change of an interface. Owns the layout and how a count is
 * added; refuses to know why anything is counted. */
#ifndef RTSCOPE_STM_BLOCK_H
#define RTSCOPE_STM_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* One for each capability; GHC 9.6 has no more of these, 9.0 can have. */
#define RTSCOPE_STM_LANES 256u
#define RTSCOPE_STM_NAMES 128u
#define RTSCOPE_STM_NAME_BYTES 64u

enum rtscope_stm_mode {
  RTSCOPE_STM_COUNT = 0,
  RTSCOPE_STM_ADAPTIVE = 1,
  RTSCOPE_STM_BACKOFF = 2, /* always, for experiments */
  RTSCOPE_STM_LIMIT = 3,   /* always, for experiments */
};

enum rtscope_stm_flag {
  /* The linker leads the runtime's calls here. */
  RTSCOPE_STM_LED = 1 << 0,
  /* Capabilities cannot be told apart: all counts are in the last lane. */
  RTSCOPE_STM_NO_NUMBERS = 1 << 1,
  /* There are more capabilities than lanes: those that share one can miss counts. */
  RTSCOPE_STM_CROWDED = 1 << 2,
  /* Some attempts of named transactions were counted without their name. */
  RTSCOPE_STM_NAMELESS = 1 << 3,
  /* RTSCOPE_STM says something that has no meaning: as if it were not set. */
  RTSCOPE_STM_NOT_UNDERSTOOD = 1 << 4,
};

/* Counts of one capability. The README says what leads to each. Commits are attempts less
 * `restarts`, `conflicts`, `waits`, `wait_conflicts`, `invalid` and `exceptions`. */
struct rtscope_stm_lane {
  /* The one count that every transaction adds to, and not atomic in C's sense, so that
   * adding is one instruction. Only the holder of the capability writes it. */
  _Alignas(128) uint64_t attempts;
  _Atomic uint64_t restarts;
  _Atomic uint64_t conflicts;
  _Atomic uint64_t waits;
  _Atomic uint64_t wait_conflicts;
  _Atomic uint64_t wakes;
  _Atomic uint64_t idle_wakes;
  _Atomic uint64_t invalid;
  _Atomic uint64_t exceptions;
  _Atomic uint64_t nested_conflicts;
  _Atomic uint64_t backoffs;
  _Atomic uint64_t backoff_ns;
  _Atomic uint64_t limited;
  _Atomic uint64_t limited_ns;
  _Atomic uint64_t decisions;
  _Atomic uint32_t arm;
  _Atomic uint32_t limit;
  /* Seldom written: a line of their own. */
  _Alignas(128) _Atomic uint64_t condemned;
  _Atomic uint64_t interrupted;
};

struct rtscope_stm_name {
  char text[RTSCOPE_STM_NAME_BYTES]; /* UTF-8, padded with zeros, the last is one */
};

/* Counts of one name on one capability. */
struct rtscope_stm_named {
  _Atomic uint64_t attempts;
  _Atomic uint64_t commits;
  _Atomic uint64_t waits;
  _Atomic uint64_t exceptions;
};

struct rtscope_stm {
  char magic[8];
  uint32_t header_bytes;
  uint32_t lane_bytes;
  uint32_t lanes_max;
  uint32_t lanes_offset;
  uint32_t names_max;
  uint32_t name_bytes;
  uint32_t names_offset;
  _Atomic uint32_t names_used;
  _Atomic uint32_t mode;
  _Atomic uint32_t flags;
  /* How far behind the block counts of names begin: an array for each lane of one entry for each name. */
  _Atomic uint64_t named_offset;
  uint8_t reserved[8];
  struct rtscope_stm_lane lanes[RTSCOPE_STM_LANES];
  struct rtscope_stm_name names[RTSCOPE_STM_NAMES];
};

_Static_assert(sizeof(struct rtscope_stm_lane) == 256, "a lane is 256 bytes");
_Static_assert(sizeof(struct rtscope_stm_named) == 32, "counts of a name are 32 bytes");

extern struct rtscope_stm rtscope_stm;
/* Not in the block: these are zeros that no file has to hold. */
extern struct rtscope_stm_named rtscope_stm_named[RTSCOPE_STM_LANES][RTSCOPE_STM_NAMES];

static inline void rtscope_stm_flag(uint32_t flag) {
  if ((atomic_load_explicit(&rtscope_stm.flags, memory_order_relaxed) & flag) == 0)
    atomic_fetch_or_explicit(&rtscope_stm.flags, flag, memory_order_relaxed);
}

static inline uint64_t rtscope_stm_attempts(const struct rtscope_stm_lane *lane) {
  return __atomic_load_n(&lane->attempts, __ATOMIC_RELAXED);
}

/* Attempts of a lane that ended otherwise than by a commit. */
static inline uint64_t rtscope_stm_failed(const struct rtscope_stm_lane *lane) {
  const _Atomic uint64_t *const ends[] = {&lane->restarts,       &lane->conflicts, &lane->waits,
                                          &lane->wait_conflicts, &lane->invalid,   &lane->exceptions};
  uint64_t sum = 0;
  for (int i = 0; i < 6; i++) sum += atomic_load_explicit(ends[i], memory_order_relaxed);
  return sum;
}

#endif
