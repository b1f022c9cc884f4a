#include "module.h"

extern unsigned char __heap_base; /* the linker's: the first byte behind all variables */

enum { page = 65536 };

static unsigned char *weights_at(void) { return (unsigned char *)(((size_t)&__heap_base + 63) / 64 * 64); }

/* Whether the memory reaches so far now. */
static int reaches(size_t end) {
    const size_t have = __builtin_wasm_memory_size(0) * page;
    return end <= have || __builtin_wasm_memory_grow(0, (end - have + page - 1) / page) != (size_t)-1;
}

/* Where the page writes the file of weights. 0: the browser gives no more memory. */
EXPORT(weights) void *weights(void) {
    return reaches((size_t)weights_at() + SIZE(_WEIGHTS_BYTES)) ? weights_at() : NULL;
}
EXPORT(weights_bytes) size_t weights_bytes(void) { return SIZE(_WEIGHTS_BYTES); }

EXPORT(error) const char *error(void) { return lw_last_error(); }

void *more_memory(size_t bytes) {
    const size_t at = ((size_t)weights_at() + SIZE(_WEIGHTS_BYTES) + 63) / 64 * 64;
    return reaches(at + bytes) ? (void *)at : NULL;
}

lw_status open_model(void *memory, size_t bytes, lw_model **out) {
    return lw_model_open_static_weights(&MODEL, weights_at(), SIZE(_WEIGHTS_BYTES), memory, bytes, out);
}

/* All that model and runtime leave to the program: one instruction each. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }
