/* Which way of scheduling transactions pays: each is tried for some milliseconds against
 * the one in force, in turn, and kept where the program committed more per second. Owns
 * that decision; refuses to know a runtime, a clock or a thread: it is given what was
 * measured, and nothing else decides. docs/stm-scheduler.md explains it. */
#ifndef RTSCOPE_STM_BANDIT_H
#define RTSCOPE_STM_BANDIT_H

#include <stdbool.h>
#include <stdint.h>

enum rtscope_way { RTSCOPE_WAY_NONE = 0, RTSCOPE_WAY_BACKOFF = 1, RTSCOPE_WAY_LIMIT = 2 };

struct rtscope_arm {
  enum rtscope_way way;
  uint32_t limit; /* of RTSCOPE_WAY_LIMIT, at least 1; else 0 */
};

/* What happened since the last decision, all capabilities together. */
struct rtscope_epoch {
  uint64_t ns;
  uint64_t attempts, commits;
  uint64_t lost;    /* attempts that conflicts ended */
  uint32_t running; /* capabilities that made attempts */
  uint32_t cpus;    /* that may run at once: affinity and quota */
};

struct rtscope_bandit {
  struct rtscope_arm now;  /* in force */
  struct rtscope_arm kept; /* best so far */
  struct rtscope_arm tried;
  bool trial;       /* `tried` is on trial against `kept` */
  bool second;      /* half of a pair */
  uint32_t pairs;   /* complete ones of this trial */
  uint32_t wins;    /* those in which `tried` was faster */
  uint32_t clear;   /* those in which it was much faster */
  uint32_t dropped; /* those that something else disturbed */
  uint32_t trials;  /* since the last change of `kept` */
  double rates[2];   /* of this pair: kept, tried */
  double sums[2];    /* of all pairs of this trial */
  uint64_t epoch_ns; /* how long an epoch of this trial is to be */
  uint64_t rest_ns;  /* how long `kept` is left alone before the next trial */
  uint64_t asked_ns; /* the last answer */
};

/* Nothing is in force; answers how long the first look may take. */
uint64_t rtscope_bandit_start(struct rtscope_bandit *bandit);

/* Takes what `now` gave and decides what is in force next, in `now`: answers for how many
 * nanoseconds at least. */
uint64_t rtscope_bandit_next(struct rtscope_bandit *bandit, const struct rtscope_epoch *epoch);

#endif
