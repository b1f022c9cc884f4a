// The size of an options struct against the one that this library knows.
#pragma once
#include "longwave/longwave.h"
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

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

} // namespace longwave::runtime
