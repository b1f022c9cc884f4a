// Stores the values between the kernels of an offline run as float16. Arithmetic stays float32. A
// buffer of the arena becomes half as long when every kernel that uses it allows this, and its
// steps name kernels with such arguments (with_fp16). Inputs and outputs of the entry stay
// float32, and so do weights, spectra and values that are updated in place. Why here: buffers and
// the arguments of kernels are known, offsets are not fixed yet. Needs: a plan on which plan_memory
// runs afterwards. Keeps: the order of steps, lifetimes. Fails: never.
#pragma once
#include "compiler/plan/entry_plan.h"
#include <cstddef>
#include <string>
#include <vector>

namespace longwave::compiler {

void store_fp16(EntryPlan &plan, const KernelSignatures &signatures);

// Specifications of kernels that store some arguments as float16: the kernel's own with one more
// member,
//     {"kernel":"linear",…,"float16":[0,3]}
// The member lists the numbers of these arguments in call order. longwave-kgen does not know this
// member: the compiler rewrites the module that longwave-kgen made for float32
// (compiler/spirv/rewrite_fp16.h).

struct Fp16Spec {
    std::string kernel;            // the specification that longwave-kgen takes
    std::vector<size_t> arguments; // in order; empty: all are as the kernel says
};

std::string with_fp16(const std::string &spec, const std::vector<size_t> &arguments);
Fp16Spec split_fp16(const std::string &spec);

} // namespace longwave::compiler
