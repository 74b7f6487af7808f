/* What the environment asks of this package. For this folder only. */
#ifndef RTSCOPE_STM_ASKED_H
#define RTSCOPE_STM_ASKED_H

#include "block.h"

/* Places there are at most; a limit above them limits nobody that could be measured. */
#define RTSCOPE_STM_PLACES 64u

struct rtscope_stm_asked {
  enum rtscope_stm_mode mode;
  uint32_t limit; /* of RTSCOPE_STM_LIMIT, 1 to RTSCOPE_STM_PLACES */
};

/* Reads `count`, `adaptive`, `backoff` or `limit=N`; no text is `adaptive`. False
 * for anything else, which counts as no text. */
bool rtscope_stm_read_asked(const char *text, struct rtscope_stm_asked *asked);

#endif
