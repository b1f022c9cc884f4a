#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/ops/linear/bands.h"
#include "compiler/ops/linear/skip_mask.h"
#include "compiler/ops/linear/transformed_product.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/linear.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::ir {

Expected<schedules::WeightFormat> weight_format(const Node &node) {
    if (!node.has(stored_weights.name)) return schedules::WeightFormat::float32;
    const std::string &name = node.text(stored_weights.name);
    const auto format = schedules::find_weight_format(name);
    if (!format)
        return Status::input(fmt::format("attribute {} expected {}, found {}", stored_weights.name,
                                         schedules::weight_format_names, name));
    return *format;
}

Status check_activation_steps(const Node &node) {
    if (!node.has(activation_steps.name)) return Status::ok();
    LW_ASSIGN(const schedules::WeightFormat format, weight_format(node));
    if (format != schedules::WeightFormat::int8 && format != schedules::WeightFormat::int4)
        return Status::input(
            fmt::format("attribute {} is for weights of int8 or int4", activation_steps.name));
    if (node.integer(activation_steps.name) == schedules::byte_activation_steps) return Status::ok();
    return rules::integer(node, activation_steps.name, schedules::least_activation_steps,
                          schedules::most_activation_steps)
        .status();
}

// The lanes after the last input are zero. Enough of them are read that the sums divide into equal
// parts.
static uint32_t inputs_read(const Type &x) {
    const uint32_t in = x.width();
    return x.dims.size() == 1 && x.row() > 1 ? (in + 7) / 8 * 8 : x.row();
}

schedules::PackedPanels packed_matrix(const Numbers &weights, const Type &type, const Type &x, bool gated,
                                      schedules::WeightFormat format) {
    const uint32_t in = x.width(), out = type.dims[0], half = gated ? out / 2 : out;
    schedules::PackedPanels packed({inputs_read(x), half, gated ? 2u : 1u, format});
    std::vector<uint32_t> lanes(in);
    for (uint32_t i = 0; i < in; ++i) lanes[i] = x.physical(i);
    std::vector<double> row(in);
    for (uint32_t o = 0; o < out; ++o) {
        weights.read(size_t{o} * in, row);
        packed.set(o % half, o / half, row, lanes);
    }
    return packed;
}

Packed words_of(schedules::PackedPanels packed, schedules::WeightFormat format) {
    const auto words = static_cast<uint32_t>(packed.words.size());
    const Elem elem = format == schedules::WeightFormat::float32 ? Elem::f32 : Elem::i32;
    return Packed::of(elem, {words}, std::move(packed.words));
}

const Node *multiplier(const Graph &graph, ValueId matrix) {
    for (const Node &node : graph.nodes) {
        if (node.op != &op_linear || node.inputs[1] != matrix) continue;
        const bool gated = std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node &reader) {
            return reader.inputs[0] == node.output && node.op->absorb_consumer(node, reader);
        });
        const Type &x = graph.type(node.inputs[0]);
        if (!gated && x.dims.size() == 1 && graph.type(matrix).dims[0] > 1) return &node;
    }
    return nullptr;
}

// With more rows of each stream the weights are read once for many rows already.
constexpr uint32_t most_rows_for_streams = 8;

bool may_be_special(const KernelCall &call) {
    return !call.consumer() && !call.node.has(stored_weights.name) && !has_skip_mask(call.node) &&
           call.type(1).dims[0] > 1 && call.context.device.has_any_of(devices::cpu_kernels);
}

static std::optional<Bands> bands_for(const KernelCall &call) {
    if (!may_be_special(call) || call.type(0).dims.size() != 1) return std::nullopt;
    return bands_of(call.constant(1), call.type(1).dims[0], call.type(0).width(), call.type(0).row());
}

static Status banded_product(KernelCall &call, Bands bands) {
    const bool bias = call.node.integer("bias") != 0;
    const auto out = static_cast<uint32_t>(bands.first.size());
    std::vector<float> shift(schedules::pad(out), 0.f);
    for (uint32_t o = 0; bias && o < out; ++o) shift[o] = static_cast<float>(call.constant(2)[o]);
    call.kernel<contract::BandedLinear>(
        {.in = call.type(0).row(), .out = out, .rows = call.rows(), .band = bands.width, .bias = bias},
        {.x = call.rows_of(0),
         .w = call.packed("weight", Packed::f32({out, bands.width}, std::move(bands.weights))),
         .first = call.packed("first", Packed::of(Elem::i32, {out}, std::move(bands.first))),
         .bias = bias ? Given::Weight(call.packed("bias", shift)) : Given::Weight(),
         .y = call.result_rows()});
    return Status::ok();
}

// Weights lie in the order in which kernels read them. With an absorbed gate (glu) the second half
// of the outputs are the gates.
Status product(KernelCall &call) {
    LW_ASSIGN(const schedules::WeightFormat format, weight_format(call.node));
    if (std::optional<Bands> bands = bands_for(call)) return banded_product(call, *std::move(bands));
    if (std::optional<FourierMatrix> matrix = transform_for(call)) return transform(call, *std::move(matrix));
    const Type &x = call.type(0);
    const bool gated = call.consumer() != nullptr;
    const uint32_t out = call.type(1).dims[0], half = gated ? out / 2 : out, padded = schedules::pad(half);
    const bool integer =
        call.node.has(activation_steps.name) && call.context.device.integer_products && half > 1;
    const bool bias = call.node.integer("bias") != 0;
    schedules::PackedPanels packed = packed_matrix(call.constant(1), call.type(1), x, gated, format);
    const schedules::Panels panels = packed.panels;
    const std::vector<float> scales = std::move(packed.scales);
    std::vector<float> shift(size_t{padded} * panels.halves, 0.f);
    for (uint32_t o = 0; bias && o < out; ++o)
        shift[size_t{o / half} * padded + o % half] = static_cast<float>(call.constant(2)[o]);
    contract::Linear params{.in = panels.in,
                            .out = half,
                            .rows = call.rows(),
                            .bias = bias,
                            .glu = gated,
                            .weights = std::string(schedules::name_of(format))};
    if (panels.in != x.row()) params.in_row = x.row();
    const int steps = integer ? static_cast<int>(call.node.integer(activation_steps.name)) : 0;
    if (integer)
        params.activations = std::string(steps == schedules::byte_activation_steps ? "int8" : "int16");
    const size_t last = call.node.inputs.size() - 1;
    const bool masked = has_skip_mask(call.node) && takes_skip_mask(call.context) && out > 1;
    if (!masked && call.rows() <= most_rows_for_streams) call.serves_streams();
    if (masked) {
        params.advice = call.type(last).width();
        params.wanted = call.node.integer(skip_mask_attribute.name);
    }
    contract::Linear::Arguments<Given> arguments{.x = call.rows_of(0)};
    if (masked) arguments.advice = call.rows_of(last);
    arguments.w = call.packed("weight", words_of(std::move(packed), format));
    if (!scales.empty()) arguments.scale = call.packed("scale", scales);
    if (integer) arguments.steps = call.packed("steps", {static_cast<float>(steps)});
    if (bias) arguments.bias = call.packed("bias", shift);
    arguments.y = call.result_rows();
    call.kernel(params, arguments);
    return Status::ok();
}

} // namespace longwave::ir
