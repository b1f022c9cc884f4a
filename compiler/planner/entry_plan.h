// One entry of the artifact while it is being planned: buffers, and steps that call kernels on them. The last form before bytes.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace longwave::compiler {

enum class Space : uint8_t { weights, derived, state, arena };

using BufferId = uint32_t;

struct Buffer {
    std::string name;
    Space space = Space::arena;
    uint64_t bytes = 0;
    uint64_t offset = 0;       // set by plan_memory (arena, state) or by Storage (weights, derived)
    int first = -1, last = -1; // steps of its entry between which an arena buffer is alive; -1: from the start
};

// The address of an argument on firing f and tile i: offset + ((f + slot_add) mod slots)·slot_bytes + i·tile_bytes inside the buffer.
struct Place {
    BufferId buffer = 0;
    uint64_t offset = 0, slot_bytes = 0, tile_bytes = 0;
    uint32_t slots = 1, slot_add = 0;
};

// formats/artifact/plan.fbs says what each kind computes.
struct Scalar {
    enum class Kind : uint8_t { constant, slot, length, extent } kind = Kind::constant;
    int32_t value = 0, mul = 0, tile_mul = 0;
    uint32_t modulus = 1, add = 0;
};

using Argument = std::variant<Place, Scalar>;

struct Step {
    enum class Kind : uint8_t { call, zero, zero_tail } kind = Kind::call;
    std::string name; // "block.0.conv long_conv_direct"
    std::string layer;
    std::string spec; // kernel specification (schedules/kernel.h)
    uint32_t period = 1, phase = 0, tiles = 1;
    std::vector<Argument> args;
    uint64_t bytes = 0;                                 // zero
    uint32_t rows = 0, row_bytes = 0, mul = 1, den = 1; // zero_tail
};

struct InputPort {
    uint32_t input = 0;
    Place place;
    uint32_t rows = 0, row_bytes = 0;
};

struct OutputPort {
    std::string name;
    uint32_t width = 0;
    Place place;
    uint32_t rows = 0, row_bytes = 0, period = 1, phase = 0, clock_num = 1, clock_den = 1, delay = 0;
};

struct EntryPlan {
    enum class Kind : uint8_t { prepare, run, stream } kind = Kind::run;
    uint32_t block = 0;          // input ticks: capacity of a run, block of a stream
    std::vector<Buffer> buffers; // its own arena and state; ids below `shared` are Storage's
    std::vector<Step> steps;
    std::vector<InputPort> inputs;
    std::vector<OutputPort> outputs;
    uint64_t state_bytes = 0, arena_bytes = 0;
    uint32_t period = 1;
};

} // namespace longwave::compiler
