// time_softmax: e^{k_t} / Σ_τ e^{k_τ} over all rows of a sequence, for each channel.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_time_softmax(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 24);
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("k", shape);
    k.no_epilogue();
    const Expr length = k.scalar("length", rows);

    // THE ALGORITHM
    // The largest key is taken out first, and sums are float64. Rows behind the end weigh nothing.
    Var c("c"), r("r"), co("co"), ci("ci");
    Func peak("peak"), sum("sum"), y("y");
    RDom valid(0, length, "valid"), again(0, length, "again");
    const auto weight = [&](const Expr &row) { return exp(max(x(c, row) - peak(c), -87.0f)); };
    peak(c) = -3.0e38f;
    peak(c) = max(peak(c), x(c, unsafe_promise_clamped(valid, 0, rows - 1)));
    sum(c) = cast<double>(0);
    sum(c) += cast<double>(weight(unsafe_promise_clamped(again, 0, rows - 1)));
    const Expr inside = r < length, value = weight(r) * cast<float>(1 / max(sum(c), cast<double>(1)));
    y(c, r) = select(channels == width ? inside : inside && c < channels, value, 0.0f);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    y.split(c, co, ci, block).reorder(ci, r, co).vectorize(ci, vec).unroll(ci);
    for (Func f : {peak, sum}) {
        f.compute_at(y, co).vectorize(c, vec).unroll(c);
        f.update().reorder(c, f.rvars()[0]).vectorize(c, vec).unroll(c);
    }
    k.output(y, shape);
}

static const Kernel time_softmax{"time_softmax", build_time_softmax};

} // namespace longwave::schedules
