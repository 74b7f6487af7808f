// The variables that a GHC runtime is known by, with values that no runtime has.
// `forge` gives them a first form, `shift` another one each time it is called.
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

// A compiler's mark, as GHC leaves it.
__asm__(".ident \"GHC 9.0.2\"");

#define HEAP_START 0x4200000000ull
#define HEAP_BYTES (4ull << 20)
#define BUFFER_BYTES (64u << 10)
#define CAPABILITIES 4

struct entry {
    uint64_t begin, pos, marker, size;
    uint16_t capability;
    char filler[6];
};

struct entry entries[CAPABILITIES], eventBuf;
static unsigned char buffers[CAPABILITIES + 1][BUFFER_BYTES];
void *volatile capEventBuf;
volatile uint64_t start_init_elapsed;
volatile uint32_t n_capabilities, enabled_capabilities;
volatile uint64_t mblock_address_space[4];
void *volatile generations, *volatile oldest_gen, *volatile nurseries, *volatile free_list_head;
volatile uint64_t n_nurseries, mblocks_allocated, n_alloc_blocks, mblock_high_watermark;
void *volatile capabilities;
volatile int64_t max_commits, token_locked;
unsigned char rtscope_stm[1 << 14];

static uint64_t generation_words[2][64], nursery_words[CAPABILITIES][2], freed[4];
static uint64_t forged_state;

static uint64_t forged_random(void) {
    uint64_t z = (forged_state += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// An address that lies in the heap, in these variables, or nowhere.
static uint64_t wild(void) {
    switch (forged_random() % 6) {
    case 0: return forged_random();
    case 1: return UINT64_MAX - forged_random() % 4096;
    case 2: return forged_random() % 4096;
    case 3: return (uint64_t)(uintptr_t)&buffers + forged_random() % sizeof buffers;
    default: return HEAP_START + (forged_random() % HEAP_BYTES & ~7ull);
    }
}

// Runs where samples are taken.
__attribute__((noinline)) uint64_t stmStartTransaction(uint64_t rounds) {
    uint64_t sum = 0;
    for (uint64_t i = 0; i < rounds; i++) sum += i * (sum | 1) + (uint64_t)max_commits;
    return sum;
}

// Descriptors of a megablock's blocks, most of them as the runtime leaves them.
static void forge_descriptors(uint64_t megablock) {
    for (uint64_t index = 4; index < 256;) {
        uint64_t *words = (uint64_t *)(megablock + 64 * index), blocks = 1 + forged_random() % 8;
        if (index + blocks > 256) blocks = 256 - index;
        words[0] = megablock + 4096 * index;
        words[1] = words[0] + (forged_random() % (4096 * blocks) & ~7ull);
        words[2] = megablock + 64 * (4 + forged_random() % 252);
        words[5] = forged_random() % 2 | (forged_random() % 8) << 48;
        words[6] = blocks;
        if (forged_random() % 16 == 0) words[forged_random() % 7] = wild();
        index += blocks;
    }
}

static void forge_buffer(struct entry *entry, unsigned char *bytes, int capability, const char *text) {
    memset(bytes, 0, BUFFER_BYTES);
    bytes[1] = 18;
    bytes[9] = 1;
    size_t length = strlen(text), at = 24;
    for (; at + length < BUFFER_BYTES / 2; at += length) memcpy(bytes + at, text, length);
    *entry = (struct entry){.begin = (uint64_t)(uintptr_t)bytes, .marker = (uint64_t)(uintptr_t)bytes};
    entry->pos = entry->begin + at;
    entry->size = BUFFER_BYTES;
    entry->capability = (uint16_t)capability;
}

// `heap`: usual, wrap, all or reserve; `text` fills the event buffers.
void forge(uint64_t seed, const char *heap, const char *text) {
    forged_state = seed;
    for (int i = 0; i < CAPABILITIES; i++) forge_buffer(&entries[i], buffers[i], i, text);
    forge_buffer(&eventBuf, buffers[CAPABILITIES], 0xffff, text);
    capEventBuf = entries;
    n_capabilities = enabled_capabilities = CAPABILITIES;
    start_init_elapsed = 1;
    uint64_t end = HEAP_START + (1ull << 40);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
    uint64_t *words = mmap((void *)HEAP_START, HEAP_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
    for (uint64_t i = 0; words != MAP_FAILED && i < HEAP_BYTES / 8; i++)
        words[i] = forged_random() % 3 ? wild() : forged_random() % 8192;
    for (uint64_t at = 0; words != MAP_FAILED && at < HEAP_BYTES; at += 1 << 20) forge_descriptors(HEAP_START + at);
    mblock_address_space[0] = HEAP_START;
    mblock_address_space[1] = end;
    if (strcmp(heap, "wrap") == 0) {
        mblock_address_space[0] = UINT64_MAX - 4096;
        mblock_address_space[1] = UINT64_MAX;
    } else if (strcmp(heap, "all") == 0) {
        mblock_address_space[0] = 4096;
        mblock_address_space[1] = UINT64_MAX;
    } else if (strcmp(heap, "reserve") == 0) {
        for (uint64_t bytes = 1ull << 39; bytes > HEAP_BYTES; bytes /= 2)
            if (mmap((void *)(HEAP_START + HEAP_BYTES), bytes, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED) break;
    }
    generation_words[1][0] = 1;
    generations = generation_words[0];
    oldest_gen = generation_words[1];
    for (int i = 0; i < CAPABILITIES; i++) nursery_words[i][0] = HEAP_START + 64 * 4, nursery_words[i][1] = UINT32_MAX;
    nurseries = nursery_words;
    capabilities = (void *)HEAP_START;
    // A list that leads back to itself.
    freed[1] = (uint64_t)(uintptr_t)freed;
    if (seed % 4 == 0) free_list_head = freed;
    n_nurseries = CAPABILITIES;
    mblocks_allocated = HEAP_BYTES >> 20;
    mblock_high_watermark = HEAP_START + HEAP_BYTES;
    n_alloc_blocks = 1000;
    const uint32_t header[] = {64, 256, 4, 64, 4, 64, 64 + 4 * 256, 4, 3, 1};
    memcpy(rtscope_stm, "RTSCSTM\x01", 8);
    memcpy(rtscope_stm + 8, header, sizeof header);
    memcpy(rtscope_stm + 48, &(uint64_t){64 + 4 * 256 + 4 * 64}, 8);
    for (int i = 0; i < 4; i++) memcpy(rtscope_stm + 64 + 4 * 256 + 64 * i, "name\x1b[2J\x07", 10);
}

void shift(void) {
    struct entry *entry = &entries[forged_random() % CAPABILITIES];
    volatile uint64_t *words[] = {&entry->begin, &entry->pos, &entry->marker, &entry->size};
    *words[forged_random() % 4] = wild();
    if (forged_random() % 4 == 0) *entry = entries[0];
    n_capabilities = forged_random() % 2 ? CAPABILITIES : (uint32_t)forged_random();
    capEventBuf = forged_random() % 4 ? (void *)entries : (void *)(uintptr_t)wild();
    start_init_elapsed = forged_random() % 2 ? 1 : forged_random();
    max_commits = (int64_t)forged_random();
    generations = forged_random() % 4 ? (void *)generation_words : (void *)(uintptr_t)wild();
    n_nurseries = forged_random() % 2 ? CAPABILITIES : forged_random();
    if (forged_random() % 4 == 0) mblock_address_space[forged_random() % 2] = wild();
    volatile uint64_t *heap = (uint64_t *)HEAP_START;
    for (int i = 0; i < 64; i++) heap[forged_random() % (HEAP_BYTES / 8)] = wild();
    rtscope_stm[forged_random() % sizeof rtscope_stm] = (unsigned char)forged_random();
    stmStartTransaction(50000);
}
