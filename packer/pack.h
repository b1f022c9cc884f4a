// Other weights under the same plan and code (docs/pack.md).
#pragma once
#include "formats/base/expected.h"
#include "packer/shape.h"
#include <array>
#include <cstdint>
#include <functional>
#include <longwave/longwave.h>
#include <span>
#include <vector>

namespace longwave::packer {

// Who signs the new file.
struct Signing {
    std::array<uint8_t, 32> key{}; // public
    uint64_t version = 0;          // of the model
    // Makes the Ed25519 signature (64 bytes) of the root hash (32 bytes); false: it cannot.
    std::function<bool(const uint8_t *root, uint8_t *signature)> sign;
};

struct Options {
    // How the runtime opens the shape: whose code may run. Null: the defaults of the runtime.
    const lw_open_options *open = nullptr;
    // Compare every entry with the golden vectors, which an offline run has made. False: for who does so
    // later, with lw_model_verify.
    bool check = true;
    const Signing *signing = nullptr; // null: the new file is unsigned
};

struct Packed {
    std::vector<uint8_t> bytes;
    size_t tensors = 0, vectors = 0;
    double worst = 0; // largest error of a golden vector, relative to its limit
};

// `shape`: a compiled model with a recipe. `tensors`: all of its model folder. Errors: Fault::input
// names what does not fit; Fault::check: with these weights an entry differs from the offline run. `status`:
// null, or set to what lw_pack returns.
Expected<Packed> pack(std::span<const uint8_t> shape, const Tensors &tensors, const Options &options,
                      lw_status *status = nullptr);

} // namespace longwave::packer
