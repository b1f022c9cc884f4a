// Specifications of kernels some of whose arguments are stored as float16: the kernel's own with one more member,
//     {"kernel":"linear",…,"float16":[0,3]}
// numbers of arguments in call order. longwave-kgen knows nothing of it: the compiler rewrites what it made for float32
// (compiler/spirv/rewrite_fp16.h).
#pragma once
#include "compiler/codegen/dispatch.h"
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::compiler {

struct Fp16Spec {
    std::string kernel;            // the specification that longwave-kgen takes
    std::vector<size_t> arguments; // in order; empty: all are as the kernel says
};

std::string with_fp16(const std::string &spec, const std::vector<size_t> &arguments);
Fp16Spec split_fp16(const std::string &spec);

// Makes it so: the module's words, the types of its arguments, the descriptor and the feature more. Fault::internal: a
// module that cannot be rewritten.
Status store_fp16(const Fp16Spec &spec, std::vector<uint8_t> &module, schedules::Signature &signature,
                    Dispatch &dispatch);

} // namespace longwave::compiler
