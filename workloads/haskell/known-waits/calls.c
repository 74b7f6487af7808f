/* What programs call and what sleeps there: the names that a look has to find. */
#include <errno.h>
#include <signal.h>
#include <time.h>

__attribute__((noinline)) static int sleep_to_end(struct timespec *left)
{
    int done;
    while ((done = nanosleep(left, left)) != 0 && errno == EINTR) {
    }
    return done;
}

/* It waits all the time: the timer of a runtime without threads of the system would wake it by a signal. */
__attribute__((noinline)) int known_call(int milliseconds)
{
    struct timespec left = {milliseconds / 1000, (long)(milliseconds % 1000) * 1000000};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    int done = sleep_to_end(&left);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return done + 1;
}
