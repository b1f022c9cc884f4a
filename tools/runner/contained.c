/* The model that `longwave compile --emit static` wrote as a library: compiled with its header
 * included, -DMODEL=SYMBOL and -DMEMORY=BYTES, for the model and a runner. It needs the runtime
 * without an operating system. The weights are the bytes of the message where they are a file beside the
 * library. Each block of memory comes from the C library. */
#include "tools/runner/runner.h"

enum { line = 64 }; /* the alignment of all memory of the library */

static void *model_memory, *weights_memory;

static void *new_memory(size_t bytes, size_t alignment) {
    return aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
}

lw_status open_bytes(const char *variant, const uint8_t *bytes, size_t n, lw_model **model) {
    (void)variant;
    model_memory = new_memory(MEMORY, line);
    weights_memory = n > 0 ? new_memory(n, line) : NULL;
    if (!model_memory || (n > 0 && !weights_memory)) return LW_NO_MEMORY;
    if (n > 0) memcpy(weights_memory, bytes, n);
    return lw_model_open_static_weights(&MODEL, weights_memory, n, model_memory, MEMORY, model);
}

void close_model(lw_model *model) {
    lw_model_close(model);
    free(model_memory);
    free(weights_memory);
    model_memory = weights_memory = NULL;
}

/* An object begins at its memory, so its memory is freed by its address. */
lw_status new_stream(const lw_model *model, const lw_stream_options *options, lw_stream **stream) {
    size_t size, alignment;
    const lw_status status = lw_stream_size(model, options, &size, &alignment);
    if (status != LW_OK) return status;
    void *memory = new_memory(size, alignment);
    return memory ? lw_stream_init(model, options, memory, size, stream) : LW_NO_MEMORY;
}
void end_stream(lw_stream *stream) {
    lw_stream_destroy(stream);
    free(stream);
}

/* The library has no golden vectors: the compiler ran them. */
lw_status verify_model(const lw_model *model, double *worst) {
    (void)model, (void)worst;
    return LW_UNSUPPORTED;
}
