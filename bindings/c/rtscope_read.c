#define _GNU_SOURCE
#include "rtscope_read.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Bytes read of one file: more than any of the kernel's has, and a bound for a tree
 * that somebody made. */
#define BYTES_MAX ((size_t)64 << 20)

bool rtscope_set_has(const struct rtscope_set *set, uint32_t number) {
  return number < RTSCOPE_MAX_CPUS && (set->words[number / 64] >> (number % 64) & 1) != 0;
}

void rtscope_set_add(struct rtscope_set *set, uint32_t number) {
  if (number < RTSCOPE_MAX_CPUS) set->words[number / 64] |= UINT64_C(1) << (number % 64);
}

void rtscope_set_keep(struct rtscope_set *set, const struct rtscope_set *other) {
  for (size_t i = 0; i < RTSCOPE_MAX_CPUS / 64; i++) set->words[i] &= other->words[i];
}

bool rtscope_set_equal(const struct rtscope_set *one, const struct rtscope_set *other) {
  return memcmp(one, other, sizeof *one) == 0;
}

bool rtscope_set_empty(const struct rtscope_set *set) {
  return rtscope_set_next(set, 0) == RTSCOPE_MAX_CPUS;
}

uint32_t rtscope_set_count(const struct rtscope_set *set) {
  uint32_t count = 0;
  for (size_t i = 0; i < RTSCOPE_MAX_CPUS / 64; i++) count += (uint32_t)__builtin_popcountll(set->words[i]);
  return count;
}

uint32_t rtscope_set_next(const struct rtscope_set *set, uint32_t number) {
  while (number < RTSCOPE_MAX_CPUS) {
    uint64_t rest = set->words[number / 64] >> (number % 64);
    if (rest != 0) return number + (uint32_t)__builtin_ctzll(rest);
    number = (number / 64 + 1) * 64;
  }
  return RTSCOPE_MAX_CPUS;
}

bool rtscope_join(char *path, size_t size, const char *const *parts) {
  size_t used = 0;
  for (; *parts != NULL; parts++) {
    size_t length = strlen(*parts);
    if (length >= size - used) return false;
    memcpy(path + used, *parts, length);
    used += length;
  }
  path[used] = 0;
  return true;
}

bool rtscope_open(struct rtscope_file *file, const char *root, const char *path) {
  char whole[2 * RTSCOPE_PATH_BYTES];
  struct stat found;
  if (!rtscope_join(whole, sizeof whole, (const char *const[]){root, path, NULL})) return false;
  do
    /* A tree from elsewhere may hold a pipe: opening it must not wait. */
    file->fd = open(whole, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  while (file->fd < 0 && errno == EINTR);
  file->at = file->filled = 0;
  file->left = BYTES_MAX;
  file->failed = false;
  if (file->fd < 0) return false;
  if (fstat(file->fd, &found) == 0 && S_ISREG(found.st_mode)) return true;
  rtscope_close(file);
  return false;
}

void rtscope_close(struct rtscope_file *file) {
  close(file->fd);
}

int rtscope_byte(struct rtscope_file *file) {
  if (file->at == file->filled) {
    size_t wanted = file->left < sizeof file->bytes ? file->left : sizeof file->bytes;
    ssize_t got;
    do
      got = read(file->fd, file->bytes, wanted);
    while (got < 0 && errno == EINTR);
    if (got < 0) file->failed = true;
    if (got <= 0) return -1;
    file->at = 0;
    file->filled = (size_t)got;
    file->left -= (size_t)got;
  }
  return (unsigned char)file->bytes[file->at++];
}

bool rtscope_line(struct rtscope_file *file, char *line, size_t size) {
  for (;;) {
    size_t used = 0;
    bool fits = true;
    int byte;
    while ((byte = rtscope_byte(file)) >= 0 && byte != '\n') {
      fits = fits && byte != 0 && used + 1 < size;
      if (fits) line[used++] = (char)byte;
    }
    line[used] = 0;
    if (fits && (byte >= 0 || used > 0)) return true;
    if (byte < 0) return false;
  }
}

bool rtscope_find(struct rtscope_file *file, const char *key) {
  size_t matched = 0, length = strlen(key);
  bool start = true;
  int byte;
  while ((byte = rtscope_byte(file)) >= 0) {
    if (start && matched == length && (byte == ':' || byte == ' ')) return true;
    start = byte == '\n' || (start && matched < length && byte == key[matched]);
    matched = byte == '\n' ? 0 : matched + 1;
  }
  return false;
}

static bool blank(int byte) {
  return byte == ' ' || (byte >= '\t' && byte <= '\r');
}

bool rtscope_text(const char *root, const char *path, char *text, size_t size) {
  struct rtscope_file file;
  if (!rtscope_open(&file, root, path)) return false;
  size_t used = 0;
  bool fits = true;
  int byte;
  while (fits && (byte = rtscope_byte(&file)) >= 0) {
    if (used == 0 && blank(byte)) continue;
    fits = byte != 0 && used + 1 < size;
    if (fits) text[used++] = (char)byte;
  }
  rtscope_close(&file);
  while (used > 0 && blank((unsigned char)text[used - 1])) used--;
  text[used] = 0;
  return fits && !file.failed;
}

static mode_t kind(const char *root, const char *path) {
  struct stat found;
  char whole[2 * RTSCOPE_PATH_BYTES];
  if (!rtscope_join(whole, sizeof whole, (const char *const[]){root, path, NULL})) return 0;
  /* What is mounted at the root has no name behind it. */
  return stat(whole[0] == 0 ? "/" : whole, &found) == 0 ? found.st_mode & S_IFMT : 0;
}

bool rtscope_is_file(const char *root, const char *path) {
  return kind(root, path) == S_IFREG;
}

bool rtscope_is_folder(const char *root, const char *path) {
  return kind(root, path) == S_IFDIR;
}

bool rtscope_number(const char *text, uint64_t *number) {
  uint64_t value = 0;
  if (*text == 0) return false;
  for (; *text != 0; text++) {
    if (*text < '0' || *text > '9') return false;
    uint64_t digit = (uint64_t)(*text - '0');
    if (value > (UINT64_MAX - digit) / 10) return false;
    value = value * 10 + digit;
  }
  *number = value;
  return true;
}

bool rtscope_id_file(const char *root, const char *path, int32_t *id) {
  char text[64];
  uint64_t number;
  if (!rtscope_text(root, path, text, sizeof text)) return false;
  bool negative = text[0] == '-';
  if (!rtscope_number(text + negative, &number) || number > INT32_MAX) return false;
  *id = negative ? -(int32_t)number : (int32_t)number;
  return true;
}

bool rtscope_field(const char *root, const char *path, const char *key, uint64_t *number) {
  struct rtscope_file file;
  char digits[24];
  size_t used = 0;
  if (!rtscope_open(&file, root, path)) return false;
  bool found = rtscope_find(&file, key);
  int byte;
  while (found && (byte = rtscope_byte(&file)) >= 0 && byte != '\n') {
    if (blank(byte) && used == 0) continue;
    if (blank(byte)) break;
    found = used + 1 < sizeof digits;
    if (found) digits[used++] = (char)byte;
  }
  digits[used] = 0;
  rtscope_close(&file);
  return found && rtscope_number(digits, number);
}

/* `7` or `0-3`. */
static bool add_part(char *part, struct rtscope_set *set) {
  uint64_t from, to;
  char *dash = strchr(part, '-');
  if (dash != NULL) *dash = 0;
  if (!rtscope_number(part, &from)) return false;
  to = from;
  if (dash != NULL && !rtscope_number(dash + 1, &to)) return false;
  if (from > to || to >= RTSCOPE_MAX_CPUS) return false;
  for (; from <= to; from++) rtscope_set_add(set, (uint32_t)from);
  return true;
}

bool rtscope_list(struct rtscope_file *file, bool line, struct rtscope_set *set) {
  /* Two numbers and a dash: what is longer is no part. */
  char part[48];
  size_t used = 0;
  bool good = true, over = false, first = true;
  memset(set, 0, sizeof *set);
  while (good) {
    int byte = rtscope_byte(file);
    bool ends = byte < 0 || (line && byte == '\n');
    if (ends || byte == ',') {
      part[used] = 0;
      /* Nothing at all is an empty list; nothing between two commas is none. */
      good = (ends && first && used == 0) || add_part(part, set);
      if (ends) break;
      used = 0;
      over = first = false;
    } else if (blank(byte)) {
      over = used > 0;
    } else {
      /* `1 2` is not twelve. */
      good = byte != 0 && !over && used + 1 < sizeof part;
      if (good) part[used++] = (char)byte;
    }
  }
  return good && !file->failed;
}

bool rtscope_list_file(const char *root, const char *path, struct rtscope_set *set) {
  struct rtscope_file file;
  memset(set, 0, sizeof *set);
  if (!rtscope_open(&file, root, path)) return false;
  bool good = rtscope_list(&file, false, set);
  rtscope_close(&file);
  return good;
}

static int hex(int byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  if (byte >= 'a' && byte <= 'f') return byte - 'a' + 10;
  return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

bool rtscope_mask(struct rtscope_file *file, struct rtscope_set *set) {
  uint32_t groups[RTSCOPE_MAX_CPUS / 32], bits = 0;
  size_t count = 0, digits = 0;
  bool over = false;
  memset(set, 0, sizeof *set);
  for (;;) {
    int byte = rtscope_byte(file);
    bool ends = byte < 0 || byte == '\n';
    if (ends || byte == ',') {
      if (digits == 0 || count == RTSCOPE_MAX_CPUS / 32) return false;
      groups[count++] = bits;
      if (ends) break;
      bits = 0;
      digits = 0;
    } else if (blank(byte) && (digits > 0 || count == 0)) {
      over = digits > 0;
    } else {
      if (hex(byte) < 0 || over || ++digits > 8) return false;
      bits = bits << 4 | (uint32_t)hex(byte);
    }
  }
  /* The highest group comes first. */
  for (size_t i = 0; i < count; i++)
    for (uint32_t bit = 0; bit < 32; bit++)
      if ((groups[count - 1 - i] >> bit & 1) != 0) rtscope_set_add(set, (uint32_t)i * 32 + bit);
  return true;
}

bool rtscope_numbered(const char *root, const char *path, const char *prefix, struct rtscope_set *set) {
  char whole[2 * RTSCOPE_PATH_BYTES];
  size_t length = strlen(prefix);
  struct dirent *entry;
  uint64_t number;
  memset(set, 0, sizeof *set);
  if (!rtscope_join(whole, sizeof whole, (const char *const[]){root, path, NULL})) return false;
  DIR *folder = opendir(whole);
  if (folder == NULL) return false;
  while ((entry = readdir(folder)) != NULL)
    if (strncmp(entry->d_name, prefix, length) == 0 && rtscope_number(entry->d_name + length, &number) &&
        number < RTSCOPE_MAX_CPUS)
      rtscope_set_add(set, (uint32_t)number);
  closedir(folder);
  return true;
}
