// centred_conv: a short filter of each channel that reaches back and `ahead`, over a whole sequence
// with zeros around it.
#include "schedules/contract/kernels/conv.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct CentredConv {
    contract::CentredConv::Arguments<contract::Names> a;
    int taps, rows, width;
    Shape shape;
    RDom i;
    Var c{"c"}, r{"r"}, t{"t"};
    Func around{"around"}, sum{"sum"}, y{"y"};
};

// THE ALGORITHM
CentredConv define_centred_conv(KernelBuilder &k, const contract::CentredConv &p) {
    const auto a = contract::names_of<contract::CentredConv>();
    const int channels = p.channels, taps = p.taps, rows = p.rows;
    const int ahead = p.ahead.or_else(taps / 2), back = taps - 1 - ahead;
    const bool has_bias = p.bias;
    k.params.require(ahead < taps, "'ahead' must be one of the 'taps'");
    const int width = static_cast<int>(pad(channels));
    CentredConv d{.a = a, .taps = taps, .rows = rows, .width = width, .shape = dense({width, rows}), .i = {}};
    ImageParam x = k.input(a.x, d.shape), w = k.weight(a.weight, dense({width, taps})), b;
    if (has_bias) b = k.weight(a.bias, dense({width}));
    d.i = RDom(0, taps, "i");
    const Var &c = d.c, &r = d.r, &t = d.t;
    d.around(c, t) = select(t >= 0 && t < rows, x(c, clamp(t, 0, rows - 1)), 0.0f);
    d.sum(c, r) = has_bias ? Expr(b(c)) : Expr(0.0f);
    d.sum(c, r) += w(c, d.i) * d.around(c, r + d.i - back);
    d.y(c, r) = k.epilogue(d.sum(c, r), {c, r}, d.shape, channels);
    return d;
}

// A block of rows with its surroundings lies in a buffer of its own, so that the sums, of as many
// rows as the registers hold, read it without looking at the edges.
void centred_conv_on_cpu(KernelBuilder &k, const contract::CentredConv &p) {
    CentredConv d = define_centred_conv(k, p);
    const int vec = dividing_vector(d.width, k.target.vector_lanes), down = std::min(d.rows, 8),
              block = std::min(d.rows / down, std::max(8, (d.taps + 7) / 8)) * down;
    Var co("co"), ci("ci"), ro("ro"), ri("ri"), rt("rt"), rr("rr");
    d.y.split(d.c, co, ci, vec)
        .split(d.r, ro, ri, block, TailStrategy::ShiftInwards)
        .split(ri, rt, rr, down, TailStrategy::ShiftInwards)
        .reorder(ci, rr, rt, ro, co)
        .vectorize(ci)
        .unroll(rr);
    const int around = block + d.taps - 1;
    d.around.compute_at(d.y, ro).bound_extent(d.c, vec).bound_extent(d.t, around).vectorize(d.c, vec);
    store(d.around, int64_t{4} * vec * around);
    d.sum.compute_at(d.y, rt).bound_extent(d.c, vec).bound_extent(d.r, down).vectorize(d.c, vec).unroll(d.r);
    d.sum.update().reorder(d.c, d.r, d.i).vectorize(d.c, vec).unroll(d.r);
    if (d.taps <= 16) d.sum.update().unroll(d.i);
    k.output(d.y, d.a.y, d.shape);
}

// A thread for each sum; what its neighbours read as well comes from the caches.
void centred_conv_on_gpu(KernelBuilder &k, const contract::CentredConv &p) {
    CentredConv d = define_centred_conv(k, p);
    const Spread loops = spread(d.y, {d.c, d.r}, {d.width, d.rows}, {.rows_first = k.asks_channel_major()});
    d.sum.compute_at(d.y, loops.thread.var).store_in(MemoryType::Register);
    k.output(d.y, d.a.y, d.shape);
    k.allow_channel_major_with_operands({d.a.x.text, d.y.name()});
}

const Kernel<contract::CentredConv> centred_conv{centred_conv_on_cpu, centred_conv_on_gpu,
                                                 Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
