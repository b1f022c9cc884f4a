// Where a place lies and how far an argument reaches: shared by the rules that check it and the
// runtime that uses it.
#pragma once
#include "formats/artifact/schema.h"
#include "formats/base/checked.h"
#include <cstdint>

namespace longwave::artifact {

template <class T> uint32_t count(const flatbuffers::Vector<T> *vector) {
    return vector ? vector->size() : 0;
}

// The program contains the variant's code; the file has its hash.
inline bool detached(const fb::CodeVariant &variant) { return variant.image() != nullptr; }

// Of a field with StateField.scalar.
inline constexpr uint32_t host_scalar_numbers = 3;
inline constexpr uint32_t most_host_scalars = 256;

// Rows of a golden tensor that the file holds.
inline uint32_t stored_rows(const fb::GoldenTensor &tensor) {
    return tensor.stored() ? tensor.stored() : tensor.rows();
}

// Bytes from the first to behind the last element of a buffer argument. False on overflow, an empty
// extent or a negative stride.
[[nodiscard]] inline bool span_bytes(const fb::KernelArg &arg, uint64_t *out) {
    uint64_t last = 0; // element index of the farthest element
    for (uint32_t i = 0; i < count(arg.dims()); ++i) {
        const fb::Dim *dim = arg.dims()->Get(i);
        uint64_t reach;
        if (dim->extent() == 0 || dim->stride() < 0) return false;
        if (!checked::mul(dim->extent() - 1, static_cast<uint64_t>(dim->stride()), &reach) ||
            !checked::add(last, reach, &last))
            return false;
    }
    uint64_t elements;
    return checked::add(last, 1, &elements) && checked::mul(elements, bytes_of(elem_of(arg.elem())), out);
}

// First byte behind everything a place touches over all slots and tiles, when each visit touches
// `span` bytes.
[[nodiscard]] inline bool place_end(const fb::Place &place, uint32_t tiles, uint64_t span, uint64_t *out) {
    uint64_t slots, shift, end;
    if (place.slots() == 0 || tiles == 0) return false;
    return checked::mul(place.slots() - 1, place.slot_bytes(), &slots) &&
           checked::mul(tiles - 1, place.tile_bytes(), &shift) && checked::add(place.offset(), slots, &end) &&
           checked::add(end, shift, &end) && checked::add(end, span, out);
}

// Bytes from the arena of a stream to that of the next where several run together: an odd number of
// lines, so that the same row of several streams lies in different sets of a cache.
inline uint64_t arena_apart(uint64_t arena_bytes) { return ((arena_bytes + 63) / 64 | 1) * 64; }

// Whether a kernel for several streams takes an argument where it lies in their arenas. `of_many`:
// the argument of that kernel.
inline bool in_arenas(const fb::Step &step, const fb::Binding &binding, const fb::KernelArg &of_many,
                      uint64_t stride, uint64_t apart) {
    const fb::Place *place = binding.place();
    const uint64_t alignment = of_many.alignment() ? of_many.alignment() : 1; // of an element: V12
    return place && place->space() == fb::Space::arena && place->slots() == 1 && stride == apart &&
           place->offset() % alignment == 0 && (step.tiles() == 1 || place->tile_bytes() % alignment == 0);
}

inline bool moves(const fb::Step &step) {
    return step.kind() == fb::StepKind::to_device || step.kind() == fb::StepKind::to_cpu;
}

// Whether some steps of a GPU's entry are the CPU's: then it has two arenas, and its ports lie in
// the CPU's. One look at every step.
inline bool mixed(const fb::Entry &entry) {
    if (entry.device() != fb::DeviceKind::gpu || entry.kind() != fb::EntryKind::run) return false;
    for (uint32_t i = 0; i < count(entry.steps()); ++i)
        if (entry.steps()->Get(i)->cpu()) return true;
    return false;
}

// Rows of a port: `rows` rows of `width` elements, `row_bytes` apart.
[[nodiscard]] inline bool rows_span(uint32_t rows, uint64_t row_bytes, uint64_t used_bytes, uint64_t *out) {
    uint64_t end;
    return rows > 0 && checked::mul(rows - 1, row_bytes, &end) && checked::add(end, used_bytes, out);
}

// Rows of a history's ring, and elements of a row in its saved form.
inline bool lies_by_channel(const fb::StateField &field) { return field.ring() > 0; }
inline uint32_t ring_rows(const fb::StateField &field) {
    return lies_by_channel(field) ? field.ring() : field.dims()->Get(0);
}
inline uint32_t row_elements(const fb::StateField &field) {
    return lies_by_channel(field) ? field.row() : field.dims()->Get(1);
}

// Bytes of a field of the state. False on overflow, an empty extent or a rank outside 1 … 6.
[[nodiscard]] inline bool field_bytes(const fb::StateField &field, uint64_t *out) {
    uint64_t bytes = bytes_of(elem_of(field.elem()));
    const uint32_t rank = field.dims()->size();
    if (rank < 1 || rank > 6) return false;
    for (uint32_t i = 0; i < rank; ++i)
        if (field.dims()->Get(i) == 0 || !checked::mul(bytes, field.dims()->Get(i), &bytes)) return false;
    *out = bytes;
    return true;
}

} // namespace longwave::artifact
