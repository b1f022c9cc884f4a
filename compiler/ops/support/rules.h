// Shared by the shape rules of ops: counting inputs, matching shapes, reading attributes within
// limits, and joining clocks. Messages name what was expected and what was found. The builder adds
// the layer and the op.
#pragma once
#include "compiler/ir/op.h"
#include <fmt/format.h>

namespace longwave::ir {

// One definition for each line of the table.
#define LW_OP(name) extern const OpDef op_##name;
#include "compiler/ops/op_table.inc"
#undef LW_OP

namespace rules {

std::string text(const std::vector<uint32_t> &dims); // "[12,96]"

Status count(std::span<const Type> inputs, size_t expected);
// An operand that is constant over the sequence, of exactly these dims. 0 accepts any extent.
Status operand(const Type &type, const char *what, const std::vector<uint32_t> &dims);
// The same for a list of `width` values; one value may be stored as a scalar.
Status vector(const Type &type, const char *what, uint32_t width);
Status real(const Type &type);  // float32 rows
Status timed(const Type &type); // rows with a time axis
Status rank(const Type &type, size_t dims);
Expected<uint32_t> integer(const Node &node, const char *name, uint32_t low, uint32_t high);
Expected<uint32_t> flag(const Node &node, const char *name); // 0 or 1
inline Expected<uint32_t> elements(const std::vector<uint64_t> &dims, const char *what) {
    return count_elements(dims, what);
}

// Attribute `l_max`: the longest sequence that the op was made for.
uint32_t l_max(const Node &node);

// The clock of a value with one row for every `stride` rows of x.
Expected<Clock> slower(const Clock &clock, uint32_t stride);
// The clock of a value with `parts` rows for every row of x.
Expected<Clock> faster(const Clock &clock, uint32_t parts);
// The type of two values that are read row by row. Their types must be equal except for causality;
// the result is causal if both are.
Expected<Type> join(const Type &a, const Type &b);

// ---- what kernel rules share ----
Status plain_channels(const KernelCall &call); // the first input's rows have one dimension
Status norm_kernel(KernelCall &call,
                   const std::string &kind); // kernel "norm": x, then the constants as padded rows

} // namespace rules

StreamRule row_by_row(const Node &node, std::span<const Type> inputs);
inline StreamRule history(uint32_t rows) { return {.history = rows}; }
inline StreamRule looks_ahead(std::string reason) { return {.looks_ahead = std::move(reason)}; }

// Shape rule of ops that keep the first input's type and have no operands.
Expected<Type> infer_same(const Node &node, std::span<const Type> inputs);

} // namespace longwave::ir
