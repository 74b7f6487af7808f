/* The processors that one process may use, and its memory. Owns which file is asked
 * after which; refuses to know topology, control groups and plans. */
#define _GNU_SOURCE
#include "rtscope_read.h"

#include <errno.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#define CPUS "/sys/devices/system/cpu"

/* The mask as `status` has it; an empty or broken one is no answer. */
static bool mask_of_status(const char *root, struct rtscope_set *allowed) {
  static const char *const keys[] = {"Cpus_allowed_list", "Cpus_allowed"};
  for (int i = 0; i < 2; i++) {
    struct rtscope_file file;
    if (!rtscope_open(&file, root, "/proc/self/status")) return false;
    bool good = rtscope_find(&file, keys[i]) &&
                (i == 0 ? rtscope_list(&file, true, allowed) : rtscope_mask(&file, allowed));
    rtscope_close(&file);
    if (good && !rtscope_set_empty(allowed)) return true;
  }
  return false;
}

/* The mask as the kernel has it, which is larger than a cpu_set_t on large machines. */
static bool mask_of_kernel(struct rtscope_set *allowed) {
  union {
    cpu_set_t set;
    unsigned char bytes[RTSCOPE_MAX_CPUS / 8];
  } mask;
  memset(&mask, 0, sizeof mask);
  memset(allowed, 0, sizeof *allowed);
  /* The process's, not the calling thread's, which may have been pinned. */
  if (sched_getaffinity(getpid(), sizeof mask, &mask.set) != 0) return false;
  for (uint32_t cpu = 0; cpu < RTSCOPE_MAX_CPUS; cpu++)
    if (CPU_ISSET_S(cpu, sizeof mask, &mask.set)) rtscope_set_add(allowed, cpu);
  return !rtscope_set_empty(allowed);
}

/* The mask, reduced to what is online where the two have anything in common. */
static void read_mask(const char *root, struct rtscope_set *allowed, struct rtscope_machine *machine) {
  const char *below = root == NULL ? "" : root;
  struct rtscope_set online, both;
  if (!rtscope_list_file(below, CPUS "/online", &online)) memset(&online, 0, sizeof online);
  if ((root == NULL && mask_of_kernel(allowed)) || mask_of_status(below, allowed)) {
    both = *allowed;
    rtscope_set_keep(&both, &online);
    if (!rtscope_set_empty(&both)) *allowed = both;
    return;
  }
  machine->notes |= RTSCOPE_NOTE_NO_MASK;
  *allowed = online;
  if (rtscope_set_empty(allowed)) rtscope_numbered(below, CPUS, "cpu", allowed);
  if (rtscope_set_empty(allowed)) machine->notes |= RTSCOPE_NOTE_NO_CPUS;
}

/* The machine's own memory, where no group allows less. */
static void read_memory(const char *root, struct rtscope_machine *machine) {
  uint64_t kib;
  if (!rtscope_field(root, "/proc/meminfo", "MemTotal", &kib) || kib == 0 || kib > UINT64_MAX / 1024) {
    machine->notes |= RTSCOPE_NOTE_NO_MEMINFO;
    return;
  }
  if (machine->memory_known && machine->memory_limit_bytes < kib * 1024) return;
  machine->memory_known = true;
  machine->memory_limited = false;
  machine->memory_limit_bytes = kib * 1024;
  strcpy(machine->memory_limit_path, "/proc/meminfo");
}

void rtscope_read_machine(const char *root, struct rtscope_machine *machine) {
  const char *below = root == NULL ? "" : root;
  struct rtscope_set allowed;
  int before = errno;
  memset(machine, 0, sizeof *machine);
  read_mask(root, &allowed, machine);
  machine->cpus_allowed = rtscope_set_count(&allowed);
  if (machine->cpus_allowed > 0) rtscope_read_topology(below, &allowed, machine);
  rtscope_read_groups(below, machine);
  read_memory(below, machine);
  errno = before;
}
