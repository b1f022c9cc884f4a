// The plan of one entry of the artifact: buffers, and steps that call kernels on them. It is the
// last form before bytes.
#pragma once
#include "compiler/devices/traits.h"
#include "compiler/ir/step.h"
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace longwave::compiler {

struct Buffer {
    std::string name;
    Space space = Space::arena;
    uint64_t bytes = 0;
    uint64_t offset = 0; // set by plan_memory (arena, cache) or by Storage (weights, derived)
    int first = -1,
        last = -1;     // steps of its entry between which an arena buffer is alive; -1: from the start
    int value = -1;    // of the graph, of which it holds all rows; -1: of none
    bool half = false; // its elements are float16 (fp16_storage.h)
    bool channel_major = false; // its rows lie [channel][row] (channel_major.h)
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
    uint32_t rows = 0, row_bytes = 0, period = 1, phase = 0, clock_num = 1, clock_den = 1;
    uint32_t delay = 0; // input ticks
    uint32_t whole = 1; // ir::Type::whole
};

// The param of a kernel that an op sets to 1 where one call may serve several streams
// (schedules/halide/builder.h). How many, and whether it pays, is decided later.
inline constexpr char param_for_streams[] = "streams";

struct EntryPlan {
    enum class Kind : uint8_t { prepare, run, stream } kind = Kind::run;
    uint32_t block = 0;  // input ticks: capacity of a run, block of a stream
    uint32_t window = 0; // stream: ticks that every block looks at again; 0: its own
    const devices::Traits *device = &devices::host(); // runs it
    uint32_t least = 0;                               // run: fewest ticks; 0: any
    std::string fixed;                                // the layer that asks for `least`
    bool one_of_several = false;                      // run: there are others, of other capacities
    std::vector<Buffer> buffers;                      // its own arena and caches
    std::vector<Step> steps;
    std::vector<Step> rebuild; // stream: the caches from the state
    // Stream: specifications of calls that are worth a kernel for several streams (param_for_streams).
    std::set<std::string> for_streams;
    std::vector<std::string> host_scalars; // names of those that its steps read
    std::vector<InputPort> inputs;
    std::vector<OutputPort> outputs;
    std::map<uint32_t, uint32_t>
        transformed; // run: values of the graph that transforms of so many rows compute
    uint64_t arena_bytes = 0, cache_bytes = 0;
    uint32_t period = 1;

    // "prepare", "run", "run on vulkan-32k", "run 128" where it is one of several, "stream 160",
    // "stream 160 on …"
    std::string name() const;
};

// The device that computes a step. In a mixed run the host computes some steps of another device's
// entry.
inline const devices::Traits &device_of(const EntryPlan &entry, const Step &step) {
    return step.cpu ? devices::host() : *entry.device;
}

// Calls visit(entry, step) for each kernel call that `device` computes.
template <class Visit>
void each_call(const std::vector<EntryPlan> &entries, const devices::Traits &device, const Visit &visit) {
    for (const EntryPlan &entry : entries)
        for (const auto *steps : {&entry.steps, &entry.rebuild})
            for (const Step &step : *steps)
                if (step.kind == Step::Kind::call && &device_of(entry, step) == &device) visit(entry, step);
}

// Sizes rounded up to whole pieces.

inline constexpr uint64_t cache_line = 64;

inline uint32_t round_up(uint32_t n, uint32_t multiple) { return (n + multiple - 1) / multiple * multiple; }
inline uint64_t to_lines(uint64_t bytes) { return (bytes + cache_line - 1) / cache_line * cache_line; }

// Rows of one call of a whole run: all when they are few, else 64 to 128, the number that leaves
// the fewest rows over in the last call.
inline uint32_t tile_rows(uint32_t rows) {
    if (rows <= 128) return rows;
    uint32_t best = 64;
    for (uint32_t tile = best + 1; tile <= 128; tile++)
        if (round_up(rows, tile) < round_up(rows, best)) best = tile;
    return best;
}

// Which kernels a device has: the answers of the kernel compiler, by specification.

// By specification: the arguments of each kernel.
using KernelSignatures = std::map<std::string, schedules::Signature>;

struct Capabilities {
    KernelSignatures signatures;                // kernels that the device has
    std::map<std::string, std::string> refused; // kernels that it does not have, with the reason

    bool knows(const std::string &spec) const { return signatures.contains(spec) || refused.contains(spec); }
};

} // namespace longwave::compiler
