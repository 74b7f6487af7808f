/* The plan becomes this runtime's parameters. Owns the moment: OCaml has no hook that runs
 * before parameters are read, but a constructor runs before its runtime. What it puts
 * before the user's OCAMLRUNPARAM is taken out again as soon as the runtime has read it,
 * so that no process that the program starts inherits it. Refuses to set `d`: that
 * would be a cap, and a program that makes a fixed number of domains would fail. */
#define _GNU_SOURCE
#include "rtscope_words.h"

#include <caml/alloc.h>
#include <caml/memory.h>
#include <caml/mlvalues.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>

#define VARIABLE "OCAMLRUNPARAM"
#define DEFAULT_MINOR_WORDS (256 * 1024)
#define DEFAULT_SPACE_OVERHEAD 120
/* Words of the environment that are put before the user's. */
#define OWN_BYTES 64

/* The runtime's own answer, where the linker led calls of it here. */
extern value __real_caml_recommended_domain_count(value unit) __attribute__((weak));
value __wrap_caml_recommended_domain_count(value unit);

static struct {
  bool put;             /* the plan stands in the environment, or stood there */
  bool space_kept;      /* address space is limited, and the minor heap left as it is for that */
  const char *original; /* what stood there; NULL: nothing */
  struct rtscope_asked asked;
  struct rtscope_machine machine;
  struct rtscope_plan plan;
} start;

static void make_plan(void) {
  struct rlimit space;
  rtscope_read_asked(&start.asked);
  rtscope_read_machine(start.asked.root, &start.machine);
  rtscope_make_plan(&start.machine, start.asked.goal, 0, &start.plan);
  /* A minor heap is reserved for each of 128 domains, and the program ends where it
   * cannot be. */
  bool limited = getrlimit(RLIMIT_AS, &space) != 0 || space.rlim_cur != RLIM_INFINITY;
  start.space_kept = limited && start.plan.minor_words > DEFAULT_MINOR_WORDS;
  if (start.space_kept) start.plan.minor_words = DEFAULT_MINOR_WORDS;
}

/* The plan's parameters, each with a comma behind it. */
static void write_parameters(char *text, size_t size) {
  size_t used = 0;
  text[0] = 0;
  if (start.plan.minor_words != DEFAULT_MINOR_WORDS)
    used = (size_t)snprintf(text, size, "s=%llu,", (unsigned long long)start.plan.minor_words);
  if (start.plan.space_overhead != DEFAULT_SPACE_OVERHEAD)
    snprintf(text + used, size - used, "o=%u,", (unsigned)start.plan.space_overhead);
}

/* Before main. The last word of a letter wins, so the user's stand behind the plan's. A
 * runtime that runs with another's rights would not look there. */
__attribute__((constructor)) static void put_parameters(void) {
  char own[OWN_BYTES];
  make_plan();
  write_parameters(own, sizeof own);
  if (start.asked.off || own[0] == 0 || getauxval(AT_SECURE) != 0) return;
  const char *users = getenv(VARIABLE);
  if (users != NULL && (start.original = strdup(users)) == NULL) return;
  if (users == NULL) users = getenv("CAMLRUNPARAM");
  if (users == NULL) users = "";
  size_t size = strlen(own) + strlen(users) + 1;
  char *all = malloc(size);
  if (all == NULL) return;
  snprintf(all, size, "%s%s", own, users);
  start.put = setenv(VARIABLE, all, 1) == 0;
  free(all);
}

/* The runtime has started: the environment is the user's again. */
value rtscope_start_restore(value unit) {
  if (start.put && start.original != NULL) setenv(VARIABLE, start.original, 1);
  if (start.put && start.original == NULL) unsetenv(VARIABLE);
  return unit;
}

/* Leads Domain.recommended_domain_count here. The runtime's own knows the mask and the
 * user's cap, which both stand. */
value __wrap_caml_recommended_domain_count(value unit) {
  long count = start.machine.cpus_allowed > 0 ? (long)start.machine.cpus_allowed : 1;
  if (__real_caml_recommended_domain_count != NULL) count = Long_val(__real_caml_recommended_domain_count(unit));
  if (!start.asked.off && (long)start.plan.domains < count) count = (long)start.plan.domains;
  return Val_long(count);
}

value rtscope_start_figures(value unit) {
  CAMLparam1(unit);
  CAMLlocal1(figures);
  const long values[] = {(long)start.plan.goal, (long)start.plan.domains, (long)start.plan.minor_words,
                         (long)start.plan.space_overhead, !start.asked.off};
  size_t count = sizeof values / sizeof *values;
  figures = caml_alloc(count, 0);
  for (size_t i = 0; i < count; i++) Store_field(figures, i, Val_long(values[i]));
  CAMLreturn(figures);
}

/* Writes as much of it as fits; returns how long it is, without the zero. */
static size_t write_text(char *space, size_t size) {
  struct rtscope_words text = rtscope_words_in(space, size);
  rtscope_add_plan(&text, &start.machine, &start.plan, RTSCOPE_PART_MACHINE | RTSCOPE_PART_OCAML);
  rtscope_add_asked(&text, &start.asked);
  if (start.space_kept)
    rtscope_add(&text, "note: address space is limited (ulimit -v), of which the runtime reserves a minor heap for "
                       "each of 128 domains: s stays at its default.\n");
  return text.length;
}

value rtscope_start_text(value unit) {
  CAMLparam1(unit);
  CAMLlocal1(whole);
  size_t size = write_text(NULL, 0) + 1;
  char *text = malloc(size);
  if (text == NULL) CAMLreturn(caml_copy_string(""));
  write_text(text, size);
  whole = caml_copy_string(text);
  free(text);
  CAMLreturn(whole);
}
