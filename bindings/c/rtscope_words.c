/* Text that grows within its space, and the environment's three variables. Owns how far
 * a text was cut; refuses to decide what is written. */
#define _GNU_SOURCE
#include "rtscope_words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rtscope_words rtscope_words_in(char *space, size_t size) {
  if (size > 0) space[0] = 0;
  return (struct rtscope_words){.at = space, .left = size};
}

void rtscope_add(struct rtscope_words *words, const char *format, ...) {
  va_list values;
  va_start(values, format);
  int more = vsnprintf(words->at, words->left, format, values);
  va_end(values);
  if (more < 0) return;
  size_t taken = (size_t)more < words->left ? (size_t)more : words->left > 0 ? words->left - 1 : 0;
  words->length += (size_t)more;
  words->left -= taken;
  if (words->left > 0) words->at += taken;
}

void rtscope_read_asked(struct rtscope_asked *asked) {
  const char *goal = secure_getenv("RTSCOPE_GOAL"), *plan = secure_getenv("RTSCOPE_PLAN");
  asked->goal = RTSCOPE_LATENCY;
  asked->goal_wrong = goal != NULL && *goal != 0 && !rtscope_goal_named(goal, &asked->goal);
  asked->off = plan != NULL && strcmp(plan, "off") == 0;
  asked->root = secure_getenv("RTSCOPE_ROOT");
}

void rtscope_add_asked(struct rtscope_words *words, const struct rtscope_asked *asked) {
  if (asked->goal_wrong)
    rtscope_add(words, "note: RTSCOPE_GOAL is none of latency, throughput and memory: latency is taken.\n");
  if (asked->off) rtscope_add(words, "note: RTSCOPE_PLAN=off: the plan is not followed.\n");
}
