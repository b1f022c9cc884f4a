// grouped_conv: centred convolutions over the rows of a sequence with zeros outside. Each group
// maps one or two features to one or two features. `half`: the rows are bins. A real sequence has
// rows/2 + 1 bins; the other rows are zero and are not read.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernels/transforms.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::flag(node, "half").status());
    const std::string &groups = node.text("groups");
    if (groups != "channel" && groups != "pairs" && groups != "halves")
        return Status::input("attribute groups expected channel, pairs or halves, found \"" + groups + "\"");
    LW_TRY(rules::count(in, 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    const uint32_t channels = in[0].dims.back(), inputs = in[0].width() / channels;
    LW_TRY(rules::operand(in[1], "weight", {0, inputs, 0}));
    LW_TRY(rules::operand(in[2], "bias", {in[1].dims[0]}));
    const uint32_t outputs = in[1].dims[0] / channels;
    if (inputs > 2 || in[1].dims[0] % channels || outputs < 1 || outputs > 2 ||
        (groups != "channel" && (inputs != 2 || outputs != 2)))
        return Status::input(
            fmt::format("expected one or two features a group, two with pairs and halves; found {} "
                        "and weights {}",
                        rules::text(in[0].dims), rules::text(in[1].dims)));
    if (in[1].dims[2] % 2 == 0)
        return Status::input(fmt::format("expected an odd number of taps, found {}", in[1].dims[2]));
    Type type = in[0];
    type.dims = outputs == 2 ? std::vector<uint32_t>{2, channels} : std::vector<uint32_t>{channels};
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return looks_ahead(around); }

size_t used_rows(const Node &node, size_t rows) { return node.integer("half") ? rows / 2 + 1 : rows; }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const auto &w = context.types[1].dims; // [out, inputs, taps]
    const std::string &groups = node.text("groups");
    const size_t channels = context.types[0].dims.back();
    const auto used = static_cast<int64_t>(used_rows(node, out.rows));
    for (int64_t r = 0; r < used; ++r)
        for (size_t o = 0; o < out.width; ++o) {
            double sum = in[2]->data[o];
            for (size_t i = 0; i < w[1]; ++i) {
                const size_t feature = groups == "channel" ? i * channels + o % channels
                                       : groups == "pairs" ? 2 * (o % channels) + i
                                                           : o / 2 * 2 + i;
                for (size_t j = 0; j < w[2]; ++j) {
                    const int64_t from = r + static_cast<int64_t>(j) - static_cast<int64_t>(w[2] / 2);
                    if (from >= 0 && from < used)
                        sum += in[1]->data[(o * w[1] + i) * w[2] + j] *
                               in[0]->row(static_cast<size_t>(from))[feature];
                }
            }
            out.row(static_cast<size_t>(r))[o] = sum;
        }
}

// Weights [taps][input][row of outputs].
Status kernel(KernelCall &call) {
    const std::vector<uint32_t> &w = call.type(1).dims;
    const Type &y = call.result();
    const uint32_t channels = call.type(0).dims.back(), outputs = w[0] / channels;
    call.one_call();
    std::vector<float> weights(size_t{w[2]} * w[1] * y.row(), 0.f);
    for (uint32_t o = 0; o < w[0]; ++o)
        for (uint32_t i = 0; i < w[1]; ++i)
            for (uint32_t j = 0; j < w[2]; ++j)
                weights[(size_t{j} * w[1] + i) * y.row() + y.physical(o)] =
                    static_cast<float>(call.constant(1)[(size_t{o} * w[1] + i) * w[2] + j]);
    call.kernel<contract::GroupedConv>({.channels = channels,
                                        .inputs = w[1],
                                        .outputs = outputs,
                                        .taps = w[2],
                                        .rows = call.rows(),
                                        .used = used_rows(call.node, call.rows()),
                                        .groups = call.node.text("groups")},
                                       {.x = call.all_rows_of(0),
                                        .w = call.packed("weight", weights),
                                        .bias = call.packed("bias", y.packed(call.constant(2))),
                                        .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_grouped_conv{
    .name = "grouped_conv",
    .attributes = {{"groups", AttributeDef::Kind::text}, {"half", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .end = EndRule::fixed,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
