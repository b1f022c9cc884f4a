// sequence_transform, sequence_inverse: the transform of a whole sequence of each channel, Fourier or
// cosine, and the way back from a spectrum or from the product of two.
#include "schedules/real_transform.h"
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// What both directions have in common.
struct Transformed {
    bool cosine;
    int length, channels, row, tile, vec, bins, parts;
    float scale;
    ImageParam table, cosines;

    explicit Transformed(KernelBuilder &k)
        : cosine(k.params.choice("transform", {"fourier", "cosine"}) == "cosine"),
          length(k.params.integer("length", 1, 1 << 22)), channels(k.params.integer("channels", 1, 1 << 20)),
          row(static_cast<int>(pad(channels))), tile(std::min(row, 16)),
          vec(dividing_vector(tile, k.target.vector_lanes)), bins(cosine ? length : length / 2 + 1),
          parts(cosine ? 1 : 2), scale(static_cast<float>(k.params.real("scale", 1e-30, 1e30))) {}

    void weights(KernelBuilder &k) {
        table = k.weight("twiddles", dense({real_shape(extent(length)).size}));
        if (cosine) cosines = k.weight("cosines", dense({2, length}));
    }
    Shape rows_of(int count, int parts_of_row) const {
        return {{extent(tile), 1}, {extent(parts_of_row), row}, {extent(count), parts_of_row * row}};
    }
    Complex turn(const Expr &k) const { return {cosines(0, k), cosines(1, k)}; }
    // Where a cosine transform takes its sample t from: even ones, then odd ones backwards.
    Expr reordered(const Expr &t) const {
        const int even = (length + 1) / 2;
        return select(t < even, 2 * t, 2 * (length - 1 - t) + 1);
    }
    Expr place(const Expr &sample) const { // of a sample among those
        return select(sample % 2 == 0, sample / 2, length - 1 - sample / 2);
    }
};

} // namespace

static void build_sequence_transform(KernelBuilder &k) {
    Transformed of(k);
    const int rows = k.params.integer("rows", 1, 1 << 22),
              out_rows = k.params.integer("out_rows", 1, 1 << 23);
    const bool magnitude = k.params.flag_or("magnitude", false);
    k.params.require(of.cosine ? rows == of.length : rows <= of.length, "'rows' must fit 'length'");
    k.params.require(out_rows >= of.bins, "'out_rows' must hold the spectrum");
    k.no_epilogue();
    const int parts = magnitude ? 1 : of.parts;
    ImageParam x = k.input("x", {{extent(of.tile), 1}, {extent(rows), of.row}});
    of.weights(k);

    // THE ALGORITHM
    Var v("v"), part("part"), r("r"), b("b");
    Func y("y"), spectrum("spectrum");
    const RealTransform transform(of.length, of.table, v, of.tile, of.vec);
    const auto sample = [&](const Expr &t) -> Expr {
        if (of.cosine) return x(v, of.reordered(t));
        return rows == of.length ? Expr(x(v, t)) : select(t < rows, x(v, min(t, rows - 1)), 0.0f);
    };
    const RealTransform::Bins bin = transform.forward(sample);
    const Expr scale = of.scale;
    if (of.cosine) { // 2·Re(exp(−πik/2L)·X(k)), X(L − k) = conj X(k)
        const Complex a = bin(clamp(min(b, of.length - b), 0, of.length / 2)), w = of.turn(b);
        const Expr value = scale * (a.re * w.re + select(2 * b > of.length, -a.im, a.im) * w.im);
        spectrum(v, part, b) = magnitude ? abs(value) : value;
    } else {
        const Complex a = bin(b);
        spectrum(v, part, b) = magnitude ? (scale * a.re) * (scale * a.re) + (scale * a.im) * (scale * a.im)
                                         : scale * select(part == 0, a.re, a.im);
    }
    y(v, part, r) = 0.0f;
    RDom used(0, of.bins, "used");
    y(v, part, used) = spectrum(v, part, used);

    // THE SCHEDULE
    y.bound(v, 0, of.tile).bound(part, 0, parts).vectorize(v, of.vec).unroll(part);
    y.update().reorder(v, part, used).vectorize(v, of.vec).unroll(part);
    k.output(y, of.rows_of(out_rows, parts));
}

static void build_sequence_inverse(KernelBuilder &k) {
    Transformed of(k);
    const int rows = k.params.integer("rows", 1, 1 << 22);
    const bool product = k.params.flag_or("product", false);
    const int adaptive = k.params.integer_or("parts", 0, 0, of.parts); // of h
    k.params.require(rows <= of.length, "'rows' must not exceed length");
    k.params.require(product || adaptive > 0, "'parts' of the spectrum expected");
    ImageParam u, h, fixed;
    if (product) u = k.input("u", of.rows_of(of.bins, of.parts));
    if (adaptive) h = k.input("h", of.rows_of(of.bins, adaptive));
    if (product) fixed = k.weight("fixed", dense({of.tile, of.parts, of.bins}));
    of.weights(k);
    const Shape y_shape = {{extent(of.tile), 1}, {extent(rows), of.row}};
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(y_shape, of.channels);

    // THE ALGORITHM
    Var v("v"), r("r");
    Func y("y");
    const RealTransform transform(of.length, of.table, v, of.tile, of.vec);
    const auto read = [&](const ImageParam &from, int parts, const Expr &b) {
        return Complex{from(v, 0, b), parts == 2 ? Expr(from(v, 1, b)) : Expr()};
    };
    const RealTransform::Bins bin = [&](const Expr &b) {
        if (!product) return read(h, adaptive, b);
        Complex kernel = read(fixed, of.parts, b);
        if (adaptive) kernel = kernel + read(h, adaptive, b);
        return read(u, of.parts, b) * kernel;
    };
    const auto whole = [](const Complex &a) { return Complex{a.re, a.im.defined() ? a.im : Expr(0.0f)}; };
    RealTransform::Samples sample;
    if (of.cosine) { // X(k) = (C(k) − i·C(L − k))·exp(πik/2L)/2L, C(L) = 0
        sample = transform.inverse([&](const Expr &b) {
            const Expr mirror = select(b == 0, 0.0f, bin((of.length - b) % of.length).re);
            return Complex{bin(b).re, -mirror} * of.turn(b);
        });
    } else {
        sample = transform.inverse([&](const Expr &b) { return whole(bin(b)); });
    }
    const Expr value = of.scale * sample(of.cosine ? of.place(r) : Expr(r));
    y(v, r) = epilogue(value, {v, r});

    // THE SCHEDULE
    y.bound(v, 0, of.tile).vectorize(v, of.vec);
    if (rows % 2 == 0) y.unroll(r, 2); // even and odd samples lie in two halves
    k.output(y, y_shape);
}

static const Kernel sequence_transform{"sequence_transform", build_sequence_transform};
static const Kernel sequence_inverse{"sequence_inverse", build_sequence_inverse};

} // namespace longwave::schedules
