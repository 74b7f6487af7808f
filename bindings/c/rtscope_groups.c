/* What the control groups of this process limit: the smallest quota and the smallest
 * memory limit of every level that is visible. Values that no kernel sets are taken as
 * no limit. Refuses to know where groups are. */
#include "rtscope_mounts.h"

#include <string.h>

/* From this on it is v1's way to say that there is no limit. */
#define NO_LIMIT (UINT64_C(1) << 60)

/* A file of one level. */
static bool level_text(const char *root, const char *folder, const char *name, char *text, size_t size) {
  char path[2 * RTSCOPE_PATH_BYTES];
  return rtscope_join(path, sizeof path, (const char *const[]){folder, "/", name, NULL}) &&
         rtscope_text(root, path, text, size);
}

static void remember(char *path, const char *folder, const char *name) {
  if (!rtscope_join(path, RTSCOPE_PATH_BYTES, (const char *const[]){folder, "/", name, NULL})) path[0] = 0;
}

static void offer_quota(const char *quota, const char *period, const char *folder, const char *name,
                        struct rtscope_machine *machine) {
  uint64_t quota_us, period_us;
  if (!rtscope_number(quota, &quota_us) || !rtscope_number(period, &period_us) || quota_us == 0 || period_us == 0) {
    machine->notes |= RTSCOPE_NOTE_BAD_LIMIT;
    return;
  }
  double cpus = (double)quota_us / (double)period_us;
  if (machine->quota_set && machine->quota_cpus <= cpus) return;
  machine->quota_set = true;
  machine->quota_cpus = cpus;
  remember(machine->quota_path, folder, name);
}

/* `50000 100000`, or `max 100000`. */
static void quota_v2(const char *root, const char *folder, struct rtscope_machine *machine) {
  static const char blanks[] = " \t\n\r\f";
  char text[128];
  if (!level_text(root, folder, "cpu.max", text, sizeof text)) return;
  char *period = text + strcspn(text, blanks);
  if (*period != 0) *period++ = 0;
  period += strspn(period, blanks);
  if (strcmp(text, "max") != 0) offer_quota(text, period, folder, "cpu.max", machine);
}

static void quota_v1(const char *root, const char *folder, struct rtscope_machine *machine) {
  static const char name[] = "cpu.cfs_quota_us";
  char quota[64], period[64] = "";
  if (!level_text(root, folder, name, quota, sizeof quota) || strcmp(quota, "-1") == 0) return;
  if (!level_text(root, folder, "cpu.cfs_period_us", period, sizeof period)) period[0] = 0;
  offer_quota(quota, period, folder, name, machine);
}

static void offer_memory(uint64_t bytes, const char *folder, const char *name, struct rtscope_machine *machine) {
  if (bytes >= NO_LIMIT || (machine->memory_known && machine->memory_limit_bytes <= bytes)) return;
  machine->memory_known = machine->memory_limited = true;
  machine->memory_limit_bytes = bytes;
  remember(machine->memory_limit_path, folder, name);
}

static void memory(const char *root, const char *folder, const char *name, struct rtscope_machine *machine) {
  char text[64];
  uint64_t bytes;
  if (!level_text(root, folder, name, text, sizeof text) || strcmp(text, "max") == 0) return;
  if (rtscope_number(text, &bytes) && bytes > 0)
    offer_memory(bytes, folder, name, machine);
  else
    machine->notes |= RTSCOPE_NOTE_BAD_LIMIT;
}

static void read_level(const char *root, const struct rtscope_seen *seen, const char *folder,
                       struct rtscope_machine *machine) {
  if (seen->version == 2) {
    quota_v2(root, folder, machine);
    memory(root, folder, "memory.max", machine);
    memory(root, folder, "memory.high", machine);
  } else {
    quota_v1(root, folder, machine);
    memory(root, folder, "memory.limit_in_bytes", machine);
  }
}

/* The limit that the kernel says holds in a v1 group for all its ancestors, those that
 * cannot be seen included. */
static void effective_memory(const char *root, const char *folder, struct rtscope_machine *machine) {
  char path[2 * RTSCOPE_PATH_BYTES];
  uint64_t bytes;
  if (rtscope_join(path, sizeof path, (const char *const[]){folder, "/memory.stat", NULL}) &&
      rtscope_field(root, path, "hierarchical_memory_limit", &bytes) && bytes > 0)
    offer_memory(bytes, folder, "memory.stat", machine);
}

/* Reads every level from the process's own group up to what is mounted. */
static void climb(const char *root, const struct rtscope_seen *seen, bool effective,
                  struct rtscope_machine *machine) {
  char folder[2 * RTSCOPE_PATH_BYTES + 2], leaf[2 * RTSCOPE_PATH_BYTES + 2];
  size_t top = strlen(seen->point);
  const char *slash = seen->leaf[0] == 0 ? "" : "/";
  if (!rtscope_join(folder, sizeof folder, (const char *const[]){seen->point, slash, seen->leaf, NULL})) return;
  strcpy(leaf, folder);
  if (!rtscope_is_folder(root, leaf)) {
    machine->notes |= RTSCOPE_NOTE_NO_LEAF;
    machine->ancestors_hidden = machine->ancestors_hidden || !rtscope_is_folder(root, seen->point);
  }
  for (;;) {
    size_t length = strlen(folder);
    while (length > top && folder[length - 1] == '/') folder[--length] = 0;
    read_level(root, seen, folder, machine);
    if (length <= top) break;
    *strrchr(folder, '/') = 0;
  }
  if (effective) effective_memory(root, leaf, machine);
}

void rtscope_read_groups(const char *root, struct rtscope_machine *machine) {
  static const char *const controllers[] = {"cpu", "memory"};
  struct rtscope_seen seen;
  bool any = false;
  for (int i = 0; i < 2; i++) {
    enum rtscope_hierarchy found = rtscope_find_hierarchy(root, controllers[i], &seen);
    if (found == RTSCOPE_NOT_MOUNTED) {
      machine->notes |= RTSCOPE_NOTE_NOT_MOUNTED;
      machine->ancestors_hidden = true;
    }
    if (found != RTSCOPE_SHOWN) continue;
    any = true;
    machine->ancestors_hidden = machine->ancestors_hidden || seen.hidden;
    if (seen.covers) climb(root, &seen, i == 1 && seen.version == 1, machine);
  }
  if (any) return;
  machine->notes |= RTSCOPE_NOTE_NO_GROUPS;
  struct rtscope_file file;
  /* A kernel without control groups has no such list, and hides none. */
  if (rtscope_open(&file, root, "/proc/self/cgroup")) {
    int byte;
    while ((byte = rtscope_byte(&file)) == '\n' || byte == ' ') continue;
    machine->ancestors_hidden = machine->ancestors_hidden || byte >= 0;
    rtscope_close(&file);
  }
}
