// scalar: a number that the host may change while a stream runs (a gain, a mix), in every element of as
// many rows as x has. Nothing of x counts but its shape and its clock. An offline run has the initial
// number.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "formats/base/characters.h"
#include "schedules/contract/kernels/selection.h"
#include <algorithm>

namespace longwave::ir {
namespace {

constexpr double most = 3e38; // as rule V18 of the artifact
constexpr size_t longest_text = 256;

// What the artifact takes (rule V16), and what `NAME=VALUE` can say. `without`: characters.
Status check_text(const Node &node, const char *attribute, std::string_view without) {
    const std::string &text = node.text(attribute);
    const auto *bytes = reinterpret_cast<const uint8_t *>(text.data());
    bool good = !text.empty() && text.size() <= longest_text;
    for (size_t i = 0; good && i < text.size();) {
        const Character c = character_at(bytes + i, text.size() - i);
        good = c.bytes > 0 && !is_control(c.code) && without.find(text[i]) == without.npos;
        i += c.bytes;
    }
    return good ? Status::ok()
                : Status::input(fmt::format(
                      "attribute {} expected 1 to {} bytes of printable text without any of \"{}\"",
                      attribute, longest_text, without));
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(check_text(node, "name", "/\\= "));
    if (node.has("unit")) LW_TRY(check_text(node, "unit", "\\"));
    LW_TRY(rules::flag(node, "smoothed").status());
    const double initial = node.number("initial"), low = node.number("low"), high = node.number("high");
    if (!(-most <= low && low <= initial && initial <= high && high <= most))
        return Status::input(
            fmt::format("expected low <= initial <= high within 3e38, found {}, {}, {}", low, initial, high));
    return in[0];
}

StreamRule stream(const Node &, std::span<const Type>) {
    return {.carries = {{"value", Elem::f32, {compiler::host_scalar_numbers}}}};
}

void reference(const Node &node, std::span<const Operand *const>, const ReferenceContext &, Array &out) {
    std::fill(out.data.begin(), out.data.end(), node.number("initial"));
}

// A reader that is not planned here may be the only one.
bool used(const PlanContext &context) {
    const Graph &graph = context.graph;
    const auto reads = [&](const Node &node) {
        return std::count(node.inputs.begin(), node.inputs.end(), context.node.output) > 0;
    };
    for (const GraphOutput &output : graph.outputs)
        if (output.value == context.node.output) return true;
    return std::any_of(graph.nodes.begin(), graph.nodes.end(), [&](const Node &node) {
        const PlanContext there{.graph = graph,
                                .node = node,
                                .rows = context.rows,
                                .streaming = context.streaming,
                                .costs = context.costs,
                                .device = context.device};
        return reads(node) && (!node.op->used || node.op->used(there));
    });
}

Status kernel(KernelCall &call) {
    const Node &node = call.node;
    const float initial = static_cast<float>(node.number("initial"));
    LW_ASSIGN(const std::optional<Place> numbers,
              call.host_scalar({.name = node.text("name"),
                                .unit = node.has("unit") ? node.text("unit") : std::string(),
                                .initial = initial,
                                .low = static_cast<float>(node.number("low")),
                                .high = static_cast<float>(node.number("high")),
                                .smoothed = node.integer("smoothed") != 0},
                               "value"));
    const uint32_t row = call.result().row();
    if (!numbers) {
        call.kernel<contract::Repeat>(
            {.row = row, .rows = call.rows()},
            {.x = call.packed("initial", call.result().packed({double{initial}})), .y = call.result_rows()});
        return Status::ok();
    }
    call.one_call();
    call.kernel<contract::ScalarRows>(
        {.row = row, .rows = call.rows(), .smoothed = node.integer("smoothed") != 0},
        {.lanes = call.packed("lanes", call.result().packed({1.0})),
         .y = call.result_rows(),
         .numbers = *numbers});
    return Status::ok();
}

} // namespace

const OpDef op_scalar{
    .name = "scalar",
    .attributes = {{"name", AttributeDef::Kind::text},
                   {"unit", AttributeDef::Kind::text, false},
                   {"initial", AttributeDef::Kind::number},
                   {"low", AttributeDef::Kind::number},
                   {"high", AttributeDef::Kind::number},
                   {"smoothed", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .used = used,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
