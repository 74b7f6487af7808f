/* Where control groups are mounted, and where a mount shows the group of this process.
 * For this folder only. */
#ifndef RTSCOPE_MOUNTS_H
#define RTSCOPE_MOUNTS_H

#include "rtscope_read.h"

/* How far a mount shows the group of a process. */
struct rtscope_seen {
  char point[RTSCOPE_PATH_BYTES]; /* where it is mounted, without a slash at the end */
  char leaf[RTSCOPE_PATH_BYTES];  /* the group below it, without a slash before it */
  int version;                    /* 1 or 2 */
  bool covers;                    /* the levels from `leaf` up cover the process */
  bool named;                     /* it is known where the process is */
  bool hidden;                    /* there are or may be levels that are not shown */
  size_t root_length;             /* of the name of what is mounted */
};

/* What became of a controller. */
enum rtscope_hierarchy { RTSCOPE_SHOWN, RTSCOPE_NOT_MOUNTED, RTSCOPE_NO_HIERARCHY };

/* The hierarchy of `controller` for this process, as far as the best mount shows it. A
 * v1 controller beats v2: it is in one of them only. */
enum rtscope_hierarchy rtscope_find_hierarchy(const char *root, const char *controller, struct rtscope_seen *seen);

#endif
