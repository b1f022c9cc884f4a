// Makes a model packable: plans it with its own numbers and with probes, and compares what is stored
// (artifact/recipe.h).
#pragma once
#include "compiler/codegen/kernel_cache.h"
#include "compiler/driver/check_options.h"
#include "compiler/plan/options.h"
#include "compiler/plan/plan_memory.h"
#include "formats/base/expected.h"
#include "formats/package/package.h"
#include <cstdint>
#include <vector>

namespace longwave::compiler {

struct Packable {
    std::vector<uint8_t> recipe; // the segment
    Storage probed;              // numbers lie together where these do (Storage::like)
    bool unmixed = false;        // Options::unmixed: for the plan that the recipe fits
};

// The passes that merge weights run where what they make can be packed, else none of them does.
// Fault::input: what is stored is no copy of the model's numbers either way; a line for each layer.
Expected<Packable> make_packable(const package::Package &package, const Request &request,
                                 const Options &options, const KernelCacheOptions &kernels);

} // namespace longwave::compiler
