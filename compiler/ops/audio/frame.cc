// frame: overlapping windows of a signal. Each is complete at the end of its hop, so the front end
// has no delay. The kernel of a power spectrum absorbs it.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/audio.h"
#include <algorithm>
#include <numeric>

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

// In a stream, blocks begin at multiples of the hop: parts of that length never straddle the end of
// the ring. The samples of an offline run lie in one piece.
Status kernel(KernelCall &call) {
    const auto window = static_cast<uint32_t>(call.node.integer("window")),
               hop = static_cast<uint32_t>(call.node.integer("hop"));
    const Numbers &weights = call.constant(1);
    const bool weighted = std::any_of(weights.begin(), weights.end(), [](double w) { return w != 1; });
    const Ring samples = call.ring_of(0, hop);
    Given::Weight factors;
    if (weighted) factors = call.packed("window", {weights.begin(), weights.end()});
    call.kernel<contract::Frame>(
        {.window = window,
         .hop = hop,
         .chunk = call.context.streaming ? std::gcd(window, hop) : window,
         .weighted = weighted,
         .rows = call.rows(),
         .ring = samples.rows},
        {.samples = samples.place, .window = factors, .position = samples.position, .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_frame{
    .name = "frame",
    .attributes = {{"window", AttributeDef::Kind::integer}, {"hop", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .begins_late = true,
    .no_epilogue = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
