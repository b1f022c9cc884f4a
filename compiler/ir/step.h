// The steps of a plan: where an argument lies, how a scalar is computed, and when a step fires.
// Data only; plan.fbs describes how the runtime reads it.
#pragma once
#include "formats/base/elem.h"
#include "formats/base/shared_array.h"
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace longwave::compiler {

enum class Space : uint8_t { weights, derived, state, arena, cache };

// Names a buffer of the plan. The two top bits name the owner; the buffers of an entry count from
// 0.
using BufferId = uint32_t;
inline constexpr BufferId shared_buffer = 0x80000000u; // Storage: weights and derived tables
inline constexpr BufferId state_buffer = 0x40000000u;  // StateRecord: the stream state that all entries share

// A buffer of the entry itself.
inline bool of_entry(BufferId id) { return (id & (shared_buffer | state_buffer)) == 0; }

// The address of an argument on firing f and tile i:
// offset + ((f + slot_add) mod slots)·slot_bytes + i·tile_bytes inside the buffer.
struct Place {
    BufferId buffer = 0;
    uint64_t offset = 0, slot_bytes = 0, tile_bytes = 0;
    uint32_t slots = 1, slot_add = 0;
};

struct Scalar {
    enum class Kind : uint8_t { constant, slot, length, rows = 4, filled = 5 } kind = Kind::constant;
    int32_t value = 0, mul = 0, tile_mul = 0;
    uint32_t modulus = 1, add = 0;
};

// A number that the host may change while a stream runs (fb::HostScalar).
struct HostScalar {
    std::string name, unit; // unit: "" for none
    float initial = 0, low = 0, high = 0;
    bool smoothed = false;
    bool operator==(const HostScalar &) const = default;
};
inline constexpr uint32_t host_scalar_numbers = 3; // of its field of the state

using Argument = std::variant<Place, Scalar>;

struct Step {
    enum class Kind : uint8_t { call, zero, zero_tail, to_device, to_cpu } kind = Kind::call;
    std::string name; // "block.0.conv long_conv_direct"
    std::string layer;
    std::string spec; // kernel specification (schedules/contract/kernel.h)
    uint32_t period = 1, phase = 0, tiles = 1;
    int node = -1;            // of the graph, the anchor of the region that it belongs to; -1: of none
    size_t writes = SIZE_MAX; // call: the number of last arguments that it writes; SIZE_MAX: unknown
    bool cpu = false;         // in a run of another device: the host computes this step
    bool ordered =
        false; // tiles run in order: each one continues an argument that the one before updated in place
    std::vector<Argument> args;
    double cost = 0;                         // predicted ns per firing; 0: unknown
    uint64_t bytes = 0;                      // zero, to_device, to_processor
    uint32_t rows = 0, row_bytes = 0;        // zero_tail
    uint32_t mul = 1, den = 1, whole = 1;    // zero_tail
    uint32_t lead = 0;                       // zero_tail in a stream: rows before the first of the sequence
    uint32_t replay_from = 0, replay_to = 0; // rebuild: the range of past firings that run again
};

// Numbers in the memory layout of a kernel, little-endian.
struct Packed {
    Elem elem = Elem::f32;
    std::vector<uint32_t> dims; // slowest first
    SharedArray<uint8_t> bytes;

    // Moved values are not copied.
    template <class T> static Packed of(Elem elem, std::vector<uint32_t> dims, std::vector<T> values) {
        const auto held = std::make_shared<const std::vector<T>>(std::move(values));
        const std::span bytes(reinterpret_cast<const uint8_t *>(held->data()), held->size() * sizeof(T));
        return {elem, std::move(dims), SharedArray<uint8_t>(held, bytes)};
    }
    static Packed f32(std::vector<uint32_t> dims, std::vector<float> values) {
        return of(Elem::f32, std::move(dims), std::move(values));
    }
    static Packed f64(std::vector<uint32_t> dims, std::vector<double> values) {
        return of(Elem::f64, std::move(dims), std::move(values));
    }
};

inline uint64_t bytes_of(Elem elem, const std::vector<uint32_t> &dims) {
    uint64_t bytes = longwave::bytes_of(elem);
    for (uint32_t extent : dims) bytes *= extent;
    return bytes;
}

} // namespace longwave::compiler
