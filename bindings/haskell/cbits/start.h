/* What becomes of the plan at start. For this folder only. */
#ifndef RTSCOPE_START_H
#define RTSCOPE_START_H

#include <stddef.h>
#include <stdint.h>

/* Before flags are parsed: the defaults hook's part. */
void rtscope_start_defaults(void);

/* For RtScope.Start, at any time. State is 0: this program was not started by the plan;
 * 1: it was; 2: RTSCOPE_PLAN=off. */
void rtscope_start_figures(uint64_t figures[6]);
size_t rtscope_start_text(char *text, size_t size);

#endif
