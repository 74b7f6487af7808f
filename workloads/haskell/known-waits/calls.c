/* What programs call and what sleeps there: the names that a look has to find. */
#include <errno.h>
#include <time.h>

__attribute__((noinline)) static int sleep_to_end(struct timespec *left)
{
    int done;
    while ((done = nanosleep(left, left)) != 0 && errno == EINTR) {
    }
    return done;
}

__attribute__((noinline)) int known_call(int milliseconds)
{
    struct timespec left = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    int done = sleep_to_end(&left);
    return done + 1;
}
