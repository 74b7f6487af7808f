/* The least that reading an eventlog can cost: map it, walk every event by the
 * sizes of its header, count by type. Prints `type count` lines. A yardstick for
 * `make bench`, on whole logs only: it trusts every length. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { ipe = 169, types = 65536 };

static unsigned u16(const uint8_t *p) { return p[0] << 8 | p[1]; }
static uint32_t u32(const uint8_t *p) { return (uint32_t)u16(p) << 16 | u16(p + 2); }

int main(int argc, char **argv) {
  static uint16_t size[types];
  static uint64_t count[types];
  struct stat st;
  int fd = argc == 2 ? open(argv[1], O_RDONLY) : -1;
  if (fd < 0 || fstat(fd, &st) != 0 || st.st_size < 16) {
    fprintf(stderr, "usage: walk LOG\n");
    return 2;
  }
  const uint8_t *log = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  if (log == MAP_FAILED || memcmp(log, "hdrbhetb", 8) != 0) {
    fprintf(stderr, "%s is no eventlog\n", argv[1]);
    return 1;
  }
  const uint8_t *p = log + 8, *end = log + st.st_size;
  while (memcmp(p, "etb\0", 4) == 0) {
    size[u16(p + 4)] = u16(p + 6);
    p += 8;
    p += 4 + u32(p);
    p += 4 + u32(p) + 4;
  }
  p += 12; /* hete hdre datb */
  while (end - p >= 10) {
    unsigned tag = u16(p);
    if (tag == 0xffff) break;
    count[tag]++;
    if (tag == ipe) { /* its length is wrong in 9.6 and 9.10: six strings */
      p += 20;
      for (int strings = 0; strings < 6; p++) strings += *p == 0;
    } else if (size[tag] == 0xffff) {
      p += 12 + u16(p + 10);
    } else {
      p += 10 + size[tag];
    }
  }
  for (int tag = 0; tag < types; tag++)
    if (count[tag]) printf("%d %llu\n", tag, (unsigned long long)count[tag]);
  return 0;
}
