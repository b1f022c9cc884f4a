/* Compiled files: the library allocates. */
#include "tools/runner/runner.h"

lw_status open_bytes(const char *variant, const uint8_t *bytes, size_t n, lw_model **model) {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1;
    options.variant = variant;
    options.memory_limit = UINT64_MAX; /* the command line compiled it */
    return lw_model_open_memory(bytes, n, &options, model);
}
void close_model(lw_model *model) { lw_model_close(model); }

lw_status new_stream(const lw_model *model, const lw_stream_options *options, lw_stream **stream) {
    return lw_stream_create(model, options, stream);
}
void end_stream(lw_stream *stream) { lw_stream_destroy(stream); }

lw_status verify_model(const lw_model *model, double *worst) { return lw_model_verify(model, worst); }
