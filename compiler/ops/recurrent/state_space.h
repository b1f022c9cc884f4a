// What the algorithms of state_space share: its extents in memory, and its numbers as kernels read
// them.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ir/op.h"

namespace longwave::ir {

struct StateSpace {
    uint32_t heads, poles, copies;
    uint32_t last;            // numbers of a pole: 2, or 4 with what float32 lost
    uint32_t width, computed; // of heads and copies, with padding

    StateSpace(const Type &of_poles, uint32_t results); // of each head
};

// The largest real part of a logarithm of a pole: above 0, a state grows.
double growth(const StateSpace &space, const Numbers &poles);

// The weights of state_space and of exponential_taps.
struct StateSpaceNumbers {
    compiler::Packed pole_real, pole_imaginary, c_real, c_imaginary, direct;
    StateSpaceNumbers(const StateSpace &space, const Numbers &poles, const Numbers &c, const Numbers &d);
};

// The taps of a state space. Only the graph in which `state_space_as_convolution` plans a long
// convolution has this op, so it has no rules.
extern const OpDef op_exponential_taps;

// The step of `prepare` that computes the taps of a node `made` of that op, which `call` reads,
// with its D.
Step exponential_taps_step(KernelCall &call, const Node &made, uint32_t taps, const Place &to);

extern const Algorithm state_space_as_convolution;

} // namespace longwave::ir
