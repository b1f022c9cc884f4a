// lrpe: a linearised relative position encoding, f(x, t) = [x ⊙ cos(tΘ) ‖ x ⊙ sin(tΘ)] per head,
// with one Θ per feature (LightNet, App. A.2). For an image, feature i of a head is rotated along axis i
// / ⌈dk / axes⌉. Conditions before the image are not rotated.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/attention/positions.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/positions.h"
#include <cmath>

namespace longwave::ir {
namespace {

std::string shape_of(const Node &node) { return node.has("shape") ? node.text("shape") : std::string(); }
uint32_t conditions_of(const Node &node) {
    return node.has("conditions") ? static_cast<uint32_t>(node.integer("conditions")) : 0;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 12));
    LW_ASSIGN(const std::vector<uint32_t> axes, axes_of(shape_of(node)));
    if (node.has("conditions")) {
        LW_ASSIGN(const uint32_t conditions, rules::integer(node, "conditions", 0, 1 << 24));
        if (conditions && axes.empty())
            return Status::input("conditions expected only before an image, whose shape is given");
    }
    if (in[0].dims[0] % heads)
        return Status::input(fmt::format("{} features do not divide into {} heads", in[0].dims[0], heads));
    LW_TRY(rules::operand(in[1], "theta", in[0].dims));
    Type type = in[0];
    LW_ASSIGN(type.dims[0], rules::elements({2, in[0].dims[0]}, "a rotated row"));
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return {.carries = {{"position", Elem::f64, {1}}}}; }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const std::vector<uint32_t> axes = *axes_of(shape_of(node));
    const size_t heads = static_cast<size_t>(node.integer("heads")), dk = in[0]->width / heads,
                 before = conditions_of(node),
                 each = axes.empty() ? dk : (dk + axes.size() - 1) / axes.size();
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t h = 0; h < heads; ++h)
            for (size_t i = 0; i < dk; ++i) {
                size_t position = t;
                if (!axes.empty())
                    position = t < before ? 0 : (t - before) / stride_of(axes, i / each) % axes[i / each];
                const double x = in[0]->row(t)[h * dk + i],
                             phase = static_cast<double>(position) * in[1]->data[h * dk + i];
                out.row(t)[2 * h * dk + i] = x * std::cos(phase);
                out.row(t)[(2 * h + 1) * dk + i] = x * std::sin(phase);
            }
}

Status kernel(KernelCall &call) {
    const std::vector<uint32_t> axes = *axes_of(shape_of(call.node));
    const uint32_t heads = static_cast<uint32_t>(call.node.integer("heads")),
                   dk = call.type(0).dims[0] / heads;
    call.one_call();
    const Theta theta(call, {heads, dk});
    const Count count = call.count_of("position");
    call.kernel<contract::Lrpe>({.heads = heads,
                                 .dk = dk,
                                 .rows = call.rows(),
                                 .sizes = std::vector<int64_t>(axes.begin(), axes.end()),
                                 .conditions = conditions_of(call.node),
                                 .counts = count.counts},
                                {.x = call.rows_of(0),
                                 .count_so_far = count.so_far,
                                 .theta_high = theta.high,
                                 .theta_low = theta.low,
                                 .y = call.result_rows(),
                                 .count = count.state});
    return Status::ok();
}

} // namespace

const OpDef op_lrpe{
    .name = "lrpe",
    .attributes = {{"heads", AttributeDef::Kind::integer},
                   {"shape", AttributeDef::Kind::text, false},
                   {"conditions", AttributeDef::Kind::integer, false}},
    .infer = infer,
    .stream = stream,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
