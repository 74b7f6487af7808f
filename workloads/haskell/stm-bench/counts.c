/* What the library rtscope-stm counted, where the program is linked with it: the program
   needs nothing of it, so that one source serves with and without. Owns reading the sums of
   its block (ARCHITECTURE.md names its layout); changes nothing. */
#include <stdint.h>
#include <string.h>

struct header {
  char magic[8];
  uint32_t header_bytes, lane_bytes, lanes_max, lanes_offset;
};

struct lane {
  uint64_t attempts, commits, conflicts, waits, wait_conflicts, wakes, idle_wakes, invalid, exceptions;
};

/* Of a size that only the library knows; absent where that is. */
extern const char rtscope_stm[] __attribute__((weak));

/* Commits; attempts whose work was lost; waits that blocked. 0: there is no library. */
int stm_bench_counts(uint64_t sums[3])
{
  const struct header *block = (const struct header *)rtscope_stm;
  if (block == NULL || memcmp(block->magic, "RTSCSTM\1", 8) != 0)
    return 0;
  uint64_t attempts = 0, commits = 0, waits = 0, exceptions = 0;
  const char *lanes = rtscope_stm + block->lanes_offset;
  for (uint32_t number = 0; number < block->lanes_max; number++) {
    const struct lane *lane = (const struct lane *)(lanes + (size_t)number * block->lane_bytes);
    attempts += __atomic_load_n(&lane->attempts, __ATOMIC_RELAXED);
    commits += __atomic_load_n(&lane->commits, __ATOMIC_RELAXED);
    waits += __atomic_load_n(&lane->waits, __ATOMIC_RELAXED);
    exceptions += __atomic_load_n(&lane->exceptions, __ATOMIC_RELAXED);
  }
  /* Which of its checks an attempt fails is the runtime's affair, and differs from version to
     version: what ended otherwise was lost. */
  const uint64_t kept = commits + waits + exceptions;
  sums[0] = commits;
  sums[1] = attempts > kept ? attempts - kept : 0;
  sums[2] = waits;
  return 1;
}
