// What lstm and gru share: gates side by side in a row, and a recurrent weight for each of them.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"

namespace longwave::ir::gates {

inline constexpr uint32_t widest = 1 << 14; // units: the weights of a layer fit one constant

// x {gates · H}, the part of the gates that does not depend on earlier rows; weight [gates · H, H].
// The result is {H}.
Expected<Type> infer(std::span<const Type> in, uint32_t gates);

// y[i] = Σ_k w[row0 + i][k] · h[k] for i < H
void add_product(const Operand &w, size_t row0, const std::vector<double> &h, std::vector<double> &y);

// One row a call: the kernel with its input, the weights as [H][gates][padded H], and H.
void plan_row(KernelCall &call, const char *kernel, uint32_t gates);
// Where a row's gates lie while the kernel runs. The rows of a call share the memory in turn, so
// the kernel updates it, and a step before the call clears it.
Place memory(KernelCall &call, uint32_t gates);
// Row `row` of a constant input [rows, H] with the states before the first row, as the kernel reads a state.
// Without dims if the node has no such input, or if all are zeros.
Packed initial(const KernelCall &call, size_t input, size_t row = 0);

} // namespace longwave::ir::gates
