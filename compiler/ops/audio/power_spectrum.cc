// power_spectrum: the squared magnitude of the discrete Fourier transform of a row, zero-padded to
// n_fft.
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/audio.h"
#include "schedules/contract/twiddles.h"
#include <cmath>
#include <numbers>

namespace longwave::ir {
namespace {

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 1));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    LW_ASSIGN(const uint32_t n_fft, rules::integer(node, "n_fft", 2, 1 << 20));
    if (in[0].width() > n_fft)
        return Status::input(fmt::format("n_fft {} is shorter than the window of {}", n_fft, in[0].width()));
    Type type = in[0];
    type.dims = {n_fft / 2 + 1};
    return type;
}

void reference(const Node &node, std::span<const Operand *const> in, const ReferenceContext &, Array &out) {
    const auto n_fft = static_cast<size_t>(node.integer("n_fft"));
    std::vector<double> cosine(n_fft), sine(n_fft);
    for (size_t i = 0; i < n_fft; ++i) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n_fft);
        cosine[i] = std::cos(angle);
        sine[i] = std::sin(angle);
    }
    for (size_t t = 0; t < out.rows; ++t)
        for (size_t f = 0; f < out.width; ++f) {
            double re = 0, im = 0;
            for (size_t i = 0; i < in[0]->width; ++i) {
                re += in[0]->row(t)[i] * cosine[f * i % n_fft];
                im -= in[0]->row(t)[i] * sine[f * i % n_fft];
            }
            out.row(t)[f] = re * re + im * im;
        }
}

bool absorb_producer(const Node &, size_t, const Node &producer) { return producer.op == &op_frame; }

Status kernel(KernelCall &call) {
    const Node *frame = call.producer(0);
    if (!frame || !absorb_producer(call.node, 0, *frame))
        return Status::input("a power spectrum needs frames right before it");
    const auto hop = static_cast<uint32_t>(frame->integer("hop")),
               n_fft = static_cast<uint32_t>(call.node.integer("n_fft"));
    const Ring samples = call.ring_of(0, hop);
    const Numbers &window = call.constant(*frame, 1);
    call.kernel<contract::FramePower>({.n_fft = n_fft,
                                       .window = frame->integer("window"),
                                       .hop = hop,
                                       .rows = call.rows(),
                                       .ring = samples.rows},
                                      {.samples = samples.place,
                                       .window = call.packed("window", {window.begin(), window.end()}),
                                       .twiddles = call.packed("twiddles", schedules::frame_twiddles(n_fft)),
                                       .position = samples.position,
                                       .power = call.result_rows()});
    return Status::ok();
}

} // namespace

const OpDef op_power_spectrum{
    .name = "power_spectrum",
    .attributes = {{"n_fft", AttributeDef::Kind::integer}},
    .infer = infer,
    .stream = row_by_row,
    .absorb_producer = absorb_producer,
    .kernel = kernel,
    .reference = reference,
};

} // namespace longwave::ir
