/* What this process may use of its machine, and the start of a GHC or OCaml 5 runtime
 * that follows from it: the rules of docs/plan-rules.md, for programs that link them in.
 *
 * Owns the words and the functions that others may call. Refuses to change anything:
 * whoever calls it applies the plan.
 *
 * C11 and Linux. No threads, no state, nothing that depends on the locale, no memory
 * but what reading a folder takes: it may run before any language's runtime has started.
 * It takes up to 256 KiB of stack. Files are data from outside: whatever is in them, the
 * answers stay within the bounds given here.
 */
#ifndef RTSCOPE_PLAN_H
#define RTSCOPE_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* CPUs are numbered below this; Linux cannot be built for more. */
#define RTSCOPE_MAX_CPUS 8192u
#define RTSCOPE_PATH_BYTES 4096u

/* What could not be read, or does not fit together, and what was taken instead. */
enum rtscope_note {
  /* No affinity mask: every CPU that is online was taken. */
  RTSCOPE_NOTE_NO_MASK = 1 << 0,
  /* Nor any CPU at all: one worker is right everywhere. */
  RTSCOPE_NOTE_NO_CPUS = 1 << 1,
  /* No topology, or one that contradicts itself: each CPU counts as a core. */
  RTSCOPE_NOTE_NO_TOPOLOGY = 1 << 2,
  /* No control group of this process is visible. */
  RTSCOPE_NOTE_NO_GROUPS = 1 << 3,
  /* A hierarchy that limits this process is not mounted here. */
  RTSCOPE_NOTE_NOT_MOUNTED = 1 << 4,
  /* A quota or limit is one that no kernel sets: taken as none. */
  RTSCOPE_NOTE_BAD_LIMIT = 1 << 5,
  /* /proc/meminfo does not say how much memory the machine has. */
  RTSCOPE_NOTE_NO_MEMINFO = 1 << 6,
  /* The folder of this process's group is not there: only levels above it were read. */
  RTSCOPE_NOTE_NO_LEAF = 1 << 7,
};

/* What a process may use. */
struct rtscope_machine {
  /* The first four are 0 where no CPU is known at all. */
  uint32_t cpus_allowed; /* logical CPUs of its affinity mask that are online */
  uint32_t cores;        /* physical cores among them */
  uint32_t packages;     /* sockets among them */
  uint32_t numa_nodes;   /* NUMA nodes among them */
  bool quota_set;        /* whether a control group limits CPU time */
  double quota_cpus;     /* the smallest quota over its period, where one is set */
  bool ancestors_hidden; /* groups above the visible ones exist or may exist */
  bool memory_known;
  uint64_t memory_limit_bytes; /* smallest limit of all groups and the machine */
  bool memory_limited;         /* whether a control group set that limit */
  uint32_t notes;              /* bits of rtscope_note */
  char quota_path[RTSCOPE_PATH_BYTES];        /* file of quota_cpus, or empty */
  char memory_limit_path[RTSCOPE_PATH_BYTES]; /* file of memory_limit_bytes, or empty */
};

/* What the program is to be good at. */
enum rtscope_goal { RTSCOPE_LATENCY, RTSCOPE_THROUGHPUT, RTSCOPE_MEMORY };

/* How to start it. */
struct rtscope_plan {
  enum rtscope_goal goal;
  uint32_t ghc_version;   /* 900 for 9.0, 910 for 9.10; 0: not known */
  uint32_t workers;       /* -N */
  uint32_t gc_threads;    /* at most workers: see rtscope_gc_is_sequential */
  uint64_t nursery_bytes; /* -A, for each worker */
  bool nursery_too_large; /* even the smallest nursery is more than a fifth of memory */
  uint32_t domains;       /* of OCaml */
  uint64_t minor_words;   /* s, minor heap of each domain */
  bool minor_too_large;   /* even the smallest is more than a tenth of memory */
  uint32_t space_overhead; /* o */
};

/* `latency`, `throughput` or `memory`; false for anything else, and nothing is written. */
bool rtscope_goal_named(const char *name, enum rtscope_goal *goal);
const char *rtscope_goal_name(enum rtscope_goal goal);

/* What the calling process may use. With a root, every file is read below it, and the
 * mask comes from ROOT/proc/self/status; without (NULL), the kernel is asked for it.
 * Never fails: what cannot be read is noted. Leaves errno as it was. */
void rtscope_read_machine(const char *root, struct rtscope_machine *machine);

/* The plan that follows from it. */
void rtscope_make_plan(const struct rtscope_machine *machine, enum rtscope_goal goal,
                       uint32_t ghc_version, struct rtscope_plan *plan);

/* The rules one by one, for who knows better than the plan how many workers there are
 * or how much memory. */
uint32_t rtscope_gc_threads(const struct rtscope_machine *machine, uint32_t workers);
/* Largest nursery for so many workers; `memory_bytes` UINT64_MAX: no limit. Sets
 * `too_large` where none fits. */
uint64_t rtscope_nursery_bytes(enum rtscope_goal goal, uint32_t ghc_version, uint32_t workers,
                               uint64_t memory_bytes, bool *too_large);
/* What GHC takes without -A; 0 where the version is not known. */
uint64_t rtscope_ghc_default_nursery_bytes(uint32_t ghc_version);

/* Parts of a text. */
enum rtscope_part {
  RTSCOPE_PART_MACHINE = 1 << 0,
  RTSCOPE_PART_GHC = 1 << 1,
  RTSCOPE_PART_OCAML = 1 << 2,
};

/* Writes the parts in sentences, each step with its reason, a line each; always ends
 * with a zero where `size` > 0. Returns the bytes that the whole takes, without the zero:
 * where that is `size` or more, the text was cut. */
size_t rtscope_write_plan(const struct rtscope_machine *machine, const struct rtscope_plan *plan,
                          uint32_t parts, char *text, size_t size);

#ifdef __cplusplus
}
#endif

#endif
