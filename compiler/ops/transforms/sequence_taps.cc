// sequence_taps: the inverse of a Fourier spectrum of twice as many samples as the sequence has
// rows. It returns the first half of the samples.
#include "compiler/base/parallel.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernels/transforms.h"

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
    const bool all = tiles.plan(call);
    const uint32_t length = 2 * call.rows();
    const TransformTables tables = transform_tables(call, transform, length, true);
    call.kernel<contract::SequenceInverse>({.transform = transform.name(),
                                            .all = all,
                                            .length = length,
                                            .channels = tiles.channels,
                                            .scale = transform.inverse_scale(length),
                                            .rows = call.rows(),
                                            .parts = parts_of(call.type(0))},
                                           {.h = call.all_rows_of(0),
                                            .twiddles = tables.twiddles,
                                            .cosines = tables.cosines,
                                            .y = call.result_rows()});
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
