/* A plan in sentences: each step with its value, its reason and the file that it goes
 * by. Owns the words; refuses to decide anything. */
#include "rtscope_words.h"

#include <stdio.h>
#include <string.h>

#define KIB UINT64_C(1024)

/* `2.5 CPUs`, whatever the locale writes between the digits. */
static void add_cpus(struct rtscope_words *text, double cpus) {
  if (cpus >= 1e15) {
    rtscope_add(text, "more CPUs than there are");
    return;
  }
  uint64_t thousandths = (uint64_t)(cpus * 1000 + 0.5);
  char part[8];
  snprintf(part, sizeof part, ".%03u", (unsigned)(thousandths % 1000));
  for (size_t end = strlen(part); end > 0 && (part[end - 1] == '0' || part[end - 1] == '.'); end--) {
    part[end - 1] = 0;
    if (end == 1) break;
  }
  rtscope_add(text, "%llu%s %s", (unsigned long long)(thousandths / 1000), part, thousandths == 1000 ? "CPU" : "CPUs");
}

/* `16 MiB`, `2.5 GiB`. */
static void add_bytes(struct rtscope_words *text, uint64_t bytes) {
  static const char *const units[] = {"KiB", "MiB", "GiB", "TiB"};
  uint64_t unit = KIB;
  int i = 0;
  if (bytes < KIB) {
    rtscope_add(text, "%u bytes", (unsigned)bytes);
    return;
  }
  for (; i < 3 && bytes / unit >= KIB; i++) unit *= KIB;
  uint64_t tenths = bytes % unit * 10 / unit;
  rtscope_add(text, "%llu", (unsigned long long)(bytes / unit));
  if (tenths > 0) rtscope_add(text, ".%u", (unsigned)tenths);
  rtscope_add(text, " %s", units[i]);
}

static void add_count(struct rtscope_words *text, uint32_t number, const char *one) {
  rtscope_add(text, "%u %s%s", (unsigned)number, one, number == 1 ? "" : "s");
}

static const char *file_of(const char *path) {
  return path[0] == 0 ? "a control group" : path;
}

static void add_machine(struct rtscope_words *text, const struct rtscope_machine *machine) {
  static const char *const notes[] = {
      "The affinity mask could not be read: every CPU that is online is taken as allowed.",
      "No CPU is known: neither a mask nor /sys/devices/system/cpu can be read.",
      "The kernel shows no topology that fits together: each CPU is taken for a core of its own.",
      "No control group of this process is visible, so quotas are unknown.",
      "A control group hierarchy that limits this process is not mounted here: its limits are unknown.",
      "A quota or limit has a value that no kernel sets: it is taken as none.",
      "/proc/meminfo does not say how much memory the machine has.",
      "The folder of this process's control group is not there: only levels above it are read.",
  };
  rtscope_add(text, "machine: ");
  add_count(text, machine->cpus_allowed, "allowed CPU");
  rtscope_add(text, " on ");
  add_count(text, machine->cores, "physical core");
  rtscope_add(text, ", ");
  add_count(text, machine->packages, "package");
  rtscope_add(text, ", ");
  add_count(text, machine->numa_nodes, "NUMA node");
  if (machine->quota_set) {
    rtscope_add(text, "; a quota of ");
    add_cpus(text, machine->quota_cpus);
    rtscope_add(text, " (%s)", file_of(machine->quota_path));
  } else {
    rtscope_add(text, "; no CPU quota%s", machine->ancestors_hidden ? " is visible" : "");
  }
  if (machine->memory_known) {
    rtscope_add(text, "; memory ");
    add_bytes(text, machine->memory_limit_bytes);
    rtscope_add(text, " (%s)", file_of(machine->memory_limit_path));
  }
  rtscope_add(text, "\n");
  if (machine->ancestors_hidden)
    rtscope_add(text, "note: Control groups above those that are visible may set smaller quotas and limits: this plan "
                      "cannot know them.\n");
  for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
    if ((machine->notes >> i & 1) != 0) rtscope_add(text, "note: %s\n", notes[i]);
}

/* Why there are so many workers. */
static void add_workers(struct rtscope_words *text, const struct rtscope_machine *machine,
                        const struct rtscope_plan *plan) {
  bool throughput = plan->goal == RTSCOPE_THROUGHPUT;
  if (machine->cpus_allowed == 0) {
    rtscope_add(text, "Which CPUs are allowed could not be read: one worker is right everywhere.\n");
    return;
  }
  if (throughput) {
    add_count(text, machine->cpus_allowed, "allowed CPU");
    if (machine->cores < machine->cpus_allowed) {
      rtscope_add(text, ", hyper-threads counted (");
      add_count(text, machine->cores, "physical core");
      rtscope_add(text, ")");
    }
  } else {
    add_count(text, machine->cores, "physical core");
    rtscope_add(text, " among ");
    add_count(text, machine->cpus_allowed, "allowed CPU");
  }
  if (!machine->quota_set) {
    rtscope_add(text, "; no CPU quota%s.\n", machine->ancestors_hidden ? " is visible" : "");
    return;
  }
  rtscope_add(text, "; a quota of ");
  add_cpus(text, machine->quota_cpus);
  rtscope_add(text, " in %s ", file_of(machine->quota_path));
  if (machine->quota_cpus < 1)
    rtscope_add(text, "does not feed even one: each more makes the others wait when it is used up.\n");
  else if (plan->workers < (throughput ? machine->cpus_allowed : machine->cores))
    rtscope_add(text, throughput ? "keeps at most %u busy.\n" : "feeds %u without running out.\n",
                (unsigned)plan->workers);
  else
    rtscope_add(text, "feeds them all.\n");
}

static void add_collectors(struct rtscope_words *text, const struct rtscope_machine *machine,
                           const struct rtscope_plan *plan) {
  if (plan->gc_threads == plan->workers) return;
  if (plan->gc_threads == 1)
    rtscope_add(text, "  %-7s ", "-qg");
  else
    rtscope_add(text, "  -qn%-4u ", (unsigned)plan->gc_threads);
  add_count(text, plan->workers, "worker");
  if (plan->gc_threads < machine->cores) {
    rtscope_add(text, " share a quota of ");
    add_cpus(text, machine->quota_cpus);
    rtscope_add(text, ": a collection waits for a worker that is stopped when it is used up, so ");
  } else {
    rtscope_add(text, " on ");
    add_count(text, machine->cores, "physical core");
    rtscope_add(text, ": threads that collect spin while they wait for each other, so ");
  }
  rtscope_add(text, plan->gc_threads == 1 ? "one thread collects.\n" : "%u collect.\n", (unsigned)plan->gc_threads);
}

/* How a size was found: what is wanted, or what memory allows. */
static void add_size(struct rtscope_words *text, const struct rtscope_machine *machine, const struct rtscope_plan *plan,
                     uint64_t bytes, const char *owner, bool too_large, const char *share) {
  add_bytes(text, bytes);
  rtscope_add(text, " for each of ");
  add_count(text, plan->workers, owner);
  if (too_large)
    rtscope_add(text, ", the smallest that is planned, though that is more than %s of the ", share);
  else if (machine->memory_known)
    rtscope_add(text, ", at most %s of the ", share);
  if (machine->memory_known) {
    add_bytes(text, machine->memory_limit_bytes);
    rtscope_add(text, " in %s", file_of(machine->memory_limit_path));
  }
}

static void add_ghc(struct rtscope_words *text, const struct rtscope_machine *machine,
                    const struct rtscope_plan *plan) {
  char flag[16];
  rtscope_add(text, "GHC, for %s:\n  -N%-5u ", rtscope_goal_name(plan->goal), (unsigned)plan->workers);
  add_workers(text, machine, plan);
  add_collectors(text, machine, plan);
  uint64_t default_bytes = rtscope_ghc_default_nursery_bytes(plan->ghc_version);
  snprintf(flag, sizeof flag, "-A%um", (unsigned)(plan->nursery_bytes / (KIB * KIB)));
  rtscope_add(text, "  %-7s ", flag);
  add_size(text, machine, plan, plan->nursery_bytes, "worker", plan->nursery_too_large, "a fifth");
  if (plan->nursery_bytes == default_bytes)
    rtscope_add(text, "; it is this version's default.\n");
  else if (plan->goal == RTSCOPE_MEMORY || plan->nursery_too_large)
    rtscope_add(text, ".\n");
  else
    rtscope_add(text, ": fewer collections, each of which stops every worker. Measure it: no rule is right for all.\n");
}

static void add_ocaml(struct rtscope_words *text, const struct rtscope_machine *machine,
                      const struct rtscope_plan *plan) {
  char flag[16];
  rtscope_add(text, "OCaml 5, for %s:\n  d=%-5u ", rtscope_goal_name(plan->goal), (unsigned)plan->domains);
  add_workers(text, machine, plan);
  snprintf(flag, sizeof flag, "s=%uk", (unsigned)(plan->minor_words / KIB));
  rtscope_add(text, "  %-7s words: ", flag);
  add_size(text, machine, plan, plan->minor_words * 8, "domain", plan->minor_too_large, "a tenth");
  if (plan->minor_words == 256 * KIB)
    rtscope_add(text, "; it is the default.\n");
  else if (plan->minor_words < 256 * KIB)
    rtscope_add(text, ".\n");
  else
    rtscope_add(text, ": fewer minor collections, each of which stops every domain. Measure it.\n");
  rtscope_add(text, "  o=%-5u ", (unsigned)plan->space_overhead);
  if (plan->space_overhead == 120)
    rtscope_add(text, "the default.\n");
  else if (plan->goal == RTSCOPE_MEMORY)
    rtscope_add(text, "less garbage is kept for more work of the major collector.\n");
  else
    rtscope_add(text, "a control group allows less than 512 MiB: less garbage is kept for more work of the major "
                      "collector.\n");
}

void rtscope_add_plan(struct rtscope_words *text, const struct rtscope_machine *machine,
                      const struct rtscope_plan *plan, uint32_t parts) {
  if ((parts & RTSCOPE_PART_MACHINE) != 0) add_machine(text, machine);
  if ((parts & RTSCOPE_PART_GHC) != 0) add_ghc(text, machine, plan);
  if ((parts & RTSCOPE_PART_OCAML) != 0) add_ocaml(text, machine, plan);
}

size_t rtscope_write_plan(const struct rtscope_machine *machine, const struct rtscope_plan *plan, uint32_t parts,
                          char *space, size_t size) {
  struct rtscope_words text = rtscope_words_in(space, size);
  rtscope_add_plan(&text, machine, plan, parts);
  return text.length;
}
