/* show ROOT GOAL [--text]: what a tree of /proc and /sys gives a process, and the plan
 * for a GHC of unknown version and for OCaml, as one JSON object, or in sentences.
 * `-` as ROOT is this machine and this process.
 *
 *     cc -std=c11 -o show tests/show.c rtscope_*.c
 */
#include "../rtscope_plan.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  static struct rtscope_machine machine;
  struct rtscope_plan plan;
  enum rtscope_goal goal;
  if (argc < 3 || !rtscope_goal_named(argv[2], &goal)) {
    fprintf(stderr, "usage: show ROOT|- latency|throughput|memory [--text]\n");
    return 2;
  }
  rtscope_read_machine(strcmp(argv[1], "-") == 0 ? NULL : argv[1], &machine);
  rtscope_make_plan(&machine, goal, 0, &plan);
  if (argc > 3 && strcmp(argv[3], "--text") == 0) {
    uint32_t parts = RTSCOPE_PART_MACHINE | RTSCOPE_PART_GHC | RTSCOPE_PART_OCAML;
    size_t size = rtscope_write_plan(&machine, &plan, parts, NULL, 0) + 1;
    char *text = malloc(size);
    if (text == NULL) return 1;
    rtscope_write_plan(&machine, &plan, parts, text, size);
    fputs(text, stdout);
    free(text);
    return 0;
  }
  printf("{\"cpus_allowed\":%u,\"cores\":%u,\"packages\":%u,\"numa_nodes\":%u,", machine.cpus_allowed, machine.cores,
         machine.packages, machine.numa_nodes);
  if (machine.quota_set)
    printf("\"quota_cpus\":%.17g,", machine.quota_cpus);
  else
    printf("\"quota_cpus\":null,");
  printf("\"ancestors_hidden\":%s,", machine.ancestors_hidden ? "true" : "false");
  if (machine.memory_known)
    printf("\"memory_limit_bytes\":%llu,", (unsigned long long)machine.memory_limit_bytes);
  else
    printf("\"memory_limit_bytes\":null,");
  printf("\"memory_limited\":%s,\"notes\":%u,", machine.memory_limited ? "true" : "false", machine.notes);
  printf("\"workers\":%u,\"gc_threads\":%u,\"nursery_bytes\":%llu,\"domains\":%u,\"minor_words\":%llu,"
         "\"space_overhead\":%u}\n",
         plan.workers, plan.gc_threads, (unsigned long long)plan.nursery_bytes, plan.domains,
         (unsigned long long)plan.minor_words, plan.space_overhead);
  return 0;
}
