// norm: layer (weight and bias a channel), transposed (two scalars, as TransposedLN), rms; over the valid
// lanes of each row, or of each of its groups.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

// The same over each of several equal parts of a row. A part need not be whole vectors: its sums run over the
// widest vector that divides it.
static void build_grouped_norm(KernelBuilder &k, int groups) {
    const std::string kind = k.params.choice("kind", {"layer", "rms"});
    const int channels = k.params.integer("channels", 1, 1 << 20),
              rows = k.params.integer("rows", 1, 1 << 20);
    k.params.require(k.params.integer_or("copies", 1, 1, 64) == 1 && channels % groups == 0,
                     "'groups' must divide 'channels' of one copy");
    const float eps = static_cast<float>(k.params.real("eps", 0, 1e30));
    const int width = static_cast<int>(pad(channels)), size = channels / groups;
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("x", shape), weight = k.weight("weight", dense({width})), bias;
    const bool centred = kind == "layer";
    if (centred) bias = k.weight("bias", dense({width}));

    // THE ALGORITHM
    const int vec = dividing_vector(size, k.target.vector_lanes);
    const float part = 1.0f / static_cast<float>(size);
    Var c("c"), r("r"), g("g"), l("l");
    RDom i(0, size / vec, "i"), f(0, vec, "f"), i2(0, size / vec, "i2"), f2(0, vec, "f2");
    Func sums("sums"), mean("mean"), squares("squares"), square("square"), factor("factor"), y("y");
    sums(l, g, r) = 0.0f;
    sums(l, g, r) += x(g * size + i * vec + l, r);
    mean(g, r) = 0.0f;
    mean(g, r) += sums(f, g, r) * part;
    auto centre = [&](const Expr &lane, const Expr &group) {
        return centred ? x(lane, r) - mean(group, r) : Expr(x(lane, r));
    };
    const Expr term = centre(g * size + i2 * vec + l, g);
    squares(l, g, r) = 0.0f;
    squares(l, g, r) += term * term;
    square(g, r) = 0.0f;
    square(g, r) += squares(f2, g, r);
    factor(g, r) = 1.0f / sqrt(max(square(g, r) * part + eps, 1e-30f));
    const Expr group = min(c / size, groups - 1); // padding lanes have a weight of zero
    const Expr value = centre(c, group) * factor(group, r) * weight(c);
    y(c, r) = k.epilogue(centred ? value + bias(c) : value, {c, r}, shape, channels);

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(width, vec));
    for (Func partial : {sums, squares}) {
        if (partial.name() == sums.name() && !centred) continue;
        partial.compute_at(factor, g).vectorize(l);
        partial.update().reorder(l, partial.rvars()[0]).vectorize(l);
    }
    factor.compute_at(y, r).bound_extent(g, groups);
    square.compute_at(factor, g).update().unroll(f2);
    if (centred) {
        mean.compute_at(y, r).bound_extent(g, groups);
        sums.compute_at(mean, g);
    }
    store(factor, int64_t{4} * groups);
    if (centred) store(mean, int64_t{4} * groups);
    k.output(y, shape);
}

static void build_norm(KernelBuilder &k) {
    if (const int groups = k.params.integer_or("groups", 1, 1, 1 << 12); groups > 1)
        return build_grouped_norm(k, groups);
    const std::string kind = k.params.choice("kind", {"layer", "transposed", "rms"});
    const int channels = k.params.integer("channels", 1, 1 << 20),
              copies = k.params.integer_or("copies", 1, 1, 64);
    const int rows = k.params.integer("rows", 1, 1 << 20);
    const float eps = static_cast<float>(k.params.real("eps", 0, 1e30));
    const int group = static_cast<int>(pad(channels)), width = group * copies;
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("x", shape);
    const bool scalars = kind == "transposed", centred = kind != "rms";
    ImageParam scale = k.weight(scalars ? "m" : "weight", dense({scalars ? 1 : width})), shift;
    if (centred) shift = k.weight(scalars ? "s" : "bias", dense({scalars ? 1 : width}));

    // THE ALGORITHM
    // Sums run in parallel chains. Padding lanes are zero in x: they only matter once the mean is subtracted.
    const int vec = dividing_vector(group, k.target.vector_lanes), count = channels * copies;
    Var c("c"), r("r"), l("l");
    RDom i(0, width / vec, "i"), f(0, vec, "f"), i2(0, width / vec, "i2"), f2(0, vec, "f2");
    auto valid = [&](const Expr &lane) {
        return channels == group ? Expr(Internal::const_true()) : lane % group < channels;
    };
    Func sums("sums"), mean("mean"), squares("squares"), factor("factor"), y("y");
    sums(l, r) = 0.0f;
    sums(l, r) += x(i * vec + l, r);
    mean(r) = 0.0f;
    mean(r) += sums(f, r) * (1.0f / static_cast<float>(count));
    auto centre = [&](const Expr &lane) { return centred ? x(lane, r) - mean(r) : Expr(x(lane, r)); };
    Expr term = centre(i2 * vec + l);
    squares(l, r) = 0.0f;
    squares(l, r) += centred ? select(valid(i2 * vec + l), term * term, 0.0f) : term * term;
    Func square("square");
    square(r) = 0.0f;
    square(r) += squares(f2, r);
    factor(r) = 1.0f / sqrt(max(square(r) * (1.0f / static_cast<float>(count)) + eps, 1e-30f));
    Expr value;
    if (kind == "layer") value = centre(c) * factor(r) * scale(c) + shift(c);
    if (kind == "rms") value = x(c, r) * factor(r) * scale(c);
    if (kind == "transposed") value = select(valid(c), (centre(c) + scale(0)) * (shift(0) * factor(r)), 0.0f);
    y(c, r) = k.epilogue(value, {c, r}, shape, channels);

    // THE SCHEDULE
    y.vectorize(c, vec);
    for (Func partial : {sums, squares}) {
        if (partial.name() == sums.name() && !centred) continue;
        partial.compute_at(y, r).vectorize(l);
        partial.update().reorder(l, partial.rvars()[0]).vectorize(l);
    }
    factor.compute_at(y, r);
    square.compute_at(y, r).update().unroll(f2);
    if (centred) mean.compute_at(y, r).update().unroll(f);
    k.output(y, shape);
}

static const Kernel norm{"norm", build_norm};

} // namespace longwave::schedules
