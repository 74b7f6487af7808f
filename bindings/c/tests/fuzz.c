/* fuzz ROOT SEED ROUNDS: writes files of a machine with broken, extreme and random
 * contents below ROOT, reads them, plans, and checks what must hold of any answer.
 * Built with sanitizers, which find what it does not. */
#include "../rtscope_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *const files[] = {
    "/proc/self/status",
    "/proc/self/cgroup",
    "/proc/self/mountinfo",
    "/proc/meminfo",
    "/sys/devices/system/cpu/online",
    "/sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "/sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu0/topology/core_id",
    "/sys/devices/system/cpu/cpu1/topology/core_cpus_list",
    "/sys/devices/system/cpu/cpu1/topology/thread_siblings_list",
    "/sys/devices/system/cpu/cpu1/topology/physical_package_id",
    "/sys/devices/system/cpu/cpu1/topology/core_id",
    "/sys/devices/system/node/node0/cpulist",
    "/sys/devices/system/node/node1/cpulist",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/cpu.max",
    "/sys/fs/cgroup/a/cpu.max",
    "/sys/fs/cgroup/a/memory.max",
    "/sys/fs/cgroup/a/b/cpu.max",
    "/sys/fs/cgroup/a/b/memory.high",
    "/sys/fs/cgroup/a/b/cgroup.procs",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
    "/sys/fs/cgroup/cpu/a/cpu.cfs_period_us",
    "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
    "/sys/fs/cgroup/memory/a/memory.stat",
};

/* Pieces of which such files are made, good and bad. */
static const char *const pieces[] = {
    "0-3", "0", "1", "0-1", "0,2", "0-8191", "0-4294967295", "18446744073709551616", "-1", "max", "max 100000",
    "50000 100000", "0 0", "1 0", "18446744073709551615 1", "1 18446744073709551615", "250000", "100000", ",", "-",
    " ", "\n", "\t", ":", "::", "/", "/..", "/../..", "//", "/a", "/a/b", "/a/b/", "\\040", "\\134", "Cpus_allowed:\t3",
    "Cpus_allowed_list:\t0-1", "Cpus_allowed_list:", "Cpus_allowed:\tffffffff,ffffffff\n", "Pid:\t7", "Pid:\t", "7\n",
    "0::/a/b\n", "0::/\n", "0::/../x\n", "3:cpu,cpuacct:/a\n", "4:memory:/a (deleted)\n", "1:cpu:/a/b\n",
    "30 25 0:26 / /sys/fs/cgroup rw - cgroup2 c rw\n", "30 25 0:26 /../.. /sys/fs/cgroup rw - cgroup2 c rw\n",
    "30 25 0:26 /a /sys/fs/cgroup/a rw - cgroup2 c rw\n", "31 25 0:27 / /sys/fs/cgroup/cpu rw - cgroup c rw,cpu\n",
    "32 25 0:28 / /sys/fs/cgroup/memory rw - cgroup c rw,memory\n", "30 25 0:26 / / rw - cgroup2 c rw\n", " - cgroup2",
    "MemTotal:", "MemTotal:  2048 kB\n", "MemTotal: 99999999999999999999 kB\n", "hierarchical_memory_limit 4096\n",
    "9223372036854771712", "\xff\xfe", "\x80",
};

static uint64_t state;

static uint32_t below(uint32_t limit) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return (uint32_t)(state >> 32) % limit;
}

static void make_folders(char *path) {
  for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = 0;
    mkdir(path, 0755);
    *slash = '/';
  }
}

static void write_some(FILE *file) {
  for (uint32_t more = below(8); more > 0; more--) {
    uint32_t kind = below(40);
    if (kind == 0)
      for (uint32_t bytes = below(64); bytes > 0; bytes--) fputc((int)below(256), file);
    else if (kind == 1)
      for (uint32_t bytes = below(20000); bytes > 0; bytes--) fputc('/', file);
    else
      fputs(pieces[below(sizeof pieces / sizeof *pieces)], file);
  }
}

static void demand(bool holds, const char *what, uint64_t round) {
  if (holds) return;
  fprintf(stderr, "round %llu: %s\n", (unsigned long long)round, what);
  abort();
}

static void check(const char *root, uint64_t round) {
  static struct rtscope_machine machine;
  struct rtscope_plan plan;
  char text[512];
  rtscope_read_machine(root, &machine);
  demand(machine.cores <= machine.cpus_allowed, "more cores than CPUs", round);
  demand(machine.cpus_allowed <= RTSCOPE_MAX_CPUS, "more CPUs than there can be", round);
  demand((machine.cores > 0) == (machine.cpus_allowed > 0), "CPUs without a core", round);
  demand(machine.packages <= machine.cpus_allowed && machine.numa_nodes <= machine.cpus_allowed, "places", round);
  demand(!machine.quota_set || machine.quota_cpus > 0, "a quota of nothing", round);
  demand(!machine.memory_known || machine.memory_limit_bytes > 0, "no memory at all", round);
  uint32_t most = machine.cpus_allowed > 0 ? machine.cpus_allowed : 1;
  for (int goal = 0; goal < 3; goal++) {
    rtscope_make_plan(&machine, (enum rtscope_goal)goal, (uint32_t[]){0, 900, 910}[round % 3], &plan);
    demand(plan.workers >= 1 && plan.workers <= most, "workers", round);
    demand(plan.gc_threads >= 1 && plan.gc_threads <= plan.workers, "collectors", round);
    demand(plan.nursery_bytes >= 1 << 20 && plan.nursery_bytes <= 64 << 20, "nursery", round);
    demand(plan.minor_words >= 32 << 10 && plan.minor_words <= 8 << 20, "minor heap", round);
    uint32_t parts = RTSCOPE_PART_MACHINE | RTSCOPE_PART_GHC | RTSCOPE_PART_OCAML;
    size_t size = below(sizeof text) + 1;
    size_t whole = rtscope_write_plan(&machine, &plan, parts, text, size);
    demand(strlen(text) == (whole < size ? whole : size - 1), "a text of another length", round);
  }
}

int main(int argc, char **argv) {
  if (argc != 4) return 2;
  state = strtoull(argv[2], NULL, 10) | 1;
  uint64_t rounds = strtoull(argv[3], NULL, 10);
  for (uint64_t round = 0; round < rounds; round++) {
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
      char path[4096];
      if (round > 0 && below(4) > 0) continue;
      snprintf(path, sizeof path, "%s%s", argv[1], files[i]);
      if (below(8) == 0) {
        remove(path);
        continue;
      }
      make_folders(path);
      FILE *file = fopen(path, "w");
      if (file == NULL) return 1;
      write_some(file);
      fclose(file);
    }
    check(argv[1], round);
  }
  printf("%llu rounds\n", (unsigned long long)rounds);
  return 0;
}
