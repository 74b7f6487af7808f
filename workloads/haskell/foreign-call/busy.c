/* What the workload calls: some 20 ms of work, or of sleep. */
#include <time.h>

long c_busy(long steps, long x)
{
    for (long n = 0; n < steps; n++)
        x = (x * 6364136223846793005UL + 1442695040888963407UL) ^ ((unsigned long)x >> 29);
    return x;
}

long c_sleep(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    return nanosleep(&time, 0);
}
