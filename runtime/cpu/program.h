// An entry made ready for the CPU: its steps with their bindings as offsets (Program, immutable,
// one for the model) and what calls write while they run it (Frame, one for each worker of each
// stream or runner).
#pragma once
#include "formats/artifact/schema.h"
#include "runtime/core/code.h"
#include "runtime/core/device.h"
#include "runtime/core/memory.h"
#include "runtime/core/status.h"
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

// Mirrors of the structures Halide's code reads (halide_type_t, halide_dimension_t,
// halide_buffer_t); the layout is fixed by the machine code.
struct Type {
    uint8_t code, bits; // code: 0 int, 1 uint, 2 float
    uint16_t lanes;
};
struct Dimension {
    int32_t min, extent, stride; // in elements
    uint32_t flags;
};
struct Buffer {
    uint64_t device;
    const void *device_interface;
    uint8_t *host;
    uint64_t flags;
    Type type;
    int32_t dimensions;
    Dimension *dim;
    void *padding;
};
static_assert(sizeof(Dimension) == 16);
static_assert(sizeof(void *) != 8 || (sizeof(Buffer) == 56 && offsetof(Buffer, host) == 16 &&
                                      offsetof(Buffer, type) == 32 && offsetof(Buffer, dim) == 40));
static_assert(sizeof(void *) != 4 || (sizeof(Buffer) == 40 && offsetof(Buffer, host) == 12 &&
                                      offsetof(Buffer, type) == 24 && offsetof(Buffer, dim) == 32));

// What a kernel's halide_malloc takes from: a bump allocator inside the image works on it.
// `args[0]` points to a pointer to it.
struct Scratch {
    char *base; // 64-aligned
    uint64_t size;
    uint64_t used; // 0 before every call
};

// A kernel as programs call it; one table of these belongs to the model.
struct Kernel {
    Function function = nullptr;
    const fb::Kernel *plan = nullptr;
    Dimension *dims = nullptr; // of all its arguments in order; kernels only read them
};

// Where the spaces lie for one entry of one stream or runner, indexed by fb::Space.
struct Spaces {
    uint8_t *at[static_cast<size_t>(fb::Space::MAX) + 1] = {};
    uint8_t *&operator[](fb::Space space) { return at[static_cast<size_t>(space)]; }
};

// A place, and the descriptor that follows it.
struct Moving {
    uint64_t offset = 0, slot_bytes = 0, tile_bytes = 0;
    uint32_t slots = 1, slot_add = 0;
    uint32_t buffer = 0; // index into a frame's descriptors
    fb::Space space = fb::Space::weights;

    uint8_t *at(const Spaces &spaces, uint64_t firing, uint32_t tile) const {
        uint64_t slot = 0;
        if (slots > 1) {
            const uint64_t position = firing + slot_add;
            slot = (slots & (slots - 1)) == 0 ? position & (slots - 1) : position % slots;
        }
        return spaces.at[static_cast<size_t>(space)] + offset + slot * slot_bytes + tile * tile_bytes;
    }
};

// A scalar that depends on firing, tile or length.
struct Number {
    const fb::Scalar *plan = nullptr;
    uint32_t value = 0; // index into a frame's values
};

struct Call {
    const fb::Step *plan = nullptr;
    Function function = nullptr;
    uint64_t bytes = 0;
    const Kernel *kernel = nullptr;
    uint32_t pointers = 0;             // index of its argument array in a frame
    uint32_t moving = 0, n_moving = 0; // call: the buffers that move; zero and zero_tail: the place
    uint32_t numbers = 0, n_numbers = 0;
    uint32_t period = 1, phase = 0, tiles = 1;
    fb::StepKind kind = fb::StepKind::call;
    bool ordered = false;
};

// The place of an argument, and the descriptor that follows it.
Moving moving(const fb::Place &place, uint32_t buffer);
Buffer descriptor(const fb::KernelArg &arg, Dimension *dims);

class Frame;
using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;

class Program {
public:
    // Takes its memory from `parts`; call it once with measuring parts and once with real ones.
    // `steps` may be null. `whose`: of one session, or of any that the frame is told.
    enum class Whose : uint8_t { one, any };
    void build(const Steps *steps, const Kernel *kernels, Parts &parts, Whose whose = Whose::one);

    uint32_t size() const { return n_calls_; }
    const Call &operator[](uint32_t i) const { return calls_[i]; }
    // One tile of one step. False: its kernel failed.
    bool run(const Call &call, Frame &frame, uint64_t firing, uint32_t tile, const Extent &extent) const;

private:
    void place(const Call &call, Frame &frame, uint64_t firing, uint32_t tile, const Extent &extent) const;

    Call *calls_ = nullptr;
    Moving *moving_ = nullptr;
    Number *numbers_ = nullptr;
    uint32_t n_calls_ = 0;
};

// Descriptors, argument arrays and scalars, built once: a call then only moves host pointers and
// numbers.
class Frame {
public:
    // `scratch` belongs to the worker; kernels get its address: it must not move. Measuring and
    // real parts as above.
    void build(const Steps *steps, const Kernel *kernels, const Spaces &spaces, Scratch *scratch,
               Parts &parts);
    // The session of the next calls, of a program for any.
    void serve(const Spaces &spaces) { spaces_ = spaces; }

private:
    friend class Program;
    Spaces spaces_;
    Buffer *buffers_ = nullptr;
    void **pointers_ = nullptr;
    int32_t *values_ = nullptr;
    Scratch *scratch_ = nullptr;
    void *user_context_ = nullptr; // kernels get its address too: a frame stays where it was built
};

// What a call whose kernel failed is to the caller.
inline lw_status kernel_failed(const Call &call) {
    return fail(LW_DEVICE, {"a kernel failed: ", name_of(call.plan)});
}

// The most scratch any kernel of these steps needs in this code variant.
uint64_t scratch_needed(const Steps *steps, const fb::CodeVariant *variant);

} // namespace longwave::runtime
