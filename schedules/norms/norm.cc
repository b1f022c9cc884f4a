// norm: layer (weight and bias a channel), transposed (two scalars, as TransposedLN), rms; over the
// valid lanes of each row, or of each of its groups.
#include "schedules/contract/kernels/norms.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Norm {
    const contract::Norm::Arguments<contract::Names> a = contract::names_of<contract::Norm>();
    int groups, channels, copies, rows, width;
    float eps;
    bool scalars, centred;
    Shape shape;
    ImageParam x, scale, shift;

    int padded() const { return width / copies; } // lanes of a copy
    int count() const { return channels * copies; }
    Expr valid(const Expr &lane) const {
        return channels == padded() ? always() : lane % padded() < channels;
    }
    // `centre`: the value less the mean, where there is one.
    Expr finished(const Expr &centre, const Expr &factor, const Expr &c) const {
        if (scalars) return select(valid(c), (centre + scale(0)) * (shift(0) * factor), 0.0f);
        const Expr scaled = centre * factor * scale(c);
        return centred ? scaled + shift(c) : scaled;
    }
};

Norm declare_norm(KernelBuilder &k, const contract::Norm &p) {
    Norm n{};
    n.groups = p.groups, n.channels = p.channels, n.copies = p.copies, n.rows = p.rows, n.eps = p.eps;
    n.scalars = p.kind.is<"transposed">(), n.centred = !p.kind.is<"rms">();
    k.params.require(n.groups == 1 || !n.scalars, "a transposed norm has no 'groups'");
    k.params.require(n.groups == 1 || (n.copies == 1 && n.channels % n.groups == 0),
                     "'groups' must divide 'channels' of one copy");
    n.width = static_cast<int>(pad(n.channels)) * n.copies;
    n.shape = dense({n.width, n.rows});
    n.x = k.input(n.a.x, n.shape);
    n.scale = k.weight(n.scalars ? n.a.m : n.a.weight, dense({n.scalars ? 1 : n.width}));
    if (n.centred) n.shift = k.weight(n.scalars ? n.a.s : n.a.bias, dense({n.scalars ? 1 : n.width}));
    return n;
}

// Over each of several equal parts of a row. A part need not be whole vectors: its sums run over
// the widest vector that divides it.
void grouped_norm_on_cpu(KernelBuilder &k, const Norm &n) {
    const int size = n.channels / n.groups;

    // THE ALGORITHM
    const int vec = dividing_vector(size, k.target.vector_lanes);
    const float part = 1.0f / static_cast<float>(size);
    Var c("c"), r("r"), g("g"), l("l");
    RDom i(0, size / vec, "i"), f(0, vec, "f"), i2(0, size / vec, "i2"), f2(0, vec, "f2");
    Func sums("sums"), mean("mean"), squares("squares"), square("square"), factor("factor"), y("y");
    sums(l, g, r) = 0.0f;
    sums(l, g, r) += n.x(g * size + i * vec + l, r);
    mean(g, r) = 0.0f;
    mean(g, r) += sums(f, g, r) * part;
    auto centre = [&](const Expr &lane, const Expr &group) {
        return n.centred ? n.x(lane, r) - mean(group, r) : Expr(n.x(lane, r));
    };
    const Expr term = centre(g * size + i2 * vec + l, g);
    squares(l, g, r) = 0.0f;
    squares(l, g, r) += term * term;
    square(g, r) = 0.0f;
    square(g, r) += squares(f2, g, r);
    factor(g, r) = 1.0f / sqrt(max(square(g, r) * part + n.eps, 1e-30f));
    const Expr group = min(c / size, n.groups - 1); // padding lanes have a weight of zero
    y(c, r) = k.epilogue(n.finished(centre(c, group), factor(group, r), c), {c, r}, n.shape, n.channels);

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(n.width, vec));
    for (Func partial : {sums, squares}) {
        if (partial.name() == sums.name() && !n.centred) continue;
        partial.compute_at(factor, g).vectorize(l);
        partial.update().reorder(l, partial.rvars()[0]).vectorize(l);
    }
    factor.compute_at(y, r).bound_extent(g, n.groups);
    square.compute_at(factor, g).update().unroll(f2);
    if (n.centred) {
        mean.compute_at(y, r).bound_extent(g, n.groups);
        sums.compute_at(mean, g);
    }
    store(factor, int64_t{4} * n.groups);
    if (n.centred) store(mean, int64_t{4} * n.groups);
    k.output(y, n.a.y, n.shape);
}

void norm_on_cpu(KernelBuilder &k, const contract::Norm &p) {
    const Norm n = declare_norm(k, p);
    if (n.groups > 1) return grouped_norm_on_cpu(k, n);

    // THE ALGORITHM Sums run in parallel chains. Padding lanes are zero in x: they only matter once
    // the mean is subtracted.
    const int vec = dividing_vector(n.padded(), k.target.vector_lanes);
    const float part = 1.0f / static_cast<float>(n.count());
    Var c("c"), r("r"), l("l");
    RDom i(0, n.width / vec, "i"), f(0, vec, "f"), i2(0, n.width / vec, "i2"), f2(0, vec, "f2");
    Func sums("sums"), mean("mean"), squares("squares"), square("square"), factor("factor"), y("y");
    sums(l, r) = 0.0f;
    sums(l, r) += n.x(i * vec + l, r);
    mean(r) = 0.0f;
    mean(r) += sums(f, r) * part;
    auto centre = [&](const Expr &lane) { return n.centred ? n.x(lane, r) - mean(r) : Expr(n.x(lane, r)); };
    Expr term = centre(i2 * vec + l);
    squares(l, r) = 0.0f;
    squares(l, r) += n.centred ? select(n.valid(i2 * vec + l), term * term, 0.0f) : term * term;
    square(r) = 0.0f;
    square(r) += squares(f2, r);
    factor(r) = 1.0f / sqrt(max(square(r) * part + n.eps, 1e-30f));
    y(c, r) = k.epilogue(n.finished(centre(c), factor(r), c), {c, r}, n.shape, n.channels);

    // THE SCHEDULE
    y.vectorize(c, vec);
    for (Func partial : {sums, squares}) {
        if (partial.name() == sums.name() && !n.centred) continue;
        partial.compute_at(y, r).vectorize(l);
        partial.update().reorder(l, partial.rvars()[0]).vectorize(l);
    }
    factor.compute_at(y, r);
    square.compute_at(y, r).update().unroll(f2);
    if (n.centred) mean.compute_at(y, r).update().unroll(f);
    k.output(y, n.a.y, n.shape);
}

// A workgroup for each tile of rows: the sums of each row, or of each of its groups, through shared
// memory.
void norm_on_gpu(KernelBuilder &k, const contract::Norm &p) {
    const Norm n = declare_norm(k, p);
    const bool grouped = n.groups > 1, channel_major = k.asks_channel_major();
    const int size = grouped ? n.channels / n.groups : n.width;
    // A few KiB hold the sums that threads have begun.
    int threads = std::min(64, power_of_two_above(size));
    while (threads > 1 && threads * n.groups > 1024) threads /= 2;
    int most = std::min(64 / threads, 1024 / (threads * n.groups));
    // Fewer threads for each of more rows, or more threads for one.
    const bool varies = !grouped && !channel_major && size >= 64 && worth_variants(n.width, n.rows);
    const size_t variant = k.variant(varies ? 3 : 1);
    if (variant == 1) threads = 32, most = 8;
    if (variant == 2) threads = 128, most = 1;
    if (channel_major) threads = std::min(8, threads), most = 32; // of the rows, which lie side by side
    const int tile = std::max(1, std::min(power_of_two_above(n.rows), most));

    // THE ALGORITHM
    const float part = 1.0f / static_cast<float>(grouped ? size : n.count());
    Var c("c"), r("r"), g("g");
    Func y("y");
    const auto lane_of = [&](const Expr &lane, const std::vector<Expr> &at) {
        return at[0] * size + lane; // at: group, row
    };
    const Fold sum =
        Fold::sum("sum", {g, r}, size, threads, [&](const Expr &lane, const std::vector<Expr> &at) {
            return Expr(n.x(lane_of(lane, at), min(at[1], n.rows - 1)));
        });
    const auto centre = [&](const Expr &lane, const Expr &group, const Expr &row) {
        const Expr value = n.x(lane, min(row, n.rows - 1));
        return n.centred ? value - sum({group, row}) * part : value;
    };
    Fold squares =
        Fold::sum("squares", {g, r}, size, threads, [&](const Expr &lane, const std::vector<Expr> &at) {
            const Expr i = lane_of(lane, at), term = centre(i, at[0], at[1]);
            return n.centred && !grouped ? select(n.valid(i), term * term, 0.0f) : term * term;
        });
    const Expr group = grouped ? min(c / size, n.groups - 1) : Expr(0);
    const Expr factor = 1.0f / sqrt(max(squares({group, r}) * part + n.eps, 1e-30f));
    y(c, r) = k.epilogue(n.finished(centre(c, group, r), factor, c), {c, r}, n.shape, n.channels);

    // THE SCHEDULE
    Var block("block"), row("row"), lane("lane"), of_lane("of_lane");
    y.split(r, block, row, tile, TailStrategy::GuardWithIf)
        .split(c, of_lane, lane, threads, TailStrategy::GuardWithIf);
    if (channel_major) y.reorder(of_lane, row, lane, block).gpu_threads(row, lane);
    else y.reorder(of_lane, lane, row, block).gpu_threads(lane, row);
    blocks_along(y, block, (n.rows + tile - 1) / tile, k);
    squares.compute_at(y, block, {n.groups}, tile, channel_major);
    if (n.centred) Fold(sum).compute_at(y, block, {n.groups}, tile, channel_major);
    k.output(y, n.a.y, n.shape);
    if (!grouped) k.allow_channel_major_with_operands({n.a.x.text, y.name()});
}

const Kernel<contract::Norm> norm{norm_on_cpu, norm_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
