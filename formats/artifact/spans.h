// What arguments cover, all slots and tiles together; private to the rules about memory.
#pragma once
#include "formats/artifact/geometry.h"

namespace longwave::artifact {

struct Span {
    uint64_t begin = 0, end = 0;
};

inline bool overlap(const Span &a, const Span &b) { return a.begin < b.end && b.begin < a.end; }
inline bool contains(const Span &a, const Span &b) { return a.begin <= b.begin && b.end <= a.end; }

inline Span span_of(const fb::Place &place, uint32_t tiles, uint64_t bytes) {
    Span span{place.offset(), 0};
    if (!place_end(place, tiles, bytes, &span.end))
        span.end = span.begin; // V12 has seen to it that this cannot be
    return span;
}

inline Span span_of(const fb::Step &step, const fb::KernelArg &arg, const fb::Binding &binding) {
    uint64_t bytes = 0;
    return span_bytes(arg, &bytes) ? span_of(*binding.place(), step.tiles(), bytes) : Span{};
}

// Bytes that a zero step may clear in each tile, or that a step moves between CPU and device.
inline uint64_t cleared_bytes(const fb::Step &step) {
    return step.kind() == fb::StepKind::zero_tail ? uint64_t{step.rows()} * step.row_bytes() : step.bytes();
}

inline bool reads(fb::ArgKind kind) { return kind == fb::ArgKind::input || kind == fb::ArgKind::inout; }
inline bool writes(fb::ArgKind kind) { return kind == fb::ArgKind::output || kind == fb::ArgKind::inout; }

} // namespace longwave::artifact
