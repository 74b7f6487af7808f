/* Trials of one way against another, in pairs of epochs. */
#include "bandit.h"

#define US ((uint64_t)1000)
#define MS (1000 * US)

/* A look that is to be of what happens now: short, as a program that conflicts all the
 * time loses most of it. */
#define LOOK_NS (2 * MS)
/* An epoch is long against a change of arms, which takes some microseconds to reach every
 * capability, and short against the 10 ms of the runtime's timer. */
#define EPOCH_MIN_NS (1 * MS)
/* A rate from fewer commits than this is mostly chance; where so many take longer than
 * the longest epoch, transactions are not what the program waits for. */
#define EPOCH_COMMITS 64
#define EPOCH_MAX_NS (50 * MS)
/* An epoch that lasted this many times what it should has a pause in it: a collection of
 * the old generation, another process, a program at rest. */
#define DISTURBED 4
#define DROPPED_MAX 4
/* Rest between trials: doubled by each that changed nothing. A trial with the shortest
 * epochs takes 12 ms at most, half of that under the arm tried: where nothing ever pays,
 * that is 6 ms of each second. */
#define REST_MIN_NS (32 * MS)
#define REST_MAX_NS (1000 * MS)
/* Without a conflict in so many attempts there is nothing to gain. */
#define ATTEMPTS_PER_LOSS 64
/* Pairs of a trial, and how many of them the winner wins: by chance alone 7 in 64. */
#define PAIRS 6
#define WINS 5
/* What is to replace doing nothing has to be faster by this much; doing nothing wins a tie
 * against anything. */
#define GAIN 1.05
#define TIE 0.97
/* A trial is over early where it is clear: much faster twice, much slower once, or slower
 * in the sum of two pairs or more. */
#define CLEAR_PAIRS 2
#define CLEARLY_FASTER 1.5
#define CLEARLY_SLOWER 0.7
#define SLOWER 0.9

static const struct rtscope_arm nothing = {RTSCOPE_WAY_NONE, 0};

static bool same(struct rtscope_arm one, struct rtscope_arm other) {
  return one.way == other.way && one.limit == other.limit;
}

uint64_t rtscope_bandit_start(struct rtscope_bandit *bandit) {
  *bandit = (struct rtscope_bandit){.rest_ns = REST_MIN_NS, .asked_ns = LOOK_NS};
  return LOOK_NS;
}

/* Ends a trial, if one runs; `kept` is in force, for as long as this answers. */
static uint64_t rest(struct rtscope_bandit *bandit, struct rtscope_arm kept) {
  bool changed = !same(kept, bandit->kept);
  uint64_t longer = bandit->rest_ns * 2;
  bandit->rest_ns = changed ? REST_MIN_NS : longer > REST_MAX_NS ? REST_MAX_NS : longer;
  if (changed) bandit->trials = 0;
  bandit->kept = bandit->now = kept;
  bandit->trial = false;
  return bandit->rest_ns;
}

/* The arms that may be better than the one kept, one after the other: doing nothing first
 * where something is done, back-off, half of the capabilities at once, then one. */
static struct rtscope_arm challenger(const struct rtscope_bandit *bandit, const struct rtscope_epoch *epoch) {
  uint32_t most = epoch->running < epoch->cpus ? epoch->running : epoch->cpus;
  struct rtscope_arm kept = bandit->kept, arms[4];
  uint32_t count = 0, fewer = kept.way == RTSCOPE_WAY_LIMIT ? kept.limit / 2 : most / 2;
  if (kept.way != RTSCOPE_WAY_NONE) arms[count++] = nothing;
  if (kept.way != RTSCOPE_WAY_BACKOFF) arms[count++] = (struct rtscope_arm){RTSCOPE_WAY_BACKOFF, 0};
  if (fewer >= 1) arms[count++] = (struct rtscope_arm){RTSCOPE_WAY_LIMIT, fewer};
  if (fewer > 1) arms[count++] = (struct rtscope_arm){RTSCOPE_WAY_LIMIT, 1};
  return arms[bandit->trials % count];
}

/* The arm of this half: pairs begin in turn with the one kept and the one tried, so that
 * a program that grows faster or slower favours neither. */
static uint64_t half(struct rtscope_bandit *bandit) {
  bool tried = bandit->second != (bandit->pairs % 2 == 1);
  bandit->now = tried ? bandit->tried : bandit->kept;
  return bandit->epoch_ns;
}

/* `kept` was in force and left alone: is there something to gain? What took long to come to
 * is mostly of other times, before the first transaction perhaps. */
static uint64_t look(struct rtscope_bandit *bandit, const struct rtscope_epoch *epoch) {
  if (epoch->ns > DISTURBED * bandit->asked_ns) return LOOK_NS;
  if (epoch->running < 2 || epoch->cpus < 2) return rest(bandit, nothing);
  bool contended = epoch->lost > epoch->attempts / ATTEMPTS_PER_LOSS;
  if (!contended && bandit->kept.way == RTSCOPE_WAY_NONE) return REST_MIN_NS;
  uint64_t ns = epoch->commits == 0 ? EPOCH_MAX_NS + 1
                                    : (uint64_t)((double)epoch->ns * EPOCH_COMMITS / (double)epoch->commits);
  if (ns > EPOCH_MAX_NS) return rest(bandit, nothing);
  bandit->tried = challenger(bandit, epoch);
  bandit->epoch_ns = ns < EPOCH_MIN_NS ? EPOCH_MIN_NS : ns;
  bandit->trial = true;
  bandit->trials++;
  bandit->second = false;
  bandit->pairs = bandit->wins = bandit->clear = bandit->dropped = 0;
  bandit->sums[0] = bandit->sums[1] = 0;
  return half(bandit);
}

enum verdict { GO_ON, KEEP, CHANGE };

static enum verdict verdict(const struct rtscope_bandit *bandit) {
  double kept = bandit->sums[0], tried = bandit->sums[1];
  if (tried < CLEARLY_SLOWER * kept) return KEEP;
  if (bandit->pairs >= CLEAR_PAIRS && tried < SLOWER * kept) return KEEP;
  if (bandit->pairs == CLEAR_PAIRS && bandit->clear == CLEAR_PAIRS) return CHANGE;
  /* What can no longer win enough of them has lost. */
  if (bandit->tried.way != RTSCOPE_WAY_NONE && bandit->pairs - bandit->wins > PAIRS - WINS) return KEEP;
  if (bandit->pairs < PAIRS) return GO_ON;
  if (bandit->tried.way == RTSCOPE_WAY_NONE) return tried >= TIE * kept ? CHANGE : KEEP;
  return bandit->wins >= WINS && tried >= GAIN * kept ? CHANGE : KEEP;
}

static uint64_t complete(struct rtscope_bandit *bandit) {
  double kept = bandit->rates[0], tried = bandit->rates[1];
  bandit->pairs++;
  bandit->second = false;
  bandit->sums[0] += kept;
  bandit->sums[1] += tried;
  if (tried > kept) bandit->wins++;
  if (tried > CLEARLY_FASTER * kept) bandit->clear++;
  switch (verdict(bandit)) {
  case KEEP: return rest(bandit, bandit->kept);
  case CHANGE: return rest(bandit, bandit->tried);
  default: return half(bandit);
  }
}

/* An epoch of a trial is over. */
static uint64_t measured(struct rtscope_bandit *bandit, const struct rtscope_epoch *epoch) {
  if (epoch->ns == 0 || epoch->ns > DISTURBED * bandit->epoch_ns) {
    if (++bandit->dropped > DROPPED_MAX) return rest(bandit, bandit->kept);
    bandit->second = false;
    return half(bandit);
  }
  bool tried = same(bandit->now, bandit->tried);
  bandit->rates[tried] = (double)epoch->commits / (double)epoch->ns;
  if (bandit->second) return complete(bandit);
  bandit->second = true;
  return half(bandit);
}

uint64_t rtscope_bandit_next(struct rtscope_bandit *bandit, const struct rtscope_epoch *epoch) {
  bandit->asked_ns = bandit->trial ? measured(bandit, epoch) : look(bandit, epoch);
  return bandit->asked_ns;
}
