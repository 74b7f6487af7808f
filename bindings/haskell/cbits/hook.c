/* The defaults hook, in an object of its own: a program that has one itself keeps it,
 * and then nothing here is linked. */
#include "start.h"

void FlagDefaultsHook(void);

void FlagDefaultsHook(void) {
  rtscope_start_defaults();
}
