/* Named transactions. Owns the table of names and, for each thread in an attempt of a
 * named one, a mark that says so; a commit, a wait or an exception takes it away and is
 * counted under the name. An attempt counts under its name only where a mark was found
 * room for, so that under each name, at rest,
 *   attempts - commits - waits - exceptions
 * are the attempts lost to conflicts, exactly. Refuses to allocate and to block. */
#include "names.h"

#include <sched.h>
#include <string.h>

#define OTHER (RTSCOPE_STM_NAMES - 1)

/* Marks: a line of them for each of so many residues of thread numbers. Threads are
 * numbered one after the other, so that as many threads as there are lines share none. A
 * line of 8 is full when 9 threads whose numbers differ by multiples of 128 are in a named
 * transaction at once. */
#define LINES 128u
#define MARKS 8u

/* A mark: the thread's number above, then whether its exception is on its way, then its
 * name's number plus one; 0: free. */
#define RAISED ((uint64_t)1 << 8)
#define THREAD_SHIFT 16

static struct {
  _Alignas(64) _Atomic uint64_t marks[MARKS];
} lines[LINES];

static atomic_flag naming = ATOMIC_FLAG_INIT;

/* Length of `text` cut to fit with a zero behind it, not within a character. */
static size_t cut(const char *text) {
  size_t length = strnlen(text, RTSCOPE_STM_NAME_BYTES);
  if (length < RTSCOPE_STM_NAME_BYTES) return length;
  length = RTSCOPE_STM_NAME_BYTES - 1;
  while (length > 0 && ((unsigned char)text[length] & 0xc0) == 0x80) length--;
  return length;
}

/* The number of a text among those in use, or a new one. The caller holds `naming`. */
static uint32_t number_of(const char *text, size_t length) {
  uint32_t used = atomic_load_explicit(&rtscope_stm.names_used, memory_order_relaxed);
  for (uint32_t i = 0; i < used; i++) {
    const char *name = rtscope_stm.names[i].name;
    if (memcmp(name, text, length) == 0 && name[length] == 0) return i;
  }
  if (used > OTHER) return OTHER;
  if (used == OTHER) {
    text = "other";
    length = strlen(text);
  }
  memcpy(rtscope_stm.names[used].name, text, length);
  atomic_store_explicit(&rtscope_stm.names_used, used + 1, memory_order_release);
  return used;
}

uint32_t rtscope_stm_name(const char *text) {
  while (atomic_flag_test_and_set_explicit(&naming, memory_order_acquire)) sched_yield();
  uint32_t number = number_of(text, cut(text));
  atomic_flag_clear_explicit(&naming, memory_order_release);
  return number;
}

static uint64_t thread_number(const Capability *capability) {
  const void *thread = rtscope_thread_on(capability);
  return thread == NULL ? 0 : (uint64_t)rtscope_StgTSO_id(thread);
}

/* The mark of a thread, or NULL. Only the thread itself makes and takes it. */
static _Atomic uint64_t *mark_of(uint64_t thread) {
  _Atomic uint64_t *marks = lines[thread % LINES].marks;
  for (uint32_t i = 0; i < MARKS; i++)
    if (atomic_load_explicit(&marks[i], memory_order_relaxed) >> THREAD_SHIFT == thread) return &marks[i];
  return NULL;
}

static void count_end(struct rtscope_stm_name *name, enum rtscope_end end) {
  if (end == RTSCOPE_END_COMMIT) rtscope_stm_add_shared(&name->commits, 1);
  if (end == RTSCOPE_END_WAIT) rtscope_stm_add_shared(&name->waits, 1);
  if (end == RTSCOPE_END_RAISED || end == RTSCOPE_END_UNSEEN) rtscope_stm_add_shared(&name->exceptions, 1);
}

void rtscope_names_end(const Capability *capability, enum rtscope_end end) {
  uint64_t thread = thread_number(capability);
  _Atomic uint64_t *mark = thread == 0 ? NULL : mark_of(thread);
  if (mark == NULL) return;
  uint64_t was = atomic_load_explicit(mark, memory_order_relaxed);
  /* One whose exception is on its way was counted when it was raised. */
  if ((was & RAISED) == 0) count_end(&rtscope_stm.names[(was & 0xff) - 1], end);
  atomic_store_explicit(mark, end == RTSCOPE_END_RAISED ? was | RAISED : 0, memory_order_relaxed);
}

/* Where transactions are not counted, nothing would take a mark away again. */
static bool is_counting(void) {
  uint32_t flags = atomic_load_explicit(&rtscope_stm.flags, memory_order_relaxed);
  return (flags & (RTSCOPE_STM_LED | RTSCOPE_STM_OFF)) == RTSCOPE_STM_LED;
}

void rtscope_stm_mark(uint32_t name) {
  if (!is_counting() || name >= RTSCOPE_STM_NAMES) return;
  uint64_t thread = thread_number(rts_unsafeGetMyCapability());
  if (thread == 0) return;
  _Atomic uint64_t *marks = lines[thread % LINES].marks;
  uint64_t mark = thread << THREAD_SHIFT | (name + 1);
  for (uint32_t i = 0; i < MARKS; i++) {
    uint64_t none = 0;
    if (atomic_compare_exchange_strong_explicit(&marks[i], &none, mark, memory_order_relaxed, memory_order_relaxed)) {
      rtscope_stm_add_shared(&rtscope_stm.names[name].attempts, 1);
      return;
    }
  }
  rtscope_stm_flag(RTSCOPE_STM_NAMELESS);
}

uint32_t rtscope_stm_thrown(void) {
  uint64_t thread = thread_number(rts_unsafeGetMyCapability());
  _Atomic uint64_t *mark = thread == 0 ? NULL : mark_of(thread);
  if (mark == NULL) return 0;
  uint64_t was = atomic_load_explicit(mark, memory_order_relaxed);
  bool raised = (was & RAISED) != 0;
  if (!raised) count_end(&rtscope_stm.names[(was & 0xff) - 1], RTSCOPE_END_UNSEEN);
  atomic_store_explicit(mark, 0, memory_order_relaxed);
  return raised;
}
