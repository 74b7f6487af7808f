/* RTSCOPE_STM, read. */
#include "asked.h"

#include <string.h>

/* Digits only, from 1 to the number of places; 0 for anything else. */
static uint32_t limit_of(const char *text) {
  uint32_t limit = 0;
  if (*text == 0) return 0;
  for (; *text != 0; text++) {
    if (*text < '0' || *text > '9') return 0;
    limit = limit * 10 + (uint32_t)(*text - '0');
    if (limit > RTSCOPE_STM_PLACES) return 0;
  }
  return limit;
}

bool rtscope_stm_read_asked(const char *text, struct rtscope_stm_asked *asked) {
  *asked = (struct rtscope_stm_asked){.mode = RTSCOPE_STM_ADAPTIVE};
  if (text == NULL || *text == 0 || strcmp(text, "adaptive") == 0) return true;
  if (strcmp(text, "count") == 0) {
    asked->mode = RTSCOPE_STM_COUNT;
  } else if (strcmp(text, "backoff") == 0) {
    asked->mode = RTSCOPE_STM_BACKOFF;
  } else if (strncmp(text, "limit=", 6) == 0 && limit_of(text + 6) != 0) {
    asked->mode = RTSCOPE_STM_LIMIT;
    asked->limit = limit_of(text + 6);
  } else {
    return false;
  }
  return true;
}
