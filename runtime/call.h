// An entry made ready to run: every descriptor and argument array is built once, in memory the owner provides; a call then only moves host pointers and
// scalars that depend on the firing or the tile.
#pragma once
#include "formats/artifact/schema.h"
#include "runtime/device_cpu.h"
#include "runtime/memory.h"
#include <cstdint>

namespace longwave::runtime {

// Where the four spaces lie for one program.
struct Bases {
    uint8_t *space[4] = {}; // indexed by fb::Space
    uint8_t *at(const fb::Place &place) const { return space[static_cast<size_t>(place.space())] + place.offset(); }
};

// A kernel as a program calls it; one table of these belongs to the model and is shared by its programs.
struct Kernel {
    Function function = nullptr;
    const fb::Kernel *plan = nullptr;
    Dimension *dims = nullptr; // of all its arguments in order
};

// A place that moves: its address in firing f and tile t.
struct Moving {
    uint8_t *base = nullptr;
    uint64_t slot_bytes = 0, tile_bytes = 0;
    uint32_t slots = 1, slot_add = 0;
    Buffer *buffer = nullptr;

    uint8_t *at(uint64_t firing, uint32_t tile) const {
        uint64_t slot = 0;
        if (slots > 1) {
            const uint64_t position = firing + slot_add;
            slot = (slots & (slots - 1)) == 0 ? position & (slots - 1) : position % slots;
        }
        return base + slot * slot_bytes + tile * tile_bytes;
    }
};
Moving moving(const fb::Place &place, const Bases &bases);

struct Number {
    const fb::Scalar *plan = nullptr;
    int32_t *value = nullptr;
};

// A step.
struct Call {
    const fb::Step *plan = nullptr;
    Function function = nullptr;
    void **args = nullptr;
    Moving *moving = nullptr; // call: the buffers that move; zero and zero_tail: the place
    Number *numbers = nullptr;
    uint64_t bytes = 0;
    uint32_t n_moving = 0, n_numbers = 0;
    uint32_t period = 1, phase = 0, tiles = 1;
    fb::StepKind kind = fb::StepKind::call;
};

// Lengths of a run, in input ticks.
struct Extent {
    uint64_t rows = 0;
    const uint64_t *lengths = nullptr; // for each input
};

class Program {
public:
    // Takes its memory from `parts`; call it once with measuring parts and once with real ones.
    void build(const fb::Entry &entry, const Kernel *kernels, const Bases &bases, uint64_t scratch_bytes, Parts &parts);

    // Runs every step that fires in `block` (0 for runs and prepare). Null, or the step whose kernel failed.
    const fb::Step *run(uint64_t block, const Extent &extent);

private:
    Call *calls_ = nullptr;
    uint32_t n_calls_ = 0;
    Scratch scratch_{};
    void *user_context_ = nullptr; // kernels get its address: the program must not move once built
};

// The most scratch any kernel of the entry needs in this code variant.
uint64_t scratch_needed(const fb::Entry &entry, const fb::CodeVariant *variant);

} // namespace longwave::runtime
