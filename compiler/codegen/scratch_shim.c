// The memory of kernels: halide_malloc and halide_free inside every code image, a stack of blocks
// over scratch that the caller passes as user context. Halide frees a buffer right after its last
// use, so a block may be freed before one above it: it then waits, marked, until it is on top.
// memset and memcpy are here because LLVM turns loops into calls of them. No writable data, no
// other symbol.
#include <stddef.h>
#include <stdint.h>
#if defined(__arm__) // kernels count rows in 64 bits
#define LW_ARM_LONG
#include "formats/base/arm_long.h"
#endif

typedef struct {
    char *base;    // 64-byte aligned
    uint64_t size; // at least the kernel's scratch_bytes, which is summed from the lowered code
    uint64_t used; // 0 between calls
} Scratch;

// A block: header, memory, footer. Each part is a multiple of 64 bytes; header and footer hold the
// size of the whole block.
enum { part = 64 };
typedef struct {
    uint64_t bytes, freed;
} Header;

void *halide_malloc(void *user_context, size_t size) {
    Scratch *scratch = (Scratch *)user_context;
    uint64_t bytes = part + (size + part - 1) / part * part + part;
    Header *header = (Header *)(scratch->base + scratch->used);
    header->bytes = bytes;
    header->freed = 0;
    scratch->used += bytes;
    *(uint64_t *)(scratch->base + scratch->used - part) = bytes;
    return (char *)header + part;
}

void halide_free(void *user_context, void *memory) {
    Scratch *scratch = (Scratch *)user_context;
    ((Header *)((char *)memory - part))->freed = 1;
    while (scratch->used > 0) {
        uint64_t bytes = *(uint64_t *)(scratch->base + scratch->used - part);
        if (!((Header *)(scratch->base + scratch->used - bytes))->freed) break;
        scratch->used -= bytes;
    }
}

#if defined(__x86_64__)
void *memset(void *to, int value, size_t n) {
    void *at = to;
    __asm__ volatile("rep stosb" : "+D"(at), "+c"(n) : "a"(value) : "memory");
    return to;
}
void *memcpy(void *to, const void *from, size_t n) {
    void *at = to;
    __asm__ volatile("rep movsb" : "+D"(at), "+S"(from), "+c"(n) : : "memory");
    return to;
}
#else // the compiler makes vectors of these loops
void *memset(void *to, int value, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = (char)value;
    return to;
}
void *memcpy(void *restrict to, const void *restrict from, size_t n) {
    for (size_t i = 0; i < n; i++) ((char *)to)[i] = ((const char *)from)[i];
    return to;
}
#endif
