// Saved states of earlier versions load. What is saved then differs from what was loaded in two numbers.
#pragma once
#include "runtime/stream/memory.h"
#include <algorithm>
#include <cstddef>
#include <vector>

namespace longwave::fuzz {

// Takes over what earlier versions wrote otherwise into the StreamState at `at`: no checksum, and a number
// that is ignored.
inline void as_saved_today(std::vector<uint8_t> &loaded, const std::vector<uint8_t> &saved, size_t at) {
    for (const size_t field :
         {offsetof(runtime::StreamState, checksum), offsetof(runtime::StreamState, retired)})
        std::copy_n(saved.begin() + static_cast<ptrdiff_t>(at + field), sizeof(uint64_t),
                    loaded.begin() + static_cast<ptrdiff_t>(at + field));
}

} // namespace longwave::fuzz
