// What lstm and gru share: gates side by side in a row, and a recurrent weight for each of them.
#pragma once
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernel.h"

namespace longwave::ir::gates {

inline constexpr uint32_t widest = 1 << 14; // units: the weights of a layer fit one constant

// 1: the recurrence goes over the bands of each row and begins anew in the next one. Default: 0, over time,
// with a state for each band.
inline constexpr AttributeDef over_bands{"over_bands", AttributeDef::Kind::integer, false};
bool goes_over_bands(const Node &node);

// x {gates · H}, or {F, gates · H} with bands, the part of the gates that does not depend on earlier rows;
// weight [gates · H, H]. The result is {H}, or {F, H}. Input `initial`, which may be missing: [rows of
// states, F, H] without extents of 1.
Expected<Type> infer(const Node &node, std::span<const Type> in, uint32_t gates, size_t initial,
                     uint32_t states);
uint32_t bands_of(const Type &type);
// {F, padded units}: one state in memory.
std::vector<uint32_t> state_dims(const Type &result);

// The reference's order: for each sequence `begin(band)`, then `step(row of x, row of the result)` in turn.
template <class Begin, class Step> void walk(const Node &node, const Type &x, const Operand &rows, Array &out,
                                             const Begin &begin, const Step &step) {
    const size_t bands = bands_of(x), in = rows.width / bands, width = out.width / bands;
    const auto at = [&](size_t t, size_t b) { step(rows.row(t) + b * in, out.row(t) + b * width); };
    if (goes_over_bands(node))
        for (size_t t = 0; t < out.rows; ++t) {
            begin(0);
            for (size_t b = 0; b < bands; ++b) at(t, b);
        }
    else
        for (size_t b = 0; b < bands; ++b) {
            begin(b);
            for (size_t t = 0; t < out.rows; ++t) at(t, b);
        }
}

// y[i] = Σ_k w[row0 + i][k] · h[k] for i < H
void add_product(const Operand &w, size_t row0, const std::vector<double> &h, std::vector<double> &y);

// A call of lstm or gru: one row, or one band. The arguments that both have: the kernel's input, the
// weights as [H][gates][padded H], the result, and the gates.
struct Row {
    uint32_t units = 0, bands = 1, restart = 0;
    Place x, weight;
    std::optional<Scalar> place;
    ResultRows y;
    Place gates;
};
Expected<Row> plan_row(KernelCall &call, uint32_t gates);
// State number `number`, a carry or memory of the call. It begins with the constant input `initial`, if
// there is one.
Place state(KernelCall &call, const char *name, size_t number, size_t initial);

} // namespace longwave::ir::gates
