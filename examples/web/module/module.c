#include "module.h"

extern unsigned char __heap_base; /* the linker's: the first byte behind all variables */

enum { page = 65536 };

static unsigned char *weights_at(void) { return (unsigned char *)(((size_t)&__heap_base + 63) / 64 * 64); }

/* Where the page writes the file of weights. 0: the browser gives no more memory. */
EXPORT(weights) void *weights(void) {
    const size_t end = (size_t)weights_at() + SIZE(_WEIGHTS_BYTES), have = __builtin_wasm_memory_size(0) * page;
    if (end > have && __builtin_wasm_memory_grow(0, (end - have + page - 1) / page) == (size_t)-1) return NULL;
    return weights_at();
}
EXPORT(weights_bytes) size_t weights_bytes(void) { return SIZE(_WEIGHTS_BYTES); }

EXPORT(error) const char *error(void) { return lw_last_error(); }

lw_status open_model(void *memory, size_t bytes, lw_model **out) {
    return lw_model_open_static_weights(&MODEL, weights_at(), SIZE(_WEIGHTS_BYTES), memory, bytes, out);
}

/* All that model and runtime leave to the program: one instruction each. */
void *memcpy(void *restrict to, const void *restrict from, size_t n) { return __builtin_memcpy(to, from, n); }
void *memmove(void *to, const void *from, size_t n) { return __builtin_memmove(to, from, n); }
void *memset(void *to, int value, size_t n) { return __builtin_memset(to, value, n); }
