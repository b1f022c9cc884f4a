// Means over time: of a whole sequence (mean_run), of everything so far (mean_stream), of the last rows (mean_window).
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_mean_run(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 24);
    const std::string mode = k.params.choice("mode", {"mean", "sum", "last", "first"});
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, 1});
    ImageParam x = k.input("x", dense({width, rows}));
    Expr length = k.scalar("length", rows);

    // THE ALGORITHM
    // Sums in float64: a mean of thousands of rows keeps float32 accuracy, and a run equals a stream.
    Var c("c"), r("r");
    Func sum("sum"), y("y");
    Expr value;
    if (mode == "mean" || mode == "sum") {
        RDom valid(0, length, "valid");
        sum(c) = cast<double>(0);
        sum(c) += cast<double>(x(c, unsafe_promise_clamped(valid, 0, rows - 1)));
        value = cast<float>(mode == "mean" ? sum(c) / cast<double>(max(length, 1)) : sum(c));
    } else {
        value = select(length > 0, x(c, mode == "last" ? max(length - 1, 0) : Expr(0)), 0.0f);
    }
    y(c, r) = k.epilogue(value, {c, r}, y_shape, channels);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    Var co("co"), ci("ci");
    y.split(c, co, ci, block).vectorize(ci, vec).unroll(ci);
    if (mode == "mean" || mode == "sum") {
        sum.compute_at(y, co).vectorize(c, vec).unroll(c);
        sum.update().reorder(c, sum.rvars()[0]).vectorize(c, vec).unroll(c);
    }
    k.output(y, y_shape);
}

static void build_mean_stream(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20);
    const bool mean = k.params.choice("mode", {"mean", "sum"}) == "mean";
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input("x", dense({width, rows}));
    ImageParam before = k.input("state", dense({width + 1}), Float(64));

    // THE ALGORITHM
    // sums(c, r): sum of everything before row r of this call.
    Var c("c"), r("r");
    Func sums("sums"), y("y"), after("state_out");
    RDom t(0, rows, "t");
    sums(c, r) = undef<double>();
    sums(c, 0) = before(c);
    sums(c, t + 1) = sums(c, t) + cast<double>(x(c, t));
    Expr so_far = sums(c, r + 1);
    y(c, r) = k.epilogue(cast<float>(mean ? so_far / (before(width) + cast<double>(r + 1)) : so_far), {c, r}, y_shape, channels);
    after(c) = undef<double>();
    RDom all(0, width, "all");
    after(all) = sums(all, rows);
    after(width) = before(width) + cast<double>(rows);
    after.update(1).unscheduled();

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    sums.compute_root().bound_extent(c, width).bound_extent(r, rows + 1);
    sums.update(0).vectorize(c, vec);
    sums.update(1).reorder(c, t).vectorize(c, vec);
    store(sums, int64_t{8} * width * (rows + 1));
    y.vectorize(c, vec);
    after.update(0).allow_race_conditions().vectorize(all, vec);
    k.output(y, y_shape);
    k.output(after, dense({width + 1}));
}

static void build_mean_window(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20);
    const int ring = k.params.integer("ring", 1, 1 << 24), frames = k.params.integer("frames", 1, 1 << 20);
    k.params.require(ring >= rows + frames - 1, "'ring' must hold rows + frames - 1 rows");
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input("x", dense({width, ring}));
    ImageParam count = k.input("count", dense({1}), Float(64));
    Expr position = k.scalar("position", ring - rows);

    // THE ALGORITHM
    // Rows from before the beginning are zero in the ring; only the divisor has to know how many there were.
    Var c("c"), r("r"), i("i");
    Func sum("sum"), y("y"), after("count_out");
    RDom t(0, frames, "t");
    sum(c, r) = 0.0f;
    sum(c, r) += x(c, wrapped(position + r - t, ring));
    Expr divisor = min(cast<float>(frames), cast<float>(count(0)) + cast<float>(r + 1));
    y(c, r) = k.epilogue(sum(c, r) / divisor, {c, r}, y_shape, channels);
    after(i) = min(cast<double>(frames), count(i) + cast<double>(rows));

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    Var co("co"), ci("ci");
    y.split(c, co, ci, block).reorder(ci, co, r).vectorize(ci, vec).unroll(ci);
    sum.compute_at(y, co).vectorize(c, vec).unroll(c);
    sum.update().reorder(c, t).vectorize(c, vec).unroll(c);
    k.output(y, y_shape);
    k.output(after, dense({1}));
}

static const Kernel mean_run{"mean_run", build_mean_run};
static const Kernel mean_stream{"mean_stream", build_mean_stream};
static const Kernel mean_window{"mean_window", build_mean_window};

} // namespace longwave::schedules
