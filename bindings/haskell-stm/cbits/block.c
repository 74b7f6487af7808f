/* The one block of a process. */
#include "block.h"

#include <stddef.h>

_Static_assert(offsetof(struct rtscope_stm, named_offset) == 48, "as readers know it");
_Static_assert(offsetof(struct rtscope_stm, reserved) + 8 == 64, "the header is 64 bytes");

struct rtscope_stm rtscope_stm = {
    .magic = {'R', 'T', 'S', 'C', 'S', 'T', 'M', 1},
    .header_bytes = 64,
    .lane_bytes = sizeof(struct rtscope_stm_lane),
    .lanes_max = RTSCOPE_STM_LANES,
    .lanes_offset = offsetof(struct rtscope_stm, lanes),
    .names_max = RTSCOPE_STM_NAMES,
    .name_bytes = sizeof(struct rtscope_stm_name),
    .names_offset = offsetof(struct rtscope_stm, names),
};

struct rtscope_stm_named rtscope_stm_named[RTSCOPE_STM_LANES][RTSCOPE_STM_NAMES];
