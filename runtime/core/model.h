// An opened artifact: verified bytes, executable code, and the model on its device. Immutable after
// lw_model_open.
#pragma once
#include "formats/artifact/view.h"
#include "longwave/longwave.h"
#include "runtime/core/code.h"
#include "runtime/core/device.h"
#include "runtime/core/entries.h"
#include "runtime/core/memory.h"
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

// How much memory a model and whatever is made from it may take: lw_open_options.memory_limit.
// Asked before memory is taken: a check afterwards would be too late.
struct Budget {
    uint64_t limit = 0;
    bool given = false; // else the default for a file of this size
    uint64_t used = 0;  // by the model itself, for as long as it is open

    // Whether `bytes` more fit. `what`: for the message, as in "a stream".
    lw_status allows(const char *what, uint64_t bytes) const;
    lw_status take(const char *what, uint64_t bytes) {
        const lw_status status = allows(what, bytes);
        if (status == LW_OK) used += bytes;
        return status;
    }
    lw_status refuse(const char *what, uint64_t needed) const;
};

} // namespace longwave::runtime

struct lw_model {
    // The caller and what was made on it: it ends with the last of them.
    mutable std::atomic<uint32_t> users{1};
    lw_allocator allocator;
    longwave::runtime::Budget budget;
    longwave::runtime::Block file;    // the artifact; header and plan alone when the file is mapped
    const uint8_t *mapping = nullptr; // map_weights: the file
    void (*unmap)(const uint8_t *mapping, uint64_t bytes) = nullptr;
    uint64_t artifact_bytes = 0;
    bool trusted = false; // a signature that the caller accepted
    longwave::artifact::View view;
    const longwave::fb::CodeVariant *variant = nullptr; // null only when there are no kernels
    longwave::runtime::Code code;
    longwave::runtime::Block tables;  // functions of the code, stream entries, what lw_model_info points to
    const lw_device *asked = nullptr; // lw_open_options.device
    const longwave::runtime::Device *device = nullptr; // that runs the model
    const longwave::runtime::Device *cpu = nullptr;
    longwave::runtime::DeviceModel *on_device = nullptr;
    uint64_t own_run_bytes = 0, own_stream_bytes = 0; // Device::own_bytes
    longwave::runtime::StreamEntries streams;
    const lw_stream_entry_info *entry_infos = nullptr;
    const lw_state_field *state_fields = nullptr;
    uint64_t record_bytes = 0; // the fields without the gaps between them
    uint8_t identity[32] = {}; // up to format 2.3: what a saved state depends on; later: zeros
    const longwave::fb::Plan &plan() const { return view.plan(); }
    longwave::runtime::ModelSource source() const {
        return {&view, variant, code.functions(), &allocator, asked, cpu};
    }
};

namespace longwave::runtime {

// The size of an options struct against the one that this library knows.

inline constexpr size_t largest_struct = 4096; // bytes; a longer one has no initialiser

enum class OptionsFault : uint8_t { none, unset, too_long, unknown_field };

// `known`: bytes of the struct here. A longer one is of a newer header. What stands behind the known
// bytes must be zero, as copy_struct_from_user of Linux asks: it would be ignored.
inline OptionsFault fault_of_options(const void *options, size_t struct_size, size_t known) {
    if (struct_size < sizeof(size_t)) return OptionsFault::unset;
    if (struct_size > largest_struct) return OptionsFault::too_long;
    for (size_t i = known; i < struct_size; ++i)
        if (static_cast<const uint8_t *>(options)[i]) return OptionsFault::unknown_field;
    return OptionsFault::none;
}

// The same as a status; `name` is that of the struct.
lw_status check_options(const void *options, size_t struct_size, size_t known, const char *name);

// A stream or a runner keeps its model: hold() when it is made, let_go() when it is gone.
inline void hold(const lw_model &model) { model.users.fetch_add(1, std::memory_order_relaxed); }
// tables.cc. Releases the model with its last user.
void let_go(const lw_model &model);

// Whether it is a run entry of the model's device.
bool runs(const lw_model &model, const fb::Entry &entry);
// The run entry of the largest capacity (lw_model_info.run_capacity). Null when there is none.
const fb::Entry *largest_run(const lw_model &model);

// Writes only the fields that the caller's struct_size covers. False: struct_size is not set.
template <class T> bool copy_sized(T *to, T from) {
    if (!to || to->struct_size < sizeof(size_t)) return false;
    from.struct_size = to->struct_size;
    __builtin_memcpy(to, &from, to->struct_size < sizeof(T) ? to->struct_size : sizeof(T));
    return true;
}
// Reads what a struct of the caller has of the fields that this library knows.
template <class T> bool read_sized(const T *from, T *to) {
    *to = T{};
    if (from->struct_size < sizeof(size_t)) return false;
    __builtin_memcpy(to, from, from->struct_size < sizeof(T) ? from->struct_size : sizeof(T));
    return true;
}
// Reads the caller's options, a struct of this name; null: all defaults. Fields beyond its struct_size
// are zero, which means the default. Fields of a newer header must be zero as well: what they ask for
// would be ignored.
template <class T> lw_status read_options(const T *from, T *to, const char *name) {
    *to = T{};
    if (!from) return LW_OK;
    if (lw_status status = check_options(from, from->struct_size, sizeof(T), name)) return status;
    read_sized(from, to);
    return LW_OK;
}

} // namespace longwave::runtime
