// softmax over the channels of each row.
#include "schedules/contract/kernels/norms.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

static void build_softmax(KernelBuilder &k, const contract::Softmax &p) {
    const auto a = contract::names_of<contract::Softmax>();
    const int channels = p.channels, rows = p.rows;
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, rows});
    ImageParam x = k.input(a.x, shape);

    // THE ALGORITHM
    // Maximum and sum run in parallel chains, folded at the end. Only valid lanes take part.
    const int vec = dividing_vector(width, k.target.vector_lanes);
    Var c("c"), r("r"), l("l");
    RDom i(0, width / vec, "i"), f(0, vec, "f"), i2(0, width / vec, "i2"), f2(0, vec, "f2");
    Func peaks("peaks"), peak("peak"), e("e"), sums("sums"), sum("sum"), y("y");
    auto valid = [&](const Expr &lane) { return channels == width ? always() : lane < channels; };
    const float lowest = -3.0e38f;
    peaks(l, r) = lowest;
    peaks(l, r) = max(peaks(l, r), select(valid(i * vec + l), x(i * vec + l, r), lowest));
    peak(r) = lowest;
    peak(r) = max(peak(r), peaks(f, r));
    e(c, r) = select(valid(c), exp(max(x(c, r) - peak(r), -87.0f)), 0.0f);
    sums(l, r) = 0.0f;
    sums(l, r) += e(i2 * vec + l, r);
    sum(r) = 0.0f;
    sum(r) += sums(f2, r);
    y(c, r) = k.epilogue(e(c, r) / sum(r), {c, r}, shape, channels);

    // THE SCHEDULE
    y.vectorize(c, vec);
    for (Func partial : {peaks, sums}) {
        partial.compute_at(y, r).vectorize(l);
        partial.update().reorder(l, partial.rvars()[0]).vectorize(l);
    }
    for (Func whole : {peak, sum}) whole.compute_at(y, r).update().unroll(whole.rvars()[0]);
    e.compute_at(y, r).bound_extent(c, width).vectorize(c, vec);
    store(e, int64_t{4} * width);
    k.output(y, a.y, shape);
}

// A workgroup for each tile of rows, their lanes over its threads.
static void build_softmax_on_gpu(KernelBuilder &k, const contract::Softmax &p) {
    const auto a = contract::names_of<contract::Softmax>();
    const int channels = p.channels, rows = p.rows;
    const int width = static_cast<int>(pad(channels)), threads = std::min(64, power_of_two_above(width)),
              tile = std::min(power_of_two_above(rows), 64 / threads);
    const Shape shape = dense({width, rows});
    ImageParam x = k.input(a.x, shape);

    // THE ALGORITHM
    Var c("c"), r("r"), one("one");
    const auto value = [&](const Expr &lane, const Expr &row) { return x(lane, min(row, rows - 1)); };
    Fold peak =
        Fold::largest("peak", {one, r}, channels, threads,
                      [&](const Expr &lane, const std::vector<Expr> &at) { return value(lane, at[1]); });
    const auto power = [&](const Expr &lane, const Expr &row) {
        return exp(max(value(lane, row) - peak({0, row}), -87.0f));
    };
    Fold sum = Fold::sum("sum", {one, r}, channels, threads,
                         [&](const Expr &lane, const std::vector<Expr> &at) { return power(lane, at[1]); });
    Func y("y");
    y(c, r) = k.epilogue(select(c < channels, power(c, r) / sum({0, r}), 0.0f), {c, r}, shape, channels);

    // THE SCHEDULE
    Var block("block"), row("row"), lane("lane"), of_lane("of_lane");
    y.split(r, block, row, tile, TailStrategy::GuardWithIf)
        .split(c, of_lane, lane, threads, TailStrategy::GuardWithIf)
        .reorder(of_lane, lane, row, block)
        .gpu_threads(lane, row);
    blocks_along(y, block, (rows + tile - 1) / tile, k);
    peak.compute_at(y, block, {1}, tile);
    sum.compute_at(y, block, {1}, tile);
    k.output(y, a.y, shape);
}

static const Kernel<contract::Softmax> softmax{build_softmax, build_softmax_on_gpu, Fp16::outputs};

} // namespace longwave::schedules
