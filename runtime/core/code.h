// The kernels' machine code: a table of functions, one a kernel, wherever they came from.
#pragma once
#include "formats/artifact/view.h"
#include "runtime/platform/kernels.h"
#include "runtime/platform/pages.h"
#include <cstdint>

namespace longwave::runtime {

// Every kernel has this form; what the arguments are is said in program.h and
// schedules/contract/kernel.h.
using Function = platform::KernelFunction;

// Filled in from an image of the artifact, or from functions that the program contains: nothing
// behind this class knows the difference.
class Code {
public:
    enum class Fault { none, memory, hash, protect };

    // Copies the image into anonymous memory, hashes it there and only then makes it executable:
    // the file cannot change under it. `table` has room for `entries->size()` functions and lives
    // as long as this does.
    Fault load(artifact::Bytes image, const uint8_t *expected_hash,
               const flatbuffers::Vector<uint32_t> &entries, Function *table);
    void use(const Function *table) { functions_ = table; } // which lives as long as this does
    void unload() {
        if (release_) release_(*this);
        *this = Code();
    }
    const Function *functions() const { return functions_; }

    // What load takes for an image of so many bytes, beside the table.
    static uint64_t memory_for(uint64_t image_bytes) { return platform::code_bytes(image_bytes); }

private:
    const Function *functions_ = nullptr;
    uint8_t *base_ = nullptr;
    uint64_t bytes_ = 0;
    void (*release_)(const Code &) = nullptr; // set by load: nothing but load needs an operating system
};

} // namespace longwave::runtime
