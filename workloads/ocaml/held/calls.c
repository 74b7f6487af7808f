/* What the workload calls: some 20 ms of work, or of sleep. Each function once with the
   domain's lock held, as most bindings are written, and once without. */
#include <time.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>

__attribute__((noinline)) long c_busy(long steps, long x)
{
    for (long n = 0; n < steps; n++)
        x = (x * 6364136223846793005UL + 1442695040888963407UL) ^ ((unsigned long)x >> 29);
    return x;
}

__attribute__((noinline)) long c_sleep(long milliseconds)
{
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    return nanosleep(&time, 0);
}

value busy_held(value steps)
{
    return Val_long(c_busy(Long_val(steps), 1) & 0xff);
}

value busy_released(value steps)
{
    long count = Long_val(steps);
    caml_enter_blocking_section();
    long found = c_busy(count, 1);
    caml_leave_blocking_section();
    return Val_long(found & 0xff);
}

value sleep_held(value milliseconds)
{
    return Val_long(c_sleep(Long_val(milliseconds)));
}

value sleep_released(value milliseconds)
{
    long count = Long_val(milliseconds);
    caml_enter_blocking_section();
    long left = c_sleep(count);
    caml_leave_blocking_section();
    return Val_long(left);
}
