// cumulative_softmax: how much the newest row weighs among all so far, w_t = e^{k_t} / S_t with S_t = S_0 +
// Σ_{τ ≤ t} e^{k_τ}, for each channel. The state is z = log S in float64: log t would stand still in float32.
#include "schedules/attention/row_count.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// log(1 + e) for e in [0, 1], exact for small e: 2 atanh(e / (2 + e)).
Expr log_one_plus(const Expr &e) {
    const Expr y = e / (2.0f + e), square = y * y;
    Expr sum = 1.0f / 17;
    for (int n = 15; n >= 1; n -= 2) sum = sum * square + 1.0f / static_cast<float>(n);
    return 2.0f * y * sum;
}

// The schedule of a device: `y` is updated along the rows `t` for each channel `c`.
using Place = void (*)(const KernelBuilder &k, Func y, const Var &c, const RDom &t, int width);

void define_cumulative_softmax(KernelBuilder &k, Place place) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    const bool one = k.params.flag_or("start", false), masked = k.params.flag_or("mask", false);
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("k", shape), mask;
    if (masked) mask = k.input("mask", dense({1, rows}));
    std::optional<RowCount> count;
    if (!one) count.emplace(k, rows);
    k.no_epilogue();

    // THE ALGORITHM
    // Zeros are what a state begins with: for S_0 = 1 they are its logarithm, for S_0 = 0 the number of rows
    // so far says that there is none. Every exponent is at most 0; what is below -80 is nothing.
    Var c("c"), r("r");
    Func y("y");
    RDom t(0, rows, "t");
    y(c, r) = Tuple(undef<float>(), undef<double>());
    const Expr nothing = cast<double>(-1e30f), stored = y(c, t)[1];
    const Expr z =
        one ? stored : select(count->now() + cast<double>(t - rows) < cast<double>(0.5f), nothing, stored);
    const Expr key = cast<double>(x(c, t)), difference = key - z, high = cast<float>(difference);
    const Expr size = min(high, -high);
    // Of a difference float32 keeps a part in 2^24 of itself: the rest goes in as a factor.
    const Expr rest = select(size > -80.0f, cast<float>(difference - cast<double>(high)), 0.0f);
    const Expr e =
        select(size > -80.0f, exp(max(size, -80.0f)) * (1.0f + select(high > 0.0f, -rest, rest)), 0.0f);
    Expr weight = 1.0f / (1.0f + e), next = max(z, key) + cast<double>(log_one_plus(e));
    weight = select(high > 0.0f, weight, e * weight);
    if (masked) {
        weight = select(mask(0, t) != 0.0f, weight, 0.0f);
        next = select(mask(0, t) != 0.0f, next, z);
    }
    if (channels != width) weight = select(c < channels, weight, 0.0f);
    y(c, t) = Tuple(weight, next);

    place(k, y, c, t, width);
    const Shape state = {{extent(width), 1}, {extent(rows), 0}};
    k.outputs(y, {{"w", shape}, {"z", state, ArgKind::inout}});
    if (count) count->output();
}

// THE SCHEDULES

void cumulative_softmax_on_cpu(KernelBuilder &k) {
    define_cumulative_softmax(
        k, [](const KernelBuilder &builder, Func y, const Var &c, const RDom &t, int width) {
            y.update().reorder(c, t).vectorize(c, dividing_vector(width, builder.target.vector_lanes));
        });
}

// A thread per channel: each row needs the row before.
void cumulative_softmax_on_gpu(KernelBuilder &k) {
    define_cumulative_softmax(k, [](const KernelBuilder &, Func y, const Var &c, const RDom &t, int width) {
        const Var block("block"), lane("lane");
        y.update().split(c, block, lane, std::min(width, 64), TailStrategy::GuardWithIf);
        y.update().reorder(t, lane, block).gpu_blocks(block).gpu_threads(lane);
    });
}

const Kernel cumulative_softmax{"cumulative_softmax", cumulative_softmax_on_cpu, cumulative_softmax_on_gpu,
                                Fp16::none};

} // namespace

} // namespace longwave::schedules
