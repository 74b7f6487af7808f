/* What the library rtscope-stm counted, where the program is linked with it: the program
   needs nothing of it, so that one source serves with and without. Owns reading the sums of
   its block (ARCHITECTURE.md names its layout); changes nothing. */
#include <stdint.h>
#include <string.h>

struct header {
  char magic[8];
  uint32_t header_bytes, lane_bytes, lanes_max, lanes_offset;
  uint32_t names_max, name_bytes, names_offset, names_used, mode, flags;
};

/* Of `flags`: the runtime's calls lead to the library. */
#define LED 1u

/* Attempts, and those that did not end with a commit. */
struct lane {
  uint64_t attempts, restarts, conflicts, waits, wait_conflicts, wakes, idle_wakes, invalid, exceptions;
};

/* Of a size that only the library knows; absent where that is. */
extern const char rtscope_stm[] __attribute__((weak));

static uint64_t load(const uint64_t *count)
{
  return __atomic_load_n(count, __ATOMIC_RELAXED);
}

/* Commits; attempts whose work was lost; waits that blocked. 0: nothing counts. */
int stm_bench_counts(uint64_t sums[3])
{
  const struct header *block = (const struct header *)rtscope_stm;
  if (block == NULL || memcmp(block->magic, "RTSCSTM\1", 8) != 0 || (block->flags & LED) == 0)
    return 0;
  uint64_t attempts = 0, lost = 0, waits = 0, exceptions = 0;
  const char *lanes = rtscope_stm + block->lanes_offset;
  for (uint32_t number = 0; number < block->lanes_max; number++) {
    const struct lane *lane = (const struct lane *)(lanes + (size_t)number * block->lane_bytes);
    attempts += load(&lane->attempts);
    lost += load(&lane->restarts) + load(&lane->conflicts) + load(&lane->wait_conflicts) + load(&lane->invalid);
    waits += load(&lane->waits);
    exceptions += load(&lane->exceptions);
  }
  sums[0] = attempts - lost - waits - exceptions;
  sums[1] = lost;
  sums[2] = waits;
  return 1;
}
