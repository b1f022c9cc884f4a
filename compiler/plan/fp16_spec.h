// Specifications of kernels that store some arguments as float16: the kernel's own with one more
// member,
//     {"kernel":"linear",…,"float16":[0,3]}
// The member lists the numbers of these arguments in call order. longwave-kgen does not know this
// member: the compiler rewrites the module that longwave-kgen made for float32
// (compiler/spirv/rewrite_fp16.h).
#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace longwave::compiler {

struct Fp16Spec {
    std::string kernel;            // the specification that longwave-kgen takes
    std::vector<size_t> arguments; // in order; empty: all are as the kernel says
};

std::string with_fp16(const std::string &spec, const std::vector<size_t> &arguments);
Fp16Spec split_fp16(const std::string &spec);

} // namespace longwave::compiler
