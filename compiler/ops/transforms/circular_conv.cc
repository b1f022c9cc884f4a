// circular_conv: the circular convolution of each channel over the sequence with static taps, plus
// taps that the run computes. The scale is that of two forward transforms and one inverse. A bias
// times the channel is added.
#include "compiler/base/parallel.h"
#include "compiler/ops/support/register_transform.h"
#include "compiler/ops/support/rules.h"
#include "compiler/ops/support/sums.h"
#include "compiler/ops/transforms/four_step_registers.h"
#include "compiler/ops/transforms/transforms.h"
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include <cmath>
#include <numbers>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const auto transform, SequenceTransform::parse(node.text("transform")));
    LW_TRY(rules::integer(node, "l_max", 1, 1 << 24).status());
    LW_TRY(rules::count(in, in.size() == 4 ? 4 : 3));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    if (transform.cosine)
        return Status::input("attribute transform expected fft or fft-o, found \"" + node.text("transform") +
                             "\"");
    LW_TRY(rules::operand(in[1], "kernel", {in[0].dims[0], 0}));
    LW_TRY(rules::operand(in[2], "bias", {in[0].dims[0]}));
    Type type = in[0];
    if (in.size() == 4) LW_TRY(rules::join(in[0], in[3]).status());
    type.causal = false;
    return type;
}

StreamRule stream(const Node &, std::span<const Type>) { return looks_ahead(around); }

// Of a convolution: that of two transforms and one inverse, over the sum of L products.
double scale_of(const SequenceTransform &transform, uint32_t rows) {
    return transform.forward_scale(rows) * transform.forward_scale(rows) * transform.inverse_scale(rows) *
           rows;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &context,
               Array &out) {
    const double scale = scale_of(SequenceTransform::of(node), static_cast<uint32_t>(out.rows));
    const Operand &u = *in[0];
    in_parts(out.width, context.workers, [&](size_t begin, size_t end) {
        for (size_t c = begin; c < end; ++c) {
            auto taps = in[1]->data.copy(c * context.types[1].dims[1], out.rows);
            for (size_t j = 0; j < taps.size() && in.size() == 4; ++j) taps[j] += in[3]->row(j)[c];
            for (double &tap : taps) tap *= scale;
            taps[0] += in[2]->data[c];
            std::vector<double> y(out.rows);
            for (size_t s = 0; s < out.rows; ++s) { // row s reaches itself and all others, round the end
                add_scaled(taps.data(), u.row(s)[c], out.rows - s, y.data() + s);
                add_scaled(taps.data() + out.rows - s, u.row(s)[c], s, y.data());
            }
            for (size_t t = 0; t < out.rows; ++t) out.row(t)[c] = y[t];
        }
    });
}

// The static taps' right-angle spectrum (twiddles.h), 1/length folded in: bins of the taps rotated
// by a quarter over the length, in the order of the transform. [tile][position][part][lane], or by
// channel: [channel][part][bin] (last_digit_first).
Packed packed(const KernelCall &call, double scale, const ChannelTiles &tiles, uint32_t rows, uint32_t length,
              bool by_channel = false) {
    const uint32_t taps = call.type(1).dims[1];
    const std::vector<int> radices = schedules::right_angle_radices(length);
    std::vector<uint32_t> order(length);
    for (uint32_t q = 0; q < length; ++q)
        order[q] =
            static_cast<uint32_t>(std::lround(
                schedules::phase(radices, 0.25, static_cast<int>(radices.size()), q) * length - 0.25)) %
            length;
    std::vector<float> values(size_t{tiles.padded} * length * 2, 0.f);
    std::vector<std::complex<double>> rotated(length);
    for (uint32_t c = 0; c < tiles.channels; ++c) {
        std::fill(rotated.begin(), rotated.end(), 0.0);
        for (uint32_t j = 0; j < rows; ++j) {
            const double tap =
                scale * call.constant(1)[size_t{c} * taps + j] + (j ? 0.0 : call.constant(2)[c]);
            rotated[j] = std::polar(1.0, std::numbers::pi / 2 * j / length) * (tap / length);
        }
        const auto bins = fourier_sums(rotated, 1);
        for (uint32_t q = 0; q < length; ++q) {
            const size_t re =
                by_channel ? size_t{2} * c * length +
                                 schedules::last_digit_first(q, length, static_cast<uint32_t>(radices.back()))
                           : size_t{2} * (c / tiles.tile * length + q) * tiles.tile + c % tiles.tile;
            values[re] = static_cast<float>(bins[order[q]].real());
            values[re + (by_channel ? length : tiles.tile)] = static_cast<float>(bins[order[q]].imag());
        }
    }
    if (by_channel) return Packed::f32({tiles.padded, 2, length}, values);
    return Packed::f32({tiles.count(), length, 2, tiles.tile}, values);
}

// Of as many rows as points, and more of these than a GPU's shared memory holds.
std::optional<FourStep> in_four_steps(const KernelCall &call, const ChannelTiles &tiles, bool adaptive) {
    const uint32_t rows = call.all_rows(), bytes_of_a_point = (adaptive ? 4 : 2) * sizeof(float);
    if (schedules::right_angle_radices(rows).empty() ||
        uint64_t{schedules::right_angle_length(rows)} * bytes_of_a_point <=
            call.context.device.workgroup_bytes)
        return {};
    const FourStep form(tiles.channels, tiles.padded, 1, rows, rows);
    return form.refused(call.context, bytes_of_a_point).empty() ? std::optional(form) : std::nullopt;
}

// As many rows as a transform has whose points the threads of a GPU keep in registers.
std::optional<schedules::RegisterForm> in_registers(const KernelCall &call, const ChannelTiles &tiles) {
    const uint32_t rows = call.all_rows();
    if (!call.context.device.has_any_of(devices::gpu_kernels)) return {};
    // Where rows lie channel by channel, threads run along the rows.
    return register_form(call.context, rows, call.channel_major(0) ? 1 : tiles.padded);
}

Status plan_in_registers(KernelCall &call, const ChannelTiles &tiles, const schedules::RegisterForm &form) {
    const bool adaptive = call.node.inputs.size() == 4;
    const double scale = scale_of(SequenceTransform::of(call.node), form.length);
    LW_TRY(check_taps(call.type(1).dims[1], form.length));
    call.one_call();
    const Place fixed = spectrum_by_threads(call, SpectrumOrder(form), tiles.channels, 1, [&] {
        return call.stored("spectrum", packed(call, scale, tiles, form.length, form.length));
    });
    call.kernel<contract::CircularConvRegisters>(
        {.length = form.length,
         .channels = tiles.channels,
         .adaptive = adaptive,
         .scale = adaptive ? scale / form.length : 0.0},
        {.u = call.all_rows_of(0),
         .h = adaptive ? Given::Input(call.all_rows_of(3)) : Given::Input(),
         .fixed = fixed,
         .roots = register_roots(call, form.radices),
         .y = call.result_rows()});
    return Status::ok();
}

// More rows than registers hold.
std::optional<RegisterFourStep> four_steps_in_registers(const KernelCall &call, const ChannelTiles &tiles) {
    const uint32_t rows = call.all_rows();
    return RegisterFourStep::of(call.context, tiles.channels, 1, rows, rows);
}

Status plan_four_steps_in_registers(KernelCall &call, const ChannelTiles &tiles,
                                    const RegisterFourStep &form) {
    const double scale = scale_of(SequenceTransform::of(call.node), form.rows);
    LW_TRY(check_taps(call.type(1).dims[1], form.rows));
    const auto spectrum = [&] {
        return call.stored("spectrum", packed(call, scale, tiles, form.rows, form.rows));
    };
    FourStep::Circular circular;
    if (call.node.inputs.size() == 4) circular = {.made = 3, .scale = scale / form.rows};
    form.plan(call, spectrum, circular);
    return Status::ok();
}

Status kernel(KernelCall &call) {
    const ChannelTiles tiles(call.type(0).dims[0]);
    const bool adaptive = call.node.inputs.size() == 4;
    if (const auto form = in_registers(call, tiles)) return plan_in_registers(call, tiles, *form);
    if (const auto form = four_steps_in_registers(call, tiles))
        return plan_four_steps_in_registers(call, tiles, *form);
    const auto four_step = in_four_steps(call, tiles, adaptive);
    const bool all = !four_step && tiles.plan(call);
    const uint32_t rows = call.all_rows(),
                   length = four_step ? four_step->length : schedules::right_angle_length(rows);
    const double scale = scale_of(SequenceTransform::of(call.node), rows);
    LW_TRY(check_taps(call.type(1).dims[1], rows));
    const bool by_channel = call.channel_major(0);
    Place fixed = call.stored(by_channel ? "spectrum by channel" : "spectrum",
                              packed(call, scale, tiles, rows, length, by_channel));
    using schedules::TwiddleOrder;
    const std::vector<double> exact = schedules::right_angle_twiddles(
        length, by_channel ? TwiddleOrder::by_factor : TwiddleOrder::by_block);
    const std::vector<float> table(exact.begin(), exact.end());
    const Place twiddles = call.stored(by_channel ? "twiddles by factor" : "twiddles",
                                       Packed::f32({static_cast<uint32_t>(table.size())}, table));
    if (four_step) {
        using Circular = FourStep::Circular;
        four_step->plan(call, fixed, twiddles,
                        adaptive ? Circular{.made = 3, .scale = scale / length} : Circular{});
        return Status::ok();
    }
    fixed.tile_bytes = uint64_t{tiles.tile} * length * 2 * sizeof(float);
    call.kernel<contract::CircularConv>({.length = length,
                                         .rows = rows,
                                         .channels = tiles.channels,
                                         .adaptive = adaptive,
                                         .scale = adaptive ? scale / length : 0.0,
                                         .all = all},
                                        {.u = call.all_rows_of(0),
                                         .h = adaptive ? Given::Input(call.all_rows_of(3)) : Given::Input(),
                                         .fixed = fixed,
                                         .twiddles = twiddles,
                                         .y = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_circular_conv{
    .name = "circular_conv",
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
