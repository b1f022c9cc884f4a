// An opened artifact: verified bytes, executable code, derived tables. Immutable after open.
#pragma once
#include "formats/artifact/view.h"
#include "longwave/longwave.h"
#include "runtime/call.h"
#include "runtime/device_cpu.h"
#include "runtime/memory.h"

struct lw_model {
    lw_allocator allocator;
    longwave::runtime::Block file;    // the whole artifact, or header and plan alone when the file is mapped
    const uint8_t *mapping = nullptr; // map_weights: the file
    uint64_t artifact_bytes = 0;
    longwave::artifact::View view;
    const longwave::fb::CodeVariant *variant = nullptr; // null only when there are no kernels
    longwave::runtime::Code code;
    longwave::runtime::Block tables; // kernels and their dimensions
    longwave::runtime::Kernel *kernels = nullptr;
    longwave::runtime::Block derived;

    const longwave::fb::Plan &plan() const { return view.plan(); }
    longwave::runtime::Bases bases(uint8_t *state, uint8_t *arena) const;
};

namespace longwave::runtime {

// Identity of what a saved state depends on: the hash of the weights, so that the same model compiled for another processor accepts it.
const uint8_t *weights_identity(const lw_model &model);

// Bytes of a runner.
uint64_t runner_bytes(const lw_model &model);

// The largest run entry: what lw_model_info calls the capacity. Null when there is none.
const fb::Entry *largest_run(const lw_model &model);

// Fields a caller's struct does not have (an older, smaller struct_size) stay untouched.
template <class T> bool copy_sized(T *to, T from) {
    if (!to || to->struct_size < sizeof(size_t)) return false;
    from.struct_size = to->struct_size;
    __builtin_memcpy(to, &from, to->struct_size < sizeof(T) ? to->struct_size : sizeof(T));
    return true;
}
// The caller's options over the defaults (all zero).
template <class T> bool read_options(const T *from, T *to) {
    *to = T{};
    if (!from) return true;
    if (from->struct_size < sizeof(size_t)) return false;
    __builtin_memcpy(to, from, from->struct_size < sizeof(T) ? from->struct_size : sizeof(T));
    return true;
}

} // namespace longwave::runtime
