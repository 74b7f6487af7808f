/* Named transactions. Owns the table of names and, for each thread in a named one, a mark
 * that says which and how far its attempt is. An attempt counts under its name only where
 * a mark was found room for, so that under each name, at rest,
 *   attempts - commits - waits - exceptions
 * are the attempts lost to conflicts, exactly. Refuses to allocate and to block. */
#define _GNU_SOURCE
#include "names.h"

#include "count.h"

#include <sched.h>
#include <string.h>

#define OTHER (RTSCOPE_STM_NAMES - 1) /* the name of those for which there is no room */

/* Marks: a line of them for each of so many residues of thread numbers. Threads are
 * numbered one after the other, so that as many threads as there are lines share none. A
 * line of 8 is full when 9 threads whose numbers differ by multiples of 128 are in a named
 * transaction at once. */
#define LINES 128u
#define MARKS 8u

/* A mark: the thread's number above, then how far its attempt is, then its name's number
 * plus one; 0: free. */
#define ENDED ((uint64_t)1 << 8)  /* and was counted: the next begins, or an exception comes */
#define RAISED ((uint64_t)1 << 9) /* by an exception */
#define READY ((uint64_t)1 << 10) /* nothing is left but the commit, before which is no safe point */
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
    const char *name = rtscope_stm.names[i].text;
    if (memcmp(name, text, length) == 0 && name[length] == 0) return i;
  }
  if (used > OTHER) return OTHER;
  if (used == OTHER) {
    text = "other";
    length = strlen(text);
  }
  memcpy(rtscope_stm.names[used].text, text, length);
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

static uint64_t look(const _Atomic uint64_t *mark) {
  return atomic_load_explicit(mark, memory_order_relaxed);
}

static void set(_Atomic uint64_t *mark, uint64_t to) {
  atomic_store_explicit(mark, to, memory_order_relaxed);
}

/* The mark of a thread, or NULL. Only the thread itself makes and takes it. */
static _Atomic uint64_t *mark_of(uint64_t thread) {
  _Atomic uint64_t *marks = lines[thread % LINES].marks;
  for (uint32_t i = 0; i < MARKS; i++)
    if (look(&marks[i]) >> THREAD_SHIFT == thread) return &marks[i];
  return NULL;
}

/* Counts of the name of a mark, on this capability. */
static struct rtscope_stm_named *named(const Capability *capability, uint64_t mark) {
  return &rtscope_stm_named[rtscope_lane_of(capability)][(mark & 0xff) - 1];
}

static _Atomic uint64_t *mark_on(const Capability *capability) {
  uint64_t thread = thread_number(capability);
  return thread == 0 ? NULL : mark_of(thread);
}

/* An attempt without a counted end is over: behind its commit, or given up in the middle. */
static void count_unseen(const Capability *capability, uint64_t mark) {
  struct rtscope_stm_named *counts = named(capability, mark);
  if ((mark & ENDED) == 0) rtscope_add(mark & READY ? &counts->commits : &counts->exceptions, 1);
}

void rtscope_names_end(const Capability *capability, enum rtscope_end end) {
  _Atomic uint64_t *mark = mark_on(capability);
  if (mark == NULL) return;
  uint64_t was = look(mark);
  if (was & ENDED) return;
  if (end == RTSCOPE_END_WAIT) rtscope_add(&named(capability, was)->waits, 1);
  if (end == RTSCOPE_END_RAISED) rtscope_add(&named(capability, was)->exceptions, 1);
  set(mark, was | ENDED | (end == RTSCOPE_END_RAISED ? RAISED : 0));
}

/* A free mark becomes this one; false where there is none. */
static bool place(uint64_t thread, uint64_t mark) {
  _Atomic uint64_t *marks = lines[thread % LINES].marks;
  for (uint32_t i = 0; i < MARKS; i++) {
    uint64_t none = 0;
    if (look(&marks[i]) != 0) continue;
    if (atomic_compare_exchange_strong_explicit(&marks[i], &none, mark, memory_order_relaxed, memory_order_relaxed))
      return true;
  }
  return false;
}

void rtscope_stm_mark(uint32_t name) {
  const Capability *capability = rts_unsafeGetMyCapability();
  uint64_t thread = thread_number(capability);
  if (!rtscope_stm_is_linked() || name >= RTSCOPE_STM_NAMES || thread == 0) return;
  uint64_t now = thread << THREAD_SHIFT | (name + 1);
  _Atomic uint64_t *mark = mark_of(thread);
  if (mark != NULL) {
    count_unseen(capability, look(mark));
    set(mark, now);
  } else if (!place(thread, now)) {
    rtscope_stm_flag(RTSCOPE_STM_NAMELESS);
    return;
  }
  rtscope_add(&named(capability, now)->attempts, 1);
}

void rtscope_stm_ready(void) {
  _Atomic uint64_t *mark = mark_on(rts_unsafeGetMyCapability());
  if (mark != NULL) set(mark, look(mark) | READY);
}

void rtscope_stm_done(void) {
  const Capability *capability = rts_unsafeGetMyCapability();
  _Atomic uint64_t *mark = mark_on(capability);
  if (mark == NULL) return;
  rtscope_add(&named(capability, look(mark))->commits, 1);
  set(mark, 0);
}

uint32_t rtscope_stm_thrown(void) {
  const Capability *capability = rts_unsafeGetMyCapability();
  _Atomic uint64_t *mark = mark_on(capability);
  if (mark == NULL) return RTSCOPE_THROWN_ASIDE;
  uint64_t was = look(mark);
  count_unseen(capability, was);
  set(mark, 0);
  if (was & RAISED) return RTSCOPE_THROWN_RAISED;
  return (was & (READY | ENDED)) == READY ? RTSCOPE_THROWN_COMMITTED : RTSCOPE_THROWN_ASIDE;
}
