// spectral_conv: the inverse transform of the product of two spectra: that of a sequence, and that
// of a kernel. The kernel is static, plus one that the run computes. A bias times the sequence is
// added.
#include "compiler/base/parallel.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernels/transforms.h"

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const auto transform, SequenceTransform::parse(node.text("transform")));
    LW_TRY(rules::integer(node, "l_max", 1, 1 << 24).status());
    const bool adaptive = in.size() == 4;
    LW_TRY(rules::count(in, adaptive ? 4 : 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    const uint32_t channels = in[0].dims.back();
    if (in[0].width() != transform.parts() * channels || in[0].dims.size() != transform.parts())
        return Status::input(fmt::format("expected a spectrum of {} parts, found rows {}", transform.parts(),
                                         rules::text(in[0].dims)));
    LW_TRY(rules::operand(in[1], "kernel", {channels, 0}));
    LW_TRY(rules::operand(in[2], "bias", {channels}));
    if (adaptive &&
        (in[3].clock != in[0].clock || (in[3].dims != in[0].dims && in[3].dims != std::vector{channels})))
        return Status::input(
            "expected the adaptive kernel's spectrum beside that of the sequence, found rows " +
            rules::text(in[3].dims));
    Type type = in[0];
    type.dims = {channels};
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return looks_ahead(around); }

// With the bias, which multiplies every bin. [bins]
std::vector<std::complex<double>> fixed_bins(const SequenceTransform &transform, const Numbers &taps,
                                             const Numbers &bias, size_t channel, size_t length) {
    auto bins = transform.forward(taps.copy(channel * (taps.size() / bias.size()), length));
    for (auto &bin : bins) bin += bias[channel];
    return bins;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const auto transform = SequenceTransform::of(node);
    in_parts(out.width, context.workers, [&](size_t begin, size_t end) {
        for (size_t c = begin; c < end; ++c) {
            auto kernel = fixed_bins(transform, in[1]->data, in[2]->data, c, out.rows);
            auto product = bins_of(*in[0], transform.parts(), c, kernel.size());
            if (in.size() == 4) {
                const auto parts = static_cast<uint32_t>(in[3]->width / out.width);
                const auto made = bins_of(*in[3], parts, c, kernel.size());
                for (size_t k = 0; k < kernel.size(); ++k) kernel[k] += made[k];
            }
            for (size_t k = 0; k < kernel.size(); ++k) product[k] *= kernel[k];
            const auto y = transform.inverse(product, out.rows);
            for (size_t t = 0; t < out.rows; ++t) out.row(t)[c] = y[t];
        }
    });
}

// Static spectra [tile][bin][part][lane].
Packed packed(const KernelCall &call, const SequenceTransform &transform, const ChannelTiles &tiles,
              uint32_t rows) {
    const uint32_t bins = transform.bins(rows), parts = transform.parts();
    std::vector<float> values(size_t{tiles.padded} * bins * parts, 0.f);
    for (uint32_t c = 0; c < tiles.channels; ++c) {
        const auto of = fixed_bins(transform, call.constant(1), call.constant(2), c, rows);
        float *to = &values[size_t{c / tiles.tile} * tiles.tile * bins * parts + c % tiles.tile];
        for (uint32_t k = 0; k < bins; ++k)
            for (uint32_t part = 0; part < parts; ++part)
                to[(size_t{k} * parts + part) * tiles.tile] =
                    static_cast<float>(part ? of[k].imag() : of[k].real());
    }
    return Packed::f32({tiles.count(), bins, parts, tiles.tile}, values);
}

Status kernel(KernelCall &call) {
    const auto transform = SequenceTransform::of(call.node);
    const ChannelTiles tiles(call.type(0).dims.back());
    const bool all = tiles.plan(call);
    const uint32_t rows = call.rows();
    const bool adaptive = call.node.inputs.size() == 4;
    LW_TRY(check_taps(call.type(1).dims[1], rows));
    Place fixed = call.stored("spectrum", packed(call, transform, tiles, rows));
    fixed.tile_bytes = uint64_t{tiles.tile} * transform.bins(rows) * transform.parts() * sizeof(float);
    const TransformTables tables = transform_tables(call, transform, rows, true);
    call.kernel<contract::SequenceInverse>(
        {.transform = transform.name(),
         .all = all,
         .length = rows,
         .channels = tiles.channels,
         .scale = transform.inverse_scale(rows),
         .rows = rows,
         .parts = adaptive ? call.type(3).dims.size() : 0,
         .product = true},
        {.u = call.all_rows_of(0),
         .h = adaptive ? Given::Input(call.all_rows_of(3)) : Given::Input(),
         .fixed = fixed,
         .twiddles = tables.twiddles,
         .cosines = tables.cosines,
         .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_spectral_conv{
    .name = "spectral_conv",
    .attributes = {{"transform", AttributeDef::Kind::text}, {"l_max", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = stream,
    .end = EndRule::fixed,
    .channel_tiles = true,
    .kernel = kernel,
    .natural_length = rules::l_max,
    .reference = reference,
};

} // namespace longwave::ir
