// A program that does what it can against any observer. Each word says one thing:
//
//   target measure FILE PROGRAM…       runs a program within limits; FILE: its status, its peak memory
//   target sparse FROM TO              an ELF file whose symbol table is 1 GiB of nothing
//   target grow FILE                   appends what FILE holds to it, again and again
//   target reuse FILE WORD…            as root: a target as below; after a line on standard input another
//                                      process gets its number, one of root's with the first line of FILE in
//                                      its memory; self=FILE is its program
//   target WORD…                       NAME=KIND: that name becomes a fifo, socket, device, link, directory,
//                                      growing or missing file; canary=FILE, life=MS, seed=N, heap=FORM, and
//                                      more below
//
// With FORGED it has the symbols of a GHC runtime itself; else only the library has that it loads.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef FORGED
#include "forged.c"
#endif

#define ESCAPES "\x1b[31m\x1b]0;x\x07\r"

static char **words;
static const char *canary = "/nonexistent";

static void die(const char *what) {
    perror(what);
    exit(99);
}

// The value of `KEY=` among the words.
static const char *value(const char *key) {
    size_t length = strlen(key);
    for (char **word = words; *word; word++)
        if (strncmp(*word, key, length) == 0 && (*word)[length] == '=') return *word + length + 1;
    return NULL;
}

static void nap(long us) {
    nanosleep(&(struct timespec){.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000}, NULL);
}

static void *grows(void *path) {
    static char bytes[1 << 16];
    int fd = open(path, O_RDWR | O_APPEND | O_CLOEXEC);
    if (fd < 0) return NULL;
    ssize_t had = pread(fd, bytes, sizeof bytes, 0);
    if (had <= 0) had = (ssize_t)sizeof bytes;
    for (off_t all = 0; all < 512l << 20; all += had) {
        if (write(fd, bytes, (size_t)had) != had) break;
        nap(1000);
    }
    close(fd);
    return NULL;
}

// Puts `path` as `kind` under the name `name`, in one step.
static void place(const char *name, const char *kind) {
    char fresh[PATH_MAX];
    snprintf(fresh, sizeof fresh, "%s.~", name);
    unlink(fresh);
    rmdir(fresh);
    if (strcmp(kind, "fifo") == 0) mkfifo(fresh, 0666);
    else if (strcmp(kind, "link") == 0) symlink(canary, fresh);
    else if (strcmp(kind, "device") == 0) symlink("/dev/zero", fresh);
    else if (strcmp(kind, "directory") == 0) mkdir(fresh, 0777);
    else if (strcmp(kind, "socket") == 0) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        strncpy(address.sun_path, fresh, sizeof address.sun_path - 1);
        int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) listen(fd, 1);
        if (strlen(fresh) >= sizeof address.sun_path) close(fd);
    } else if (strcmp(kind, "growing") == 0) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, grows, strdup(name)) == 0) pthread_detach(thread);
        return;
    } else if (strcmp(kind, "missing") == 0) {
        unlink(name);
        return;
    }
    if (strcmp(kind, "directory") == 0) unlink(name);
    if (rename(fresh, name) != 0) rmdir(fresh);
}

// A copy of a file; both stay where they are.
static void copy(const char *from, const char *to) {
    static char bytes[1 << 16];
    int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
    if (in < 0 || out < 0) die(to);
    for (ssize_t had; (had = read(in, bytes, sizeof bytes)) > 0;)
        if (write(out, bytes, (size_t)had) != had) die(to);
    close(in);
    close(out);
}

static void sparse(const char *from, const char *to) {
    copy(from, to);
    int fd = open(to, O_RDWR);
    Elf64_Ehdr head;
    if (fd < 0 || pread(fd, &head, sizeof head, 0) != sizeof head) die(to);
    off_t end = lseek(fd, 0, SEEK_END);
    for (int i = 0; i < head.e_shnum; i++) {
        off_t at = (off_t)(head.e_shoff + (uint64_t)i * head.e_shentsize);
        Elf64_Shdr section;
        if (pread(fd, &section, sizeof section, at) != sizeof section) die(to);
        if (section.sh_type != SHT_SYMTAB) continue;
        section.sh_offset = ((uint64_t)end + 4095) & ~4095ull;
        section.sh_size = (1ull << 30) / 24 * 24;
        if (pwrite(fd, &section, sizeof section, at) != sizeof section) die(to);
        if (ftruncate(fd, (off_t)(section.sh_offset + section.sh_size)) != 0) die(to);
    }
    close(fd);
}

static int measure(char **argv) {
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // A runaway is to fail alone, not with the machine.
        setrlimit(RLIMIT_AS, &(struct rlimit){3ull << 30, 3ull << 30});
        setrlimit(RLIMIT_FSIZE, &(struct rlimit){4ull << 30, 4ull << 30});
        execv(argv[1], argv + 1);
        die(argv[1]);
    }
    FILE *out = fopen(argv[0], "w");
    if (!out) die(argv[0]);
    fprintf(out, "%d\n", child);
    fflush(out);
    int status;
    struct rusage usage;
    while (wait4(child, &status, 0, &usage) < 0)
        if (errno != EINTR) die("wait4");
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
    fprintf(out, "%d %ld\n", code, usage.ru_maxrss);
    fclose(out);
    return 0;
}

// The head of a ring file as OCaml's runtime makes it: two rings of 4096 words.
#define RING_NAMES (224 + 2 * 8 * 4096)
#define RING_BYTES (RING_NAMES + 8192 * 128)
static void ring_head(int fd) {
    const uint64_t head[] = {1, 2, 80, 8 * 4096, 4096, 64, 224, RING_NAMES, 0, 0};
    uint64_t ends[2] = {0, value("ends") ? strtoull(value("ends"), NULL, 0) : 64};
    if (pwrite(fd, ends, sizeof ends, 64) < 0 || pwrite(fd, head, 64, 0) < 0) die("ring");
}

static int make_ring(const char *path) {
    int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (fd >= 0 && ftruncate(fd, RING_BYTES) != 0) die(path);
    return fd;
}

// What the recorder's environment asks for: a ring in its folder, a log where it says.
static void obey(void) {
    const char *folder = getenv("OCAML_RUNTIME_EVENTS_DIR"), *options = getenv("GHCRTS");
    const char *log = options ? strstr(options, "-ol") : NULL;
    if (log) {
        char path[PATH_MAX];
        sscanf(log + 3, "%4095[^ ]", path);
        int fd = open(path, O_WRONLY | O_CREAT, 0666);
        if (fd >= 0 && write(fd, "hdrb", 4) == 4 && value("log")) place(path, value("log"));
    }
    if (!folder) return;
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%d.events", folder, getpid());
    unlink(path);
    int fd = make_ring(path);
    if (fd < 0) return;
    mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    nap(30000);
    if (value("ring")) place(path, value("ring"));
    ring_head(fd);
}

// Puts links under the names that a capture has, as soon as the recorder has taken the folder.
static void *plants(void *folder) {
    const char *names[] = {"manifest.json", "manifest.json.new", "samples.jsonl", "stm.jsonl", "sched", "code", "heap",
                           "eventlog", "rings", "unflushed", "sched/threads.json", "code/symbols.json"};
    char path[PATH_MAX], secret[PATH_MAX];
    snprintf(secret, sizeof secret, "%s.folder", canary);
    int taken = 0;
    while (!taken) {
        DIR *open = opendir(folder);
        struct stat found;
        taken = !open || (stat(folder, &found) == 0 && (found.st_mode & 0777) != 0777);
        for (struct dirent *entry; open && (entry = readdir(open));) taken |= entry->d_name[0] != '.';
        if (open) closedir(open);
        nap(200);
    }
    for (int round = 0; round < 4000; round++, nap(200))
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
            snprintf(path, sizeof path, "%s/%s", (char *)folder, names[i]);
            char aside[PATH_MAX + 2];
            snprintf(aside, sizeof aside, "%s.o", path);
            if (round % 8 == 7) rename(path, aside);
            symlink(strchr(names[i], '.') ? canary : secret, path);
        }
    return NULL;
}

// Puts a link to a folder of root's in the place of a capture, once it is there.
static void *moves(void *capture) {
    char aside[PATH_MAX], secret[PATH_MAX];
    snprintf(secret, sizeof secret, "%s.folder", canary);
    snprintf(aside, sizeof aside, "%s.moved", (char *)capture);
    while (access(capture, F_OK) != 0) nap(200);
    nap(50000);
    if (rename(capture, aside) == 0) symlink(secret, capture);
    return NULL;
}

static void *churns(void *unused) {
    prctl(PR_SET_NAME, "t" ESCAPES);
    for (;; nap(2000)) {
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_NAME, "c" ESCAPES);
            _exit(0);
        }
        if (child > 0) waitpid(child, NULL, 0);
    }
    return unused;
}

static void (*shifts_once)(void);
static void *shifts(void *unused) {
    prctl(PR_SET_NAME, "s" ESCAPES);
    for (;; nap(200)) shifts_once();
    return unused;
}

struct dance {
    const char *name, *kind;
};

static void *dances(void *unused) {
    struct dance *dance = unused;
    char honest[PATH_MAX], fresh[PATH_MAX];
    snprintf(honest, sizeof honest, "%s.honest", dance->name);
    snprintf(fresh, sizeof fresh, "%s.back", dance->name);
    for (;;) {
        place(dance->name, dance->kind);
        nap(300);
        rmdir(dance->name);
        if (link(honest, fresh) == 0 && rename(fresh, dance->name) != 0) unlink(fresh);
        nap(300);
    }
    return NULL;
}

static void start(void *(*body)(void *), void *with) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, body, with) == 0) pthread_detach(thread);
}

static void swap(const char *key, const char *name) {
    const char *kind = value(key);
    if (!kind) return;
    // What grows does so in one thread: a dance would start one with each step, until they have the disk and both CPUs.
    if (!value("dance") || strcmp(kind, "growing") == 0) return place(name, kind);
    char honest[PATH_MAX];
    snprintf(honest, sizeof honest, "%s.honest", name);
    link(name, honest);
    struct dance *dance = malloc(sizeof *dance);
    *dance = (struct dance){strdup(name), kind};
    start(dances, dance);
}

static int target(const char *program, const char *text) {
    const char *seed = value("seed"), *heap = value("heap") ? value("heap") : "usual", *life = value("life");
    char ring[64], folder[PATH_MAX];
    struct itimerval end = {.it_value = {.tv_sec = life ? atol(life) / 1000 : 20, .tv_usec = life ? atol(life) % 1000 * 1000 : 0}};
    signal(SIGALRM, SIG_DFL);
    setitimer(ITIMER_REAL, &end, NULL);
    prctl(PR_SET_NAME, "m" ESCAPES);
    prctl(PR_SET_DUMPABLE, 1);
    if (value("canary")) canary = value("canary");
    if (!getcwd(folder, sizeof folder)) die("getcwd");
    void *library = dlopen("./libHSrts-1.0.2.so", RTLD_NOW | RTLD_LOCAL);
    if (!library) fprintf(stderr, "%s\n", dlerror()), exit(99);
    void (*forged)(uint64_t, const char *, const char *) = (void (*)(uint64_t, const char *, const char *))dlsym(library, "forge");
#ifdef FORGED
    forged = forge;
    shifts_once = shift;
#else
    shifts_once = (void (*)(void))dlsym(library, "shift");
#endif
    forged(seed ? strtoull(seed, NULL, 0) : 0, heap, text);
    // A file that is mapped to execute, under a name with escape sequences.
    int mapped = open("lib" ESCAPES ".so", O_RDONLY | O_CLOEXEC);
    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, mapped, 0);
    int log = open("x.eventlog", O_RDWR | O_CREAT, 0666);
    char line[256];
    int length = snprintf(line, sizeof line, "hdrb%.200s\n", text);
    if (write(log, line, (size_t)length) != length) die("log");
    snprintf(ring, sizeof ring, "%d.events", getpid());
    int rings = make_ring(ring);
    mmap(NULL, RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, rings, 0);
    ring_head(rings);
    swap("program", program);
    swap("library", "libHSrts-1.0.2.so");
    swap("mapped", "lib" ESCAPES ".so");
    swap("log", "x.eventlog");
    swap("ring", ring);
    if (value("plant")) start(plants, strdup(value("plant")));
    if (value("move")) start(moves, strdup(value("move")));
    if (value("churn")) start(churns, NULL);
    if (value("shift")) start(shifts, NULL);
    obey();
    close(open("ready", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
    for (;;) {
        volatile uint64_t sum = 0;
        for (uint64_t i = 0; i < 2000000; i++) sum += i;
        nap(1000);
    }
}

// A child with this number; 0 in the child.
static pid_t numbered(pid_t number) {
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size, cgroup;
    } arguments = {.exit_signal = SIGCHLD, .set_tid = (uint64_t)(uintptr_t)&number, .set_tid_size = 1};
    return (pid_t)syscall(SYS_clone3, &arguments, sizeof arguments);
}

static int reuse(const char *secret_file) {
    char line[8];
    // A number that is free.
    pid_t number = fork();
    if (number == 0) _exit(0);
    waitpid(number, NULL, 0);
    pid_t first = numbered(number);
    if (first < 0) return 77;
    if (first == 0) {
        if (setgid(65534) != 0 || setuid(65534) != 0) _exit(98);
        target(value("self"), "hdrb ");
    }
    printf("%d\n", first);
    fflush(stdout);
    int again = fgets(line, sizeof line, stdin) != NULL;
    kill(first, SIGKILL);
    waitpid(first, NULL, 0);
    pid_t second = again ? numbered(number) : -1;
    if (second < 0) return 0;
    if (second == 0) {
        static char secret[128];
        FILE *file = fopen(secret_file, "r");
        if (!file || !fgets(secret, sizeof secret, file) || chdir("../../root") != 0) _exit(98);
        fclose(file);
        target(value("self"), secret);
    }
    while (fgets(line, sizeof line, stdin)) continue;
    kill(second, SIGKILL);
    waitpid(second, NULL, 0);
    return 0;
}

int main(int argc, char **argv) {
    words = argv + 1;
    if (argc > 3 && strcmp(argv[1], "measure") == 0) return measure(argv + 2);
    if (argc == 4 && strcmp(argv[1], "sparse") == 0) return sparse(argv[2], argv[3]), 0;
    if (argc == 3 && strcmp(argv[1], "grow") == 0) return grows(argv[2]), 0;
    if (argc > 3 && strcmp(argv[1], "reuse") == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        words = argv + 3;
        return reuse(argv[2]);
    }
    return target(argv[0], "hdrb of a target\x1b[2J ");
}
