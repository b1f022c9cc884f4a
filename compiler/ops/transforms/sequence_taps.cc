// sequence_taps: the inverse of a Fourier spectrum of twice as many samples as the sequence has
// rows. It returns the first half of the samples.
#include "compiler/base/parallel.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/transforms/transforms.h"

namespace longwave::ir {
namespace {

uint32_t parts_of(const Type &spectrum) { return spectrum.dims.size() == 2 ? 2 : 1; }

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const auto transform, SequenceTransform::parse(node.text("transform")));
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (transform.cosine || in[0].dims.size() > 2 || (parts_of(in[0]) == 2 && in[0].dims[0] != 2))
        return Status::input("expected a Fourier spectrum, {channels} or {2, channels}");
    Type type = in[0];
    type.dims = {in[0].dims.back()};
    LW_ASSIGN(type.clock, rules::slower(in[0].clock, 2));
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return looks_ahead(around); }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const auto transform = SequenceTransform::of(node);
    const size_t length = 2 * out.rows;
    in_parts(out.width, context.workers, [&](size_t begin, size_t end) {
        for (size_t c = begin; c < end; ++c) {
            const auto taps = transform.inverse(
                bins_of(*in[0], static_cast<uint32_t>(in[0]->width / out.width), c, out.rows + 1), length);
            for (size_t t = 0; t < out.rows; ++t) out.row(t)[c] = taps[t];
        }
    });
}

Status kernel(KernelCall &call) {
    const auto transform = SequenceTransform::of(call.node);
    const ChannelTiles tiles(call.type(0).dims.back());
    call.kernel("sequence_inverse");
    tiles.plan(call);
    transform_params(call, transform, 2 * call.rows(), true);
    call.param("channels", tiles.channels);
    call.param("rows", call.rows());
    call.param("parts", parts_of(call.type(0)));
    call.read_all(0);
    transform_weights(call, transform, 2 * call.rows(), true);
    call.write();
    return Status::ok();
}

} // namespace

const OpDef op_sequence_taps{
    .name = "sequence_taps",
    .attributes = {{"transform", AttributeDef::Kind::text}},
    .infer = infer,
    .stream = stream,
    .end = EndRule::fixed,
    .channel_tiles = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
