// frame: overlapping windows of a signal. Each is complete at the end of its hop, so the front end
// has no delay. It has no kernel: the kernel of its reader absorbs it.
#include "compiler/ops/support/rules.h"

namespace longwave::ir {
namespace {

constexpr uint32_t longest = 1 << 20;

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 2));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_ASSIGN(const uint32_t window, rules::integer(node, "window", 1, longest));
    LW_ASSIGN(const uint32_t hop, rules::integer(node, "hop", 1, longest));
    if (in[0].dims != std::vector<uint32_t>{1})
        return Status::input("expected a mono signal [1], found " + rules::text(in[0].dims));
    LW_TRY(rules::operand(in[1], "window", {window}));
    Type type = in[0];
    type.dims = {window};
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, hop));
    return type;
}

StreamRule stream(const Node &node, std::span<const Type>) {
    const int64_t rows = node.integer("window") - node.integer("hop");
    return history(rows > 0 ? static_cast<uint32_t>(rows) : 0);
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const int64_t window = node.integer("window"), hop = node.integer("hop");
    for (size_t i = 0; i < out.rows; ++i)
        for (int64_t j = 0; j < window; ++j) {
            const int64_t t = static_cast<int64_t>(i + 1) * hop - window + j;
            out.row(i)[j] =
                t < 0 ? 0.0 : *in[0]->row(static_cast<size_t>(t)) * in[1]->data[static_cast<size_t>(j)];
        }
}

} // namespace

const OpDef op_frame{
    .name = "frame",
    .attributes = {{"window", AttributeDef::Kind::integer}, {"hop", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .begins_late = true,
    .reference = reference,
};

} // namespace longwave::ir
