/* Where control groups are mounted, which group this process is in by name, and where
 * a mount shows that group. Names are relative to a cgroup namespace, which can hide
 * where they are: then the process is looked for by its number. Refuses to read
 * limits. */
#define _GNU_SOURCE
#include "rtscope_mounts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Lines of mountinfo hold two paths and the options of a layered file system. */
#define LINE_BYTES 16384
/* Groups looked at for a process whose group has no name here, and levels of them. */
#define SEARCHED_MAX 20000
#define DEPTH_MAX 64

/* A mounted hierarchy. */
struct mount {
  char root[RTSCOPE_PATH_BYTES];
  char point[RTSCOPE_PATH_BYTES];
};

/* The next word, ended by a single blank, as the kernel writes them. */
static char *word(char **rest) {
  char *start = *rest;
  if (start == NULL) return NULL;
  char *end = strchr(start, ' ');
  if (end != NULL) *end++ = 0;
  *rest = end;
  return start;
}

/* mountinfo writes blanks as `\040`. */
static bool unescape(const char *text, char *path) {
  static const char *const codes[] = {"\\040", "\\011", "\\012", "\\134"};
  static const char bytes[] = " \t\n\\";
  size_t used = 0;
  while (*text != 0) {
    char byte = *text;
    size_t length = 1;
    for (int i = 0; i < 4; i++)
      if (strncmp(text, codes[i], 4) == 0) byte = bytes[i], length = 4;
    if (used + 1 >= RTSCOPE_PATH_BYTES) return false;
    path[used++] = byte;
    text += length;
  }
  path[used] = 0;
  return true;
}

static bool listed(const char *list, const char *name) {
  size_t length = strlen(name);
  while (list != NULL) {
    if (strncmp(list, name, length) == 0 && (list[length] == 0 || list[length] == ',')) return true;
    list = strchr(list, ',');
    if (list != NULL) list++;
  }
  return false;
}

/* `36 25 0:31 /root /mount/point rw shared:1 - cgroup2 cgroup rw`, where it is v2 or
 * v1 with `controller`. */
static bool parse_mount(char *line, int version, const char *controller, struct mount *mount) {
  char *right = strstr(line, " - ");
  if (right == NULL) return false;
  *right = 0;
  right += 3;
  for (int skipped = 0; skipped < 3; skipped++) word(&line);
  char *root = word(&line), *point = word(&line), *type = word(&right);
  word(&right);
  char *options = word(&right);
  if (root == NULL || point == NULL) return false;
  bool wanted = version == 2 ? strcmp(type, "cgroup2") == 0
                             : strcmp(type, "cgroup") == 0 && options != NULL && listed(options, controller);
  if (!wanted || !unescape(root, mount->root) || !unescape(point, mount->point)) return false;
  size_t length = strlen(mount->point);
  while (length > 0 && mount->point[length - 1] == '/') mount->point[--length] = 0;
  return true;
}

/* Leading `/..` of a name; `name` becomes the rest of it, without a slash before it. */
static size_t upward(const char **name) {
  size_t ups = 0;
  for (;;) {
    *name += strspn(*name, "/");
    if (strncmp(*name, "..", 2) != 0 || ((*name)[2] != 0 && (*name)[2] != '/')) return ups;
    *name += 2;
    ups++;
  }
}

/* Where a group is, by its name. */
enum place { AT, BELOW, ELSEWHERE };

/* Both names are relative to the reader's namespace: where both climb out of it equally
 * far, what they pass through is the same. */
static enum place place(const char *mounted, const char *group, const char **inside) {
  size_t mount_ups = upward(&mounted), group_ups = upward(&group), length = strlen(mounted);
  while (length > 0 && mounted[length - 1] == '/') length--;
  if (mount_ups > group_ups && length == 0) return BELOW;
  if (mount_ups != group_ups || strncmp(group, mounted, length) != 0) return ELSEWHERE;
  group += length;
  if (length > 0 && *group != 0 && *group != '/') return ELSEWHERE;
  *inside = group + strspn(group, "/");
  return AT;
}

static bool has(const char *root, const char *folder, const char *name) {
  char path[2 * RTSCOPE_PATH_BYTES];
  return rtscope_join(path, sizeof path, (const char *const[]){folder, "/", name, NULL}) &&
         rtscope_is_file(root, path);
}

/* Whether files show that what is mounted is not the hierarchy's root, though its name
 * here says so: the kernel gives some only to other groups, some only to the root. */
static bool not_the_root(const char *root, const char *point, int version) {
  static const char *const below_v2[] = {"cgroup.events", "cgroup.type", "cgroup.freeze",
                                         "cpu.max",       "memory.max",  "memory.current"};
  bool shown = false;
  if (version == 1)
    return has(root, point, "cgroup.procs") && !has(root, point, "cgroup.sane_behavior") &&
           !has(root, point, "release_agent");
  for (size_t i = 0; i < sizeof below_v2 / sizeof *below_v2 && !shown; i++) shown = has(root, point, below_v2[i]);
  return shown;
}

/* A search for a process in every group below a mount. */
struct search {
  const char *root;
  uint64_t pid;
  int groups_left;
  char path[2 * RTSCOPE_PATH_BYTES]; /* the root, the mount and the group that is looked at */
};

/* Whether the group at `search->path` has the process. A threaded group keeps the list
 * of its processes to itself. */
static bool holds(struct search *search) {
  static const char *const names[] = {"/cgroup.procs", "/cgroup.threads"};
  for (int i = 0; i < 2; i++) {
    char path[2 * RTSCOPE_PATH_BYTES], line[32];
    struct rtscope_file file;
    uint64_t pid;
    bool found = false;
    if (!rtscope_join(path, sizeof path, (const char *const[]){search->path, names[i], NULL}) ||
        !rtscope_open(&file, "", path))
      continue;
    while (!found && rtscope_line(&file, line, sizeof line)) {
      char *digits = line + strspn(line, " \t\r");
      digits[strcspn(digits, " \t\r")] = 0;
      found = rtscope_number(digits, &pid) && pid == search->pid;
    }
    rtscope_close(&file);
    if (found) return true;
    if (!file.failed) return false;
  }
  return false;
}

static int may_be_folder(const struct dirent *entry) {
  return entry->d_name[0] != '.' && (entry->d_type == DT_DIR || entry->d_type == DT_UNKNOWN);
}

static int by_name(const struct dirent **one, const struct dirent **other) {
  return strcmp((*one)->d_name, (*other)->d_name);
}

/* Depth first, by name; leaves the path of the group that holds the process. */
static bool descend(struct search *search, int depth) {
  struct dirent **entries;
  struct stat found_there;
  size_t length = strlen(search->path);
  bool found = false;
  if (search->groups_left-- <= 0) return false;
  if (holds(search)) return true;
  int count = depth < DEPTH_MAX ? scandir(search->path, &entries, may_be_folder, by_name) : -1;
  if (count < 0) return false;
  for (int i = 0; i < count; i++) {
    const char *name = entries[i]->d_name;
    size_t more = strlen(name);
    if (!found && length + more + 2 <= sizeof search->path) {
      search->path[length] = '/';
      memcpy(search->path + length + 1, name, more + 1);
      found = lstat(search->path, &found_there) == 0 && S_ISDIR(found_there.st_mode) && descend(search, depth + 1);
      if (!found) search->path[length] = 0;
    }
    free(entries[i]);
  }
  free(entries);
  return found;
}

/* Looks through every group below `point` for this process. */
static bool find_process(const char *root, const char *point, char *leaf) {
  struct search search = {.root = root, .groups_left = SEARCHED_MAX};
  /* Its number where these groups are mounted, which a namespace of pids may change. */
  if (!rtscope_field(root, "/proc/self/status", "Pid", &search.pid)) return false;
  if (!rtscope_join(search.path, sizeof search.path, (const char *const[]){root, point, NULL})) return false;
  size_t top = strlen(search.path);
  if (!descend(&search, 0)) return false;
  const char *inside = search.path + top;
  return rtscope_join(leaf, RTSCOPE_PATH_BYTES, (const char *const[]){inside + strspn(inside, "/"), NULL});
}

/* How far `mount` shows `group`. */
static void look(const char *root, int version, const struct mount *mount, const char *group,
                 struct rtscope_seen *seen) {
  const char *mounted = mount->root, *inside = "", *rest = group;
  enum place where = place(mount->root, group, &inside);
  upward(&mounted);
  memset(seen, 0, sizeof *seen);
  strcpy(seen->point, mount->point);
  seen->version = version;
  seen->root_length = strlen(mount->root);
  seen->hidden = *mounted != 0 || not_the_root(root, mount->point, version);
  seen->covers = seen->named = true;
  if (where == AT)
    strcpy(seen->leaf, inside);
  else if (!find_process(root, mount->point, seen->leaf)) {
    seen->leaf[0] = 0;
    seen->hidden = true;
    seen->named = false;
    /* The mount can belong to the process under another name: containers do this. */
    seen->covers = where == BELOW || upward(&rest) == 0;
  }
}

/* One hierarchy can be mounted in several places: what hides least is best. */
static bool better(const struct rtscope_seen *one, const struct rtscope_seen *other) {
  if (one->hidden != other->hidden) return !one->hidden;
  if (one->named != other->named) return one->named;
  if (one->covers != other->covers) return one->covers;
  return one->root_length < other->root_length;
}

static enum rtscope_hierarchy best_mount(const char *root, int version, const char *controller, const char *group,
                                         struct rtscope_seen *seen) {
  struct rtscope_file file;
  struct rtscope_seen other;
  struct mount mount;
  char line[LINE_BYTES];
  bool found = false;
  if (!rtscope_open(&file, root, "/proc/self/mountinfo")) return RTSCOPE_NOT_MOUNTED;
  while (rtscope_line(&file, line, sizeof line)) {
    if (!parse_mount(line, version, controller, &mount)) continue;
    look(root, version, &mount, group, &other);
    if (!found || better(&other, seen)) *seen = other;
    found = true;
  }
  rtscope_close(&file);
  return found ? RTSCOPE_SHOWN : RTSCOPE_NOT_MOUNTED;
}

enum rtscope_hierarchy rtscope_find_hierarchy(const char *root, const char *controller, struct rtscope_seen *seen) {
  static const char deleted[] = " (deleted)";
  struct rtscope_file file;
  char line[RTSCOPE_PATH_BYTES + 256], group[RTSCOPE_PATH_BYTES];
  int version = 0;
  if (!rtscope_open(&file, root, "/proc/self/cgroup")) return RTSCOPE_NO_HIERARCHY;
  /* `3:cpu,cpuacct:/path`; of a group that was removed the kernel says so behind it. */
  while (version != 1 && rtscope_line(&file, line, sizeof line)) {
    char *names = strchr(line, ':');
    char *path = names == NULL ? NULL : strchr(names + 1, ':');
    if (path == NULL || path[1] != '/' || strlen(path + 1) >= sizeof group) continue;
    *names++ = 0;
    *path++ = 0;
    size_t length = strlen(path), more = sizeof deleted - 1;
    if (length > more && strcmp(path + length - more, deleted) == 0) path[length - more] = 0;
    bool v1 = listed(names, controller);
    if (!v1 && (version == 2 || *names != 0 || strcmp(line, "0") != 0)) continue;
    strcpy(group, path);
    version = v1 ? 1 : 2;
  }
  rtscope_close(&file);
  return version == 0 ? RTSCOPE_NO_HIERARCHY : best_mount(root, version, controller, group, seen);
}
