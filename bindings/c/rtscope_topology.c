/* How the allowed CPUs share cores, packages and NUMA nodes. Cores are what the kernel
 * lists as sharing one, never equal core ids: those repeat in each package. A way to
 * tell them is taken whole or not at all; where its files do not fit together, the next
 * one is. Refuses to know who is allowed where. */
#include "rtscope_read.h"

#include <stdio.h>
#include <string.h>

#define NODES "/sys/devices/system/node"

static void cpu_path(char *path, size_t size, uint32_t cpu, const char *name) {
  snprintf(path, size, "/sys/devices/system/cpu/cpu%u/topology/%s", (unsigned)cpu, name);
}

/* Allowed CPUs on the core of `cpu`; false where the list is missing or leaves it out. */
static bool siblings(const char *root, uint32_t cpu, const char *name, const struct rtscope_set *allowed,
                     struct rtscope_set *list) {
  char path[128];
  cpu_path(path, sizeof path, cpu, name);
  if (!rtscope_list_file(root, path, list) || !rtscope_set_has(list, cpu)) return false;
  rtscope_set_keep(list, allowed);
  return true;
}

/* Cores by the list of each CPU, which must agree with those of the others in it;
 * 0: they do not. */
static uint32_t cores_by_lists(const char *root, const char *name, const struct rtscope_set *allowed) {
  uint16_t first_of[RTSCOPE_MAX_CPUS];
  struct rtscope_set list, others;
  uint32_t cores = 0;
  RTSCOPE_EACH(cpu, allowed) {
    if (!siblings(root, cpu, name, allowed, &list)) return 0;
    uint32_t first = rtscope_set_next(&list, 0);
    first_of[cpu] = (uint16_t)first;
    cores += first == cpu;
  }
  RTSCOPE_EACH(cpu, allowed) {
    if (!siblings(root, cpu, name, allowed, &list)) return 0;
    RTSCOPE_EACH(other, &list)
      if (first_of[other] != first_of[cpu]) return 0;
    if (first_of[cpu] == cpu) continue;
    if (!siblings(root, first_of[cpu], name, allowed, &others) || !rtscope_set_equal(&list, &others)) return 0;
  }
  return cores;
}

/* Cores by package, die and core id; 0: they are not all there. A die is not shown by
 * each kernel. */
static uint32_t cores_by_ids(const char *root, const struct rtscope_set *allowed) {
  static const char *const names[] = {"physical_package_id", "core_id", "die_id"};
  int32_t known[RTSCOPE_MAX_CPUS][3], ids[3];
  uint32_t cores = 0;
  char path[128];
  RTSCOPE_EACH(cpu, allowed) {
    for (int i = 0; i < 3; i++) {
      cpu_path(path, sizeof path, cpu, names[i]);
      if (rtscope_id_file(root, path, &ids[i])) continue;
      if (i < 2) return 0;
      ids[i] = -1;
    }
    if (ids[1] < 0) return 0;
    uint32_t twin = 0;
    while (twin < cores && memcmp(known[twin], ids, sizeof ids) != 0) twin++;
    if (twin == cores) memcpy(known[cores++], ids, sizeof ids);
  }
  return cores;
}

static uint32_t cores(const char *root, const struct rtscope_set *allowed, struct rtscope_machine *machine) {
  uint32_t found = cores_by_lists(root, "core_cpus_list", allowed);
  if (found == 0) found = cores_by_lists(root, "thread_siblings_list", allowed);
  if (found == 0) found = cores_by_ids(root, allowed);
  if (found > 0) return found;
  machine->notes |= RTSCOPE_NOTE_NO_TOPOLOGY;
  return machine->cpus_allowed;
}

/* A kernel that does not know a package says -1 or nothing: then it is package 0. */
static uint32_t packages(const char *root, const struct rtscope_set *allowed) {
  int32_t known[RTSCOPE_MAX_CPUS], package;
  uint32_t count = 0;
  char path[128];
  RTSCOPE_EACH(cpu, allowed) {
    cpu_path(path, sizeof path, cpu, "physical_package_id");
    if (!rtscope_id_file(root, path, &package) || package < 0) package = 0;
    uint32_t twin = 0;
    while (twin < count && known[twin] != package) twin++;
    if (twin == count) known[count++] = package;
  }
  return count;
}

/* A CPU belongs to the first node that claims it; one that none claims, to node 0. */
static uint32_t numa_nodes(const char *root, const struct rtscope_set *allowed) {
  struct rtscope_set nodes, cpus, rest = *allowed;
  uint32_t count = 0;
  bool zero = false;
  rtscope_numbered(root, NODES, "node", &nodes);
  RTSCOPE_EACH(node, &nodes) {
    char path[128];
    snprintf(path, sizeof path, NODES "/node%u/cpulist", (unsigned)node);
    if (!rtscope_list_file(root, path, &cpus)) continue;
    rtscope_set_keep(&cpus, &rest);
    if (rtscope_set_empty(&cpus)) continue;
    for (size_t i = 0; i < RTSCOPE_MAX_CPUS / 64; i++) rest.words[i] &= ~cpus.words[i];
    zero = zero || node == 0;
    count++;
  }
  return count + (!rtscope_set_empty(&rest) && !zero);
}

void rtscope_read_topology(const char *root, const struct rtscope_set *allowed, struct rtscope_machine *machine) {
  machine->cores = cores(root, allowed, machine);
  machine->packages = packages(root, allowed);
  machine->numa_nodes = numa_nodes(root, allowed);
}
