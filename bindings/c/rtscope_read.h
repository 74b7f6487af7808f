/* Small files of the kernel, read in pieces: lines, numbers, lists of CPUs. Owns a
 * descriptor and its buffer; refuses to know what a file means. For this folder only:
 * rtscope_plan.h is what others include. */
#ifndef RTSCOPE_READ_H
#define RTSCOPE_READ_H

#include "rtscope_plan.h"

/* A set of CPUs, or of other small numbers. */
struct rtscope_set {
  uint64_t words[RTSCOPE_MAX_CPUS / 64];
};

bool rtscope_set_has(const struct rtscope_set *set, uint32_t number);
void rtscope_set_add(struct rtscope_set *set, uint32_t number);
void rtscope_set_keep(struct rtscope_set *set, const struct rtscope_set *other);
bool rtscope_set_equal(const struct rtscope_set *one, const struct rtscope_set *other);
bool rtscope_set_empty(const struct rtscope_set *set);
uint32_t rtscope_set_count(const struct rtscope_set *set);
/* Next number from `number` on, or RTSCOPE_MAX_CPUS. */
uint32_t rtscope_set_next(const struct rtscope_set *set, uint32_t number);

#define RTSCOPE_EACH(number, set)                                                       \
  for (uint32_t number = rtscope_set_next((set), 0); number < RTSCOPE_MAX_CPUS;         \
       number = rtscope_set_next((set), number + 1))

/* An open file. */
struct rtscope_file {
  int fd;
  bool failed; /* reading ended with an error, not at the end */
  size_t at, filled, left;
  char bytes[2048];
};

/* Opens an ordinary file, `path` below `root`; a path that does not fit is not there. */
bool rtscope_open(struct rtscope_file *file, const char *root, const char *path);
void rtscope_close(struct rtscope_file *file);
/* Next byte, or -1 at the end. */
int rtscope_byte(struct rtscope_file *file);
/* Next line that fits, without its end; longer ones and such with zeros are passed over. */
bool rtscope_line(struct rtscope_file *file, char *line, size_t size);
/* Goes on behind `KEY:` or `KEY ` at the start of a line. */
bool rtscope_find(struct rtscope_file *file, const char *key);

/* Whole text of a short file, trimmed, with a zero; false where it is not there or longer. */
bool rtscope_text(const char *root, const char *path, char *text, size_t size);
bool rtscope_is_file(const char *root, const char *path);
bool rtscope_is_folder(const char *root, const char *path);

/* Digits only, the whole text. */
bool rtscope_number(const char *text, uint64_t *number);
/* A file that holds one number, perhaps a negative one, of 32 bits. */
bool rtscope_id_file(const char *root, const char *path, int32_t *id);
/* The first number behind KEY in a file of such lines. */
bool rtscope_field(const char *root, const char *path, const char *key, uint64_t *number);

/* A list such as `0-3,8`, up to the end of the line or of the file; false where any part
 * of it is none. */
bool rtscope_list(struct rtscope_file *file, bool line, struct rtscope_set *set);
bool rtscope_list_file(const char *root, const char *path, struct rtscope_set *set);
/* A mask such as `ff,00000001`, up to the end of the line. */
bool rtscope_mask(struct rtscope_file *file, struct rtscope_set *set);

/* Numbers N of what is called `PREFIXN` in a folder. */
bool rtscope_numbered(const char *root, const char *path, const char *prefix, struct rtscope_set *set);

/* Joins the parts, NULL behind the last; false where they do not fit. */
bool rtscope_join(char *path, size_t size, const char *const *parts);

/* Cores, packages and nodes of the CPUs that are allowed. */
void rtscope_read_topology(const char *root, const struct rtscope_set *allowed, struct rtscope_machine *machine);
/* Quota and memory limit of control groups, and whether any are hidden. */
void rtscope_read_groups(const char *root, struct rtscope_machine *machine);

#endif
