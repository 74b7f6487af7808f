/* Which kernel thread serves which domain: names it and writes its id into the domain's
 * ring. Owns the moments: a new domain, a collection that another thread serves than the
 * last one, a call. All code here runs in the thread that it speaks of, while that holds
 * its domain, so what it says is exact. Refuses to rename the program's first thread by
 * itself: its name is the process's. */
#define _GNU_SOURCE
#define CAML_INTERNALS

#include <caml/domain.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>
#include <caml/roots.h>
#include <caml/runtime_events.h>

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* As many as a runtime can have. */
#define SLOTS 4096
/* A thread is said again after so many collections of its domain, since a ring forgets:
 * the default one holds some 700. */
#define SAY_AGAIN 64
/* What the kernel keeps of a thread's name, the end counted. */
#define NAME_BYTES 16

/* The event `rtscope.thread`, never in a minor heap: it is read while those are emptied. */
static value thread_event = Val_unit;
static char *ring_folder;
static bool watching;

static scan_roots_hook scan_before;
static void (*domain_before)(void);

/* What was last said of a slot. Only who holds the slot's domain comes near. */
static struct {
  long thread; /* 0: nothing was said, or nobody listened */
  unsigned collections;
} said[SLOTS];

static __thread struct {
  long id; /* of the kernel; 0: not asked yet */
  bool own; /* the domain's first thread, not its backup */
  bool named;
} self;

static long self_id(void) {
  if (self.id == 0) self.id = syscall(SYS_gettid);
  return self.id;
}

static void name_self(const char *name) {
  self.named = true;
  prctl(PR_SET_NAME, name, 0, 0, 0);
}

/* Allocates nothing: the event carries an integer. */
static void say(int slot) {
  if (slot < 0 || slot >= SLOTS || thread_event == Val_unit) return;
  bool heard = caml_runtime_events_are_active();
  said[slot].thread = heard ? self_id() : 0;
  said[slot].collections = 0;
  if (!heard) return;
  caml_runtime_events_user_write(Val_unit, thread_event, Val_long(self_id()));
}

/* In each domain, in each minor collection, by the thread that serves it. The event may be
 * moved in a compaction, which calls this too, without the flag. */
static void on_roots(scanning_action action, scanning_action_flags flags, void *data, caml_domain_state *domain) {
  if (scan_before != NULL) scan_before(action, flags, data, domain);
  if ((flags & SCANNING_ONLY_YOUNG_VALUES) == 0) return;
  int slot = domain->id;
  if (!self.own && !self.named && caml_bt_is_self()) {
    char name[NAME_BYTES];
    snprintf(name, sizeof name, "dom %d backup", slot);
    name_self(name);
  }
  if (slot < 0 || slot >= SLOTS) return;
  if (said[slot].thread != self_id() || ++said[slot].collections >= SAY_AGAIN) say(slot);
}

/* In each new domain, before its own code. */
static void on_domain(void) {
  char name[NAME_BYTES];
  if (domain_before != NULL) domain_before();
  int slot = Caml_state->id;
  self.own = true;
  snprintf(name, sizeof name, "dom %d", slot);
  name_self(name);
  say(slot);
}

/* The child's only thread is another one, whatever it remembers. */
static void on_fork(void) {
  self.id = 0;
}

/* Once, in the first domain. The event has left the minor heap. */
value rtscope_events_watch(value event) {
  const char *folder = secure_getenv("OCAML_RUNTIME_EVENTS_DIR"), *wish = secure_getenv("RTSCOPE_THREADS");
  ring_folder = folder != NULL ? strdup(folder) : NULL;
  pthread_atfork(NULL, NULL, on_fork);
  self.own = true;
  watching = wish == NULL || strcmp(wish, "off") != 0;
  if (!watching) return Val_unit;
  if (wish == NULL || strcmp(wish, "names") != 0) thread_event = event;
  caml_register_generational_global_root(&thread_event);
  scan_before = atomic_exchange(&caml_scan_roots_hook, on_roots);
  say(Caml_state->id);
  return Val_unit;
}

/* Just before the first domain is spawned: the threads library sets the same hook when it
 * is initialised, which is done by then, and knows no other. */
value rtscope_events_watch_domains(value unit) {
  if (!watching) return unit;
  domain_before = caml_domain_initialize_hook;
  caml_domain_initialize_hook = on_domain;
  return unit;
}

/* Names the calling thread; an empty name leaves it as it is. */
value rtscope_events_announce(value name) {
  if (caml_string_length(name) != 0) name_self(String_val(name));
  say(Caml_state->id);
  return Val_unit;
}

value rtscope_events_active(value unit) {
  (void)unit;
  return Val_bool(caml_runtime_events_are_active());
}

/* Whether the ring's file can be had: the runtime ends the program where it cannot. Makes
 * it, empty, which is how the runtime would begin. */
value rtscope_events_can_start(value unit) {
  (void)unit;
  char path[4096];
  int length = snprintf(path, sizeof path, "%s/%ld.events", ring_folder != NULL ? ring_folder : ".", (long)getpid());
  if (length < 0 || (size_t)length >= sizeof path) return Val_false;
  int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0) return Val_false;
  close(file);
  return Val_true;
}

value rtscope_events_lane(value unit) {
  (void)unit;
  return Val_long(Caml_state->id);
}

value rtscope_events_thread(value unit) {
  (void)unit;
  return Val_long(self_id());
}
