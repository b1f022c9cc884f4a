// norm: layer (weight and bias a channel), transposed (two scalars, as TransposedLN), rms; over the valid
// lanes of each row.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_norm(KernelBuilder &k) {
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
