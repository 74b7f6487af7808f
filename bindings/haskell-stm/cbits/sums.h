/* What RtScope.STM asks of the block. For this folder only. */
#ifndef RTSCOPE_STM_SUMS_H
#define RTSCOPE_STM_SUMS_H

#include "block.h"

/* How many figures there are of all lanes. */
#define RTSCOPE_STM_SUMS 18u

/* Figures of all lanes added up: attempts, commits, and the others in the order in which a
 * lane holds them, without arm and limit. */
void rtscope_stm_sums(uint64_t sums[RTSCOPE_STM_SUMS]);

/* Names in use; of one of them the text, and attempts, commits, waits and exceptions. */
uint32_t rtscope_stm_names_used(void);
const char *rtscope_stm_name_figures(uint32_t name, uint64_t figures[4]);

/* 0: counting. 1: the linker did not lead the runtime's calls here. */
uint32_t rtscope_stm_state(void);

/* What is in force now: 0 nothing, 1 back-off, 2 and more a limit of one less. */
uint32_t rtscope_stm_way(void);

#endif
