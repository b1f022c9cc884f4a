// correlate: the spectrum conj(K)·σ(Q) of a cross-correlation. σ acts on real and imaginary parts,
// or on the magnitude with the phase unchanged.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/transforms.h"
#include <cmath>
#include <complex>
#include <numbers>

namespace longwave::ir {
namespace {

double activated(const std::string &name, double x) {
    if (name == "gelu") return x * 0.5 * (1 + std::erf(x / std::numbers::sqrt2));
    if (name == "relu") return std::max(x, 0.0);
    if (name == "sigmoid") return 1 / (1 + std::exp(-x));
    if (name == "silu") return x / (1 + std::exp(-x));
    return name == "tanh" ? std::tanh(x) : x;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::flag(node, "magnitude").status());
    const std::string &name = node.text("activation");
    if (name != "id" && name != "gelu" && name != "relu" && name != "sigmoid" && name != "silu" &&
        name != "tanh")
        return Status::input("attribute activation expected id, gelu, relu, sigmoid, silu or tanh, found \"" +
                             name + "\"");
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 1 && (in[0].dims.size() != 2 || in[0].dims[0] != 2))
        return Status::input("expected spectra, {channels} or {2, channels}, found rows " +
                             rules::text(in[0].dims));
    return rules::join(in[0], in[1]);
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const std::string &name = node.text("activation");
    const size_t channels = context.types[0].dims.back(), parts = out.width / channels;
    for (size_t r = 0; r < out.rows; ++r)
        for (size_t c = 0; c < channels; ++c) {
            const auto read = [&](const Operand &from) {
                return std::complex(from.row(r)[c], parts == 2 ? from.row(r)[channels + c] : 0.0);
            };
            std::complex<double> q = read(*in[1]);
            if (node.integer("magnitude")) q *= activated(name, std::abs(q)) / std::max(std::abs(q), 1e-6);
            else q = {activated(name, q.real()), parts == 2 ? activated(name, q.imag()) : 0.0};
            const auto product = std::conj(read(*in[0])) * q;
            out.row(r)[c] = product.real();
            if (parts == 2) out.row(r)[channels + c] = product.imag();
        }
}

Status kernel(KernelCall &call) {
    const Type &x = call.type(0);
    call.kernel<contract::Correlate>({.channels = x.dims.back(),
                                      .parts = x.dims.size(),
                                      .rows = call.rows(),
                                      .activation = call.node.text("activation"),
                                      .magnitude = call.node.integer("magnitude") != 0},
                                     {.k = call.rows_of(0), .q = call.rows_of(1), .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_correlate{
    .name = "correlate",
    .attributes = {{"activation", AttributeDef::Kind::text}, {"magnitude", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
