// How a GPU kernel is dispatched: what longwave-kgen tells about a module beside its signature.
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

struct Dispatch {
    std::string entry; // of the module
    std::array<uint32_t, 3> grid{}, local{};
    uint32_t shared_bytes = 0;
    std::vector<uint8_t> bindings; // of each argument, as Module.bindings says (formats/artifact/modules.fbs)
    uint32_t features = 0;         // Modules.features
    uint8_t table = 255;           // Module.table
    uint8_t overflow = 255;        // Module.overflow
    uint32_t variants = 1;         // of the kernel (schedules/contract/kernel.h)
};

// The member "gpu" of a signature:
//     {"entry":"k","grid":[4,1,1],"local":[64,1,1],"shared_bytes":1024,"bindings":[0,-1,2],"scalars":1,
//      "features":["shaderFloat64"],"variants":1}
// `bindings` has a number for each argument, −1 for scalars, which share the one of `scalars`, and
// for what the module does not read. Fault::internal says what is wrong.
Expected<Dispatch> parse_dispatch(const std::string &text, const schedules::Signature &signature);

} // namespace longwave::compiler
