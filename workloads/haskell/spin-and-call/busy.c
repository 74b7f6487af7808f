#include <time.h>
static long milliseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}
int c_busy(int ms) {
  long end = milliseconds() + ms;
  int n = 0;
  do for (int i = 0; i < 1000000; i++) __asm__ volatile("" : "+r"(n)); while (milliseconds() < end);
  return n;
}
