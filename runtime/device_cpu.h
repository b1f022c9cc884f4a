// The processor as a device: code images, the kernels' calling convention, floating-point mode.
#pragma once
#include "formats/artifact/header.h"
#include <cstddef>
#include <cstdint>

namespace longwave::runtime {

// Mirrors of the structures Halide's code reads (halide_type_t, halide_dimension_t, halide_buffer_t); the layout is fixed by the machine code.
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
static_assert(sizeof(void *) != 8 ||
              (sizeof(Buffer) == 56 && offsetof(Buffer, host) == 16 && offsetof(Buffer, type) == 32 && offsetof(Buffer, dim) == 40));

// What a kernel's halide_malloc takes from: a bump allocator inside the image works on it. `args[0]` points to a pointer to it.
struct Scratch {
    char *base; // 64-aligned
    uint64_t size;
    uint64_t used; // 0 before every call
};

using Function = int (*)(void **args);

// Machine code in executable memory. Copied into anonymous memory, hashed there and only then made executable: the file cannot change under it.
class Code {
public:
    enum class Fault { none, memory, hash, protect };
    Fault load(const uint8_t *image, uint64_t size, const uint8_t *expected_hash);
    void unload();
    Function at(uint32_t offset) const { return reinterpret_cast<Function>(base_ + offset); }

private:
    uint8_t *base_ = nullptr;
    uint64_t mapped_ = 0;
};

// While it lives, denormals are flushed to zero: a decaying state must not make a block ten times slower. Restores the caller's mode.
class FlushDenormals {
public:
    FlushDenormals();
    ~FlushDenormals();
    FlushDenormals(const FlushDenormals &) = delete;
    FlushDenormals &operator=(const FlushDenormals &) = delete;

private:
    uint64_t saved_;
};

} // namespace longwave::runtime
