// lw_resampler_create: what lw_resampler_init makes, in memory of the allocator.
#include "runtime/audio/resampler.h"
#include "runtime/core/memory.h"
#include "runtime/core/model.h"
#include "runtime/core/status.h"

using namespace longwave::runtime;

lw_status lw_resampler_create(const lw_resampler_options *options, lw_resampler **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    size_t size, alignment;
    if (lw_status status = lw_resampler_size(options, &size, &alignment)) return status;
    lw_resampler_options read;
    read_sized(options, &read); // lw_resampler_size has checked it
    const lw_allocator &allocator = read.allocator ? *read.allocator : standard_allocator;
    if (!allocator.allocate || !allocator.release)
        return fail(LW_INVALID_ARGUMENT, "the allocator lacks a function");
    Block block;
    if (!block.allocate(allocator, size)) return no_memory("a resampler", size);
    if (lw_status status = lw_resampler_init(options, block.data, size, out)) {
        block.release(allocator);
        return status;
    }
    (*out)->owned_bytes = size;
    (*out)->allocator = allocator;
    return LW_OK;
}
