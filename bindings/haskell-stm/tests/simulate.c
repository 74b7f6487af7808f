/* simulate KEY=VALUE…: a program whose transactions commit at given rates under each way
 * of scheduling, and what the bandit makes of it, as one JSON object. Keys:
 *   seconds   how long it runs
 *   none, backoff, limit   commits per second under each way
 *   lost      share of attempts lost while nothing is done
 *   noise     largest deviation of an epoch's rate, as a share
 *   running, cpus   capabilities in transactions, CPUs
 *   pause     every so many seconds nothing is done for 30 ms
 *   turn      after so many seconds `none` and `backoff` change places
 * `share` is of what would have been committed by always knowing the best way.
 *
 *     cc -std=c11 -o simulate tests/simulate.c cbits/bandit.c
 */
#include "../cbits/bandit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const keys[] = {"seconds", "none", "backoff", "limit", "lost", "noise", "running", "cpus", "pause", "turn"};
enum key { SECONDS, NONE, BACKOFF, LIMIT, LOST, NOISE, RUNNING, CPUS, PAUSE, TURN, KEYS };
static double values[KEYS] = {1, 1e6, 1e6, 1e6, 0.5, 0, 2, 2, 0, 0};

static double by_chance(void) {
  static uint64_t state = 88172645463325252u;
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (double)(state >> 11) / (double)((uint64_t)1 << 53);
}

static int read_word(const char *word) {
  for (int i = 0; i < KEYS; i++) {
    size_t length = strlen(keys[i]);
    if (strncmp(word, keys[i], length) != 0 || word[length] != '=') continue;
    values[i] = strtod(word + length + 1, NULL);
    return 1;
  }
  return 0;
}

static double rate_of(enum rtscope_way way, double at_seconds) {
  int turned = values[TURN] > 0 && at_seconds >= values[TURN];
  if (way == RTSCOPE_WAY_LIMIT) return values[LIMIT];
  if (way == RTSCOPE_WAY_BACKOFF) return values[turned ? NONE : BACKOFF];
  return values[turned ? BACKOFF : NONE];
}

int main(int argc, char **argv) {
  struct rtscope_bandit bandit;
  double at = 0, committed = 0, best = 0, paused = 0, times[3] = {0, 0, 0};
  uint32_t trials = 0;
  int was_trial = 0;
  for (int i = 1; i < argc; i++)
    if (!read_word(argv[i])) return 2;
  uint64_t next = rtscope_bandit_start(&bandit);
  while (at < values[SECONDS]) {
    enum rtscope_way way = bandit.now.way;
    double seconds = (double)next / 1e9 * (1 + 0.1 * by_chance()), work = seconds, most = rate_of(RTSCOPE_WAY_LIMIT, at);
    if (values[PAUSE] > 0 && at - paused > values[PAUSE]) {
      paused = at;
      seconds += 0.03;
    }
    double rate = rate_of(way, at) * (1 + values[NOISE] * (2 * by_chance() - 1));
    for (int other = 0; other < 2; other++)
      if (rate_of((enum rtscope_way)other, at) > most) most = rate_of((enum rtscope_way)other, at);
    double attempts = rate * work / (1 - values[LOST]);
    struct rtscope_epoch epoch = {
        .ns = (uint64_t)(seconds * 1e9),
        .attempts = (uint64_t)attempts,
        .commits = (uint64_t)(rate * work),
        .lost = way == RTSCOPE_WAY_NONE ? (uint64_t)(attempts * values[LOST]) : 0,
        .running = (uint32_t)values[RUNNING],
        .cpus = (uint32_t)values[CPUS],
    };
    committed += rate * work;
    best += most * work;
    times[way] += seconds;
    at += seconds;
    next = rtscope_bandit_next(&bandit, &epoch);
    if (bandit.trial && !was_trial) trials++;
    was_trial = bandit.trial;
  }
  printf("{\"kept\":%d,\"limit\":%u,\"trials\":%u,\"share\":%.4f,\"none\":%.4f,\"backoff\":%.4f,\"limit_time\":%.4f}\n",
         (int)bandit.kept.way, bandit.kept.limit, trials, best > 0 ? committed / best : 1, times[0] / at, times[1] / at, times[2] / at);
  return 0;
}
