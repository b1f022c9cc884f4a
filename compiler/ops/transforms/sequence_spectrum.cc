// sequence_spectrum: the transform of each channel over the sequence. Row k of the result is bin k.
// Rows after the last bin are zero.
#include "compiler/base/parallel.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernels/transforms.h"
#include <numeric>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const auto transform, SequenceTransform::parse(node.text("transform")));
    LW_ASSIGN(const uint32_t doubled, rules::flag(node, "doubled"));
    LW_ASSIGN(const uint32_t magnitude, rules::flag(node, "magnitude"));
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    if (doubled && transform.cosine)
        return Status::input("attribute doubled expected 0 with a cosine transform, found 1");
    Type type = in[0];
    type.causal = false;
    if (!magnitude && !transform.cosine) type.dims.insert(type.dims.begin(), 2);
    if (doubled) {
        if (type.clock.den % 2) type.clock.num *= 2;
        else type.clock.den /= 2;
    }
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return looks_ahead(around); }

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const auto transform = SequenceTransform::of(node);
    const Operand &x = *in[0];
    in_parts(x.width, context.workers, [&](size_t begin, size_t end) {
        for (size_t c = begin; c < end; ++c) {
            std::vector<double> samples(x.rows * (node.integer("doubled") ? 2 : 1));
            for (size_t t = 0; t < x.rows; ++t) samples[t] = x.row(t)[c];
            const auto bins = transform.forward(samples);
            for (size_t k = 0; k < bins.size(); ++k) {
                out.row(k)[c] = bins[k].real();
                if (node.integer("magnitude"))
                    out.row(k)[c] = transform.cosine ? std::abs(bins[k].real()) : std::norm(bins[k]);
                else if (!transform.cosine) out.row(k)[x.width + c] = bins[k].imag();
            }
        }
    });
}

Status kernel(KernelCall &call) {
    const auto transform = SequenceTransform::of(call.node);
    const uint32_t rows = call.rows_of_input(0), length = call.node.integer("doubled") ? 2 * rows : rows;
    const ChannelTiles tiles(call.type(0).dims[0]);
    const bool all = tiles.plan(call);
    const TransformTables tables = transform_tables(call, transform, length, false);
    call.kernel<contract::SequenceTransform>({.transform = transform.name(),
                                              .all = all,
                                              .length = length,
                                              .channels = tiles.channels,
                                              .scale = transform.forward_scale(length),
                                              .rows = rows,
                                              .out_rows = call.rows(),
                                              .magnitude = call.node.integer("magnitude") != 0},
                                             {.x = call.all_rows_of(0),
                                              .twiddles = tables.twiddles,
                                              .cosines = tables.cosines,
                                              .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_sequence_spectrum{
    .name = "sequence_spectrum",
    .attributes = {{"transform", AttributeDef::Kind::text},
                   {"doubled", AttributeDef::Kind::integer},
                   {"magnitude", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .end = EndRule::fixed,
    .no_epilogue = true,
    .channel_tiles = true,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
