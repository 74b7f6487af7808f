/* Calls that sleep, with and without the domain, and what the system says of a thread and of the time. */
#define _GNU_SOURCE
#include <caml/alloc.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/signals.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
static volatile int over = 0;

/* Waits for other C code. */
__attribute__((noinline)) static void await_others(void)
{
    pthread_mutex_lock(&lock);
    while (!over) {
        pthread_cond_wait(&done, &lock);
    }
    pthread_mutex_unlock(&lock);
}

value known_end_calls(value unit)
{
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_broadcast(&done);
    pthread_mutex_unlock(&lock);
    return unit;
}

value known_await_released(value unit)
{
    CAMLparam1(unit);
    caml_enter_blocking_section();
    await_others();
    caml_leave_blocking_section();
    CAMLreturn(Val_unit);
}

value known_await_held(value unit)
{
    CAMLparam1(unit);
    await_others();
    CAMLreturn(Val_unit);
}

value known_spin_held(value unit)
{
    CAMLparam1(unit);
    while (!over) {
    }
    CAMLreturn(Val_unit);
}

value known_sleep_held(value unit)
{
    CAMLparam1(unit);
    struct timespec left = {1000, 0};
    while (nanosleep(&left, &left) != 0) {
    }
    CAMLreturn(Val_unit);
}

value known_thread(value unit)
{
    (void)unit;
    return Val_long(syscall(SYS_gettid));
}

value known_now(value unit)
{
    struct timespec now;
    (void)unit;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return Val_long((long)now.tv_sec * 1000000000 + now.tv_nsec);
}
