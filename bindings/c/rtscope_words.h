/* Sentences one after the other into a caller's space, and what a user asks of the plan
 * through the environment. For those who link the plan in; rtscope_plan.h is enough for
 * others. */
#ifndef RTSCOPE_WORDS_H
#define RTSCOPE_WORDS_H

#include "rtscope_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A text that is cut where the space ends, and how long it would be. */
struct rtscope_words {
  char *at;
  size_t left, length;
};

/* Starts one in `space`, which ends with a zero from now on where `size` > 0. */
struct rtscope_words rtscope_words_in(char *space, size_t size);
/* Adds what printf would print. */
void rtscope_add(struct rtscope_words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Adds what rtscope_write_plan writes. */
void rtscope_add_plan(struct rtscope_words *words, const struct rtscope_machine *machine,
                      const struct rtscope_plan *plan, uint32_t parts);

/* RTSCOPE_GOAL, RTSCOPE_PLAN and RTSCOPE_ROOT; not read where a program runs with
 * another's rights. */
struct rtscope_asked {
  enum rtscope_goal goal;
  bool goal_wrong;  /* RTSCOPE_GOAL names none: latency is taken */
  bool off;         /* RTSCOPE_PLAN=off: nothing is to be set */
  const char *root; /* for rtscope_read_machine */
};

void rtscope_read_asked(struct rtscope_asked *asked);
/* Adds a note for each of these that the reader of a plan has to know. */
void rtscope_add_asked(struct rtscope_words *words, const struct rtscope_asked *asked);

#ifdef __cplusplus
}
#endif

#endif
