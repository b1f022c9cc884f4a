// Means over time: of a whole sequence (mean_run), of everything so far (mean_stream), of the last rows
// (mean_window).
#include "schedules/gpu/threads.h"
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_mean_run(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 24);
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

// A workgroup for 16 channels: 16 threads each take every sixteenth row, in sums that carry what they lose.
static void build_mean_run_on_gpu(KernelBuilder &k) {
    constexpr int slices = 16;
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 24);
    const std::string mode = k.params.choice("mode", {"mean", "sum", "last", "first"});
    const int width = static_cast<int>(pad(channels)), tile = std::min(width, 16);
    const bool adds = mode == "mean" || mode == "sum";
    const Shape y_shape = dense({width, 1});
    ImageParam x = k.input("x", dense({width, rows}));
    Expr length = k.scalar("length", rows);

    // THE ALGORITHM
    Var c("c"), r("r"), s("s");
    RDom t(0, (rows + slices - 1) / slices, "t"), all(0, slices, "all");
    Func own("own"), begun("begun"), sum("sum"), y("y");
    own(s, c) = Tuple(0.0f, 0.0f);
    const Expr row = t * slices + s, term = select(row < length, x(c, min(row, rows - 1)), 0.0f),
               high = own(s, c)[0], next = high + term, part = next - high;
    own(s, c) = Tuple(next, own(s, c)[1] + ((high - (next - part)) + (term - part)));
    begun(s, c) = own(s, c)[0] + own(s, c)[1];
    sum(c) = 0.0f;
    sum(c) += begun(all, c);
    Expr value = select(length > 0, x(c, mode == "last" ? max(length - 1, 0) : Expr(0)), 0.0f);
    if (adds) value = mode == "mean" ? sum(c) / cast<float>(max(length, 1)) : Expr(sum(c));
    y(c, r) = k.epilogue(value, {c, r}, y_shape, channels);

    // THE SCHEDULE
    k.exact_sums = true;
    Var block("block"), lane("lane");
    y.split(c, block, lane, tile).reorder(lane, r, block).gpu_blocks(block).gpu_threads(lane);
    if (adds) {
        begun.compute_at(y, block)
            .store_in(MemoryType::GPUShared)
            .bound_extent(s, slices)
            .bound_extent(c, tile);
        begun.reorder(c, s).gpu_threads(c, s);
        own.compute_at(begun, c).store_in(MemoryType::Register);
        sum.compute_at(y, lane).store_in(MemoryType::Register);
    }
    k.output(y, y_shape);
}

static void build_mean_stream(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    const bool mean = k.params.choice("mode", {"mean", "sum"}) == "mean";
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input("x", dense({width, rows}));

    // THE ALGORITHM
    // Both elements go along the rows together: y is written row by row, sums (which does not depend on r) is
    // what is there after each row.
    Var c("c"), r("r"), co("co"), ci("ci");
    Func count("count"), y("y");
    count(r) = undef<double>();
    count(0) += cast<double>(rows);
    RDom t(0, rows, "t");
    y(c, r) = Tuple(undef<float>(), undef<double>());
    const Expr so_far = y(c, t)[1] + cast<double>(x(c, t)), row = count(0) + cast<double>(t + 1 - rows);
    y(c, t) = Tuple(cast<float>(mean ? so_far / row : so_far), so_far);
    // The epilogue by itself, on what is stored: its functions would hide the read of the sums from Halide.
    if (k.has_epilogue()) y(c, r) = Tuple(k.epilogue(y(c, r)[0], {c, r}, y_shape, channels), undef<double>());

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    y.update(0).split(c, co, ci, vec).reorder(ci, t, co).vectorize(ci);
    if (k.has_epilogue()) y.update(1).vectorize(c, vec);
    const Shape sums_shape = {{static_cast<uint32_t>(width), 1}, {static_cast<uint32_t>(rows), 0}};
    k.outputs(y, {{"y", y_shape}, {"sums", sums_shape, ArgKind::inout}});
    k.in_place(count, dense({1}));
}

static void build_mean_window(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    const int ring = k.params.integer("ring", 1, 1 << 24), frames = k.params.integer("frames", 1, 1 << 20);
    k.params.require(ring >= rows + frames - 1, "'ring' must hold rows + frames - 1 rows");
    const int width = static_cast<int>(pad(channels));
    const Shape y_shape = dense({width, rows});
    ImageParam x = k.input("x", dense({width, ring}));
    Expr position = k.scalar("position", ring - rows);

    // THE ALGORITHM
    // Rows from before the beginning are zero in the ring; only the divisor has to know how many there were.
    Var c("c"), r("r"), i("i");
    Func sum("sum"), y("y"), count("count");
    RDom t(0, frames, "t");
    count(i) = undef<double>();
    count(0) += cast<double>(rows);
    sum(c, r) = 0.0f;
    sum(c, r) += x(c, wrapped(position + r - t, ring));
    Expr divisor = cast<float>(min(cast<double>(frames), count(0) + cast<double>(r + 1 - rows)));
    y(c, r) = k.epilogue(sum(c, r) / divisor, {c, r}, y_shape, channels);

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    const int block = vec * divisor_at_most(width / vec, 4);
    Var co("co"), ci("ci");
    y.split(c, co, ci, block).reorder(ci, co, r).vectorize(ci, vec).unroll(ci);
    sum.compute_at(y, co).vectorize(c, vec).unroll(c);
    sum.update().reorder(c, t).vectorize(c, vec).unroll(c);
    k.output(y, y_shape);
    k.in_place(count, dense({1}));
}

static const Kernel mean_run{"mean_run", build_mean_run, build_mean_run_on_gpu};
static const Kernel mean_stream{"mean_stream", build_mean_stream};
static const Kernel mean_window{"mean_window", build_mean_window};

} // namespace longwave::schedules
