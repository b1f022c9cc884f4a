// exponential_scan: sums of decaying exponentials, y_t = Σ_r c_r Σ_{τ ≤ t} λ_r^{t−τ} x_τ for each channel:
// over the rows of a sequence, or along one axis of an image whose rows come line by line. Its state, the
// inner sums, is float64: λ near 1 would add up the rounding of 1/(1 − λ) rows.
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_exponential_scan(KernelBuilder &k) {
    const int channels = k.params.integer("channels", 1, 1 << 20),
              modes = k.params.integer("modes", 1, 1 << 12), rows = k.params.integer("rows", 1, 1 << 20);
    // Rows from one position of the axis to the next, and positions of the axis; 0: it never ends.
    const int stride = k.params.integer_or("stride", 1, 1, 1 << 20),
              length = k.params.integer_or("length", 0, 0, 1 << 24);
    k.params.require(stride == 1 || rows <= stride, "'rows' must be at most 'stride'");
    k.params.require(stride == 1 || length, "a 'stride' needs the 'length' of the axis");
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, rows});
    ImageParam x = k.input("x", shape);
    ImageParam lambda = k.weight("lambda", dense({width, modes}), Float(64)),
               scale = k.weight("c", dense({width, modes}), Float(64));
    k.no_epilogue();

    // THE ALGORITHM
    Var c("c"), m("m"), r("r"), l("l");
    Func count("count"), line("line"), y("y");
    count(l) = undef<double>();
    count(0) += cast<double>(rows);
    // At the first position of an axis nothing is left from before.
    line(r) =
        cast<int32_t>((cast<int64_t>(count(0)) + r - rows) % cast<int64_t>(stride * std::max(length, 1)));
    const auto kept = [&](const Expr &mode, const Expr &row) {
        return length ? select(line(row) < stride, cast<double>(0), lambda(c, mode)) : lambda(c, mode);
    };
    const int vec = dividing_vector(width, std::max(1, k.target.vector_lanes / 2));
    if (stride == 1) {
        // One sum a mode: both elements go along modes and rows together.
        RDom t(0, modes, 0, rows, "t");
        y(c, m, r) = Tuple(undef<float>(), undef<double>());
        y(c, 0, r) = Tuple(0.0f, undef<double>());
        const Expr now = y(c, t.x, t.y)[1] * kept(t.x, t.y) + cast<double>(x(c, t.y));
        y(c, t.x, t.y) = Tuple(y(c, t.x, t.y)[0] + cast<float>(scale(c, t.x) * now), now);

        // THE SCHEDULE
        Var co("co"), ci("ci");
        y.update(0).vectorize(c, vec);
        y.update(1).split(c, co, ci, vec).reorder(ci, t.x, t.y, co).vectorize(ci);
        k.outputs(
            y, {{"y", {{extent(width), 1}, {extent(modes), 0}, {extent(rows), width}}},
                {"sums", {{extent(width), 1}, {extent(modes), width}, {extent(rows), 0}}, ArgKind::inout}});
    } else {
        // A sum for each mode and each of the lines that lie side by side; a call meets each of them once.
        Func sums("sums");
        RDom t(0, modes, 0, rows, "t"), u(0, modes, "u");
        const auto beside = [&](const Expr &row) { return clamp(line(row) % stride, 0, stride - 1); };
        sums(c, m, l) = undef<double>();
        sums(c, t.x, beside(t.y)) = sums(c, t.x, beside(t.y)) * kept(t.x, t.y) + cast<double>(x(c, t.y));
        Func total("total");
        total(c, r) = cast<double>(0);
        total(c, r) += scale(c, u) * sums(c, u, beside(r));
        y(c, r) = cast<float>(total(c, r));

        // THE SCHEDULE
        sums.update().reorder(c, t.x, t.y).vectorize(c, vec);
        y.vectorize(c, vec);
        total.compute_at(y, c);
        total.update();
        k.output(y, shape);
        k.in_place(sums, dense({width, modes, stride}));
    }
    if (length) {
        line.compute_root();
        store(line, int64_t{4} * rows);
        k.in_place(count, dense({1}));
    }
}

static const Kernel exponential_scan{"exponential_scan", build_exponential_scan};

} // namespace longwave::schedules
