// An artifact whose weights come in several parts.
#pragma once
#include "tests/support/broken.h"
#include <utility>

namespace longwave::test {

// The weights of a model cut into parts with gaps of up to 63 bytes.
inline Draft in_parts(Draft draft) {
    for (artifact::SegmentData &segment : draft.segments) {
        if (segment.kind != fb::SegmentKind::weights) continue;
        const std::vector<uint8_t> bytes = std::exchange(segment.bytes, {});
        const size_t half = bytes.size() / 2;
        segment.parts.push_back({0, std::vector<uint8_t>(bytes.begin(), bytes.begin() + ptrdiff_t(half))});
        segment.parts.push_back({half, std::vector<uint8_t>(bytes.begin() + ptrdiff_t(half), bytes.end())});
    }
    return draft;
}

} // namespace longwave::test
