/* The block of counters, as it lies in memory: other processes read it there, so that a
 * change of anything here is a change of an interface. Owns the layout and how a count is
 * added; refuses to know why anything is counted. */
#ifndef RTSCOPE_STM_BLOCK_H
#define RTSCOPE_STM_BLOCK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Capabilities with a lane of their own are numbered below the last lane. */
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
  /* The runtime's calls are led here: one came. */
  RTSCOPE_STM_LED = 1 << 0,
  /* Capabilities could not be told apart: all counts are in the last lane. */
  RTSCOPE_STM_NO_NUMBERS = 1 << 1,
  /* RTSCOPE_STM=off: nothing is counted. */
  RTSCOPE_STM_OFF = 1 << 2,
  /* Some attempts of named transactions were counted without their name. */
  RTSCOPE_STM_NAMELESS = 1 << 3,
  /* RTSCOPE_STM says something that has no meaning: as if it were not set. */
  RTSCOPE_STM_NOT_UNDERSTOOD = 1 << 4,
};

/* Counts of one capability. The README says what leads to each. */
struct rtscope_stm_lane {
  _Alignas(128) _Atomic uint64_t attempts;
  _Atomic uint64_t commits;
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
  _Alignas(128) _Atomic uint64_t restarts;
  _Atomic uint64_t condemned;
  _Atomic uint64_t interrupted;
};

struct rtscope_stm_name {
  char name[RTSCOPE_STM_NAME_BYTES]; /* UTF-8, padded with zeros, the last is one */
  _Atomic uint64_t attempts;
  _Atomic uint64_t commits;
  _Atomic uint64_t waits;
  _Atomic uint64_t exceptions;
  uint64_t reserved[4];
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
  uint8_t reserved[16];
  struct rtscope_stm_lane lanes[RTSCOPE_STM_LANES];
  struct rtscope_stm_name names[RTSCOPE_STM_NAMES];
};

_Static_assert(sizeof(struct rtscope_stm_lane) == 256, "a lane is 256 bytes");
_Static_assert(sizeof(struct rtscope_stm_name) == 128, "a name is 128 bytes");

extern struct rtscope_stm rtscope_stm;

/* Adds to a count that only the holder of one capability writes. */
static inline void rtscope_stm_add(_Atomic uint64_t *count, uint64_t more) {
  uint64_t before = atomic_load_explicit(count, memory_order_relaxed);
  atomic_store_explicit(count, before + more, memory_order_relaxed);
}

/* Adds to a count that several write. */
static inline void rtscope_stm_add_shared(_Atomic uint64_t *count, uint64_t more) {
  atomic_fetch_add_explicit(count, more, memory_order_relaxed);
}

static inline void rtscope_stm_flag(uint32_t flag) {
  if ((atomic_load_explicit(&rtscope_stm.flags, memory_order_relaxed) & flag) == 0)
    atomic_fetch_or_explicit(&rtscope_stm.flags, flag, memory_order_relaxed);
}

#endif
