// sequence_transform, sequence_inverse: the transform of a whole sequence of each channel, Fourier
// or cosine, and the way back from a spectrum or from the product of two.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/transforms/butterfly.h"
#include "schedules/transforms/gpu_sequence_sums.h"
#include <functional>

namespace longwave::schedules {
namespace {

// Fourier transforms of real sequences of any length in natural order, lanes over channels: an even
// length as half as many complex points by self-sorting passes, an odd one as its own; lengths with
// a prime above 5 as sums over all samples.

class RealTransform {
public:
    using Samples = std::function<Halide::Expr(const Halide::Expr &t)>;
    using Bins = std::function<Complex(const Halide::Expr &k)>;

    // `table` holds real_twiddles(length). Values are functions of the lane `v`, `tile` of them;
    // what lies between input and result is computed as a whole, `vec` lanes at a time.
    RealTransform(int length, const Halide::ImageParam &table, const Halide::Var &v, int tile, int vec);

    int bins() const { return length_ / 2 + 1; }
    // Σ_t x(t)·exp(−2πi·tk/length) for 0 ≤ k < bins().
    Bins forward(const Samples &x) const;
    // The real sequence whose bins from 0 to length/2 are h(k), times length. The imaginary parts
    // of bin 0 and of bin length/2 count as zero.
    Samples inverse(const Bins &h) const;

private:
    Bins pass_through(Bins in, const char *name) const; // all passes: Σ_m in(m)·exp(2πi·mk/points)
    Complex root(const Halide::Expr &k) const;
    void whole(Halide::Func f, int extent) const; // schedule of an intermediate
    Halide::Func bins_of(const Bins &h) const;

    int length_;
    RealShape shape_;
    Halide::ImageParam table_;
    Halide::Var v_;
    int lanes_, vec_;
};

using namespace Halide;

Complex conjugate(const Complex &a) { return {a.re, a.im.defined() ? -a.im : Expr(0.0f)}; }
Complex value(const FuncRef &at) { return {at[0], at[1]}; }

RealTransform::RealTransform(int length, const ImageParam &table, const Var &v, int tile, int vec)
    : length_(length), shape_(real_shape(static_cast<uint32_t>(length))), table_(table), v_(v), lanes_(tile),
      vec_(vec) {}

Complex RealTransform::root(const Expr &k) const {
    return {table_(shape_.roots + 2 * k), table_(shape_.roots + 2 * k + 1)};
}

void RealTransform::whole(Func f, int extent) const {
    f.compute_root().bound_extent(f.args()[0], lanes_).bound_extent(f.args()[1], extent);
    if (f.has_update_definition()) {
        for (int i = 0; i < f.num_update_definitions(); i++) f.update(i).vectorize(f.args()[0], vec_);
    } else {
        f.vectorize(f.args()[0], vec_);
    }
    store(f, int64_t{8} * lanes_ * extent);
}

// The pass with `size` points left at stride s reads q + s·(p + m·k) and writes q + s·(R·p + k) for
// k < R, m = size/R, times exp(2πi·p·k/size).
RealTransform::Bins RealTransform::pass_through(Bins in, const char *name) const {
    int size = shape_.points, stride = 1, offset = 0;
    for (const int radix : shape_.radices) {
        const int m = size / radix;
        RDom d(0, stride, 0, m, name + std::to_string(stride) + "_d");
        std::vector<Complex> x(radix);
        std::vector<Expr> where(radix);
        for (int k = 0; k < radix; k++) {
            x[k] = in(d.x + stride * (d.y + m * k));
            where[k] = d.x + stride * (d.y * radix + k);
        }
        x = dft(x);
        for (int k = 1; k < radix && m > 1; k++) {
            const Expr at = offset + 2 * (d.y * (radix - 1) + k - 1);
            x[k] = x[k] * Complex{table_(at), table_(at + 1)};
        }
        Var n("n");
        Func pass(name + std::to_string(stride));
        pass(v_, n) = Tuple(undef<float>(), undef<float>());
        pass(v_, scatter(where)) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
        pass.update().reorder(v_, d.x, d.y);
        whole(pass, shape_.points);
        const Var v = v_;
        in = [pass, v](const Expr &at) { return value(pass(v, at)); };
        offset += 2 * m * (radix - 1);
        size = m, stride *= radix;
    }
    return in;
}

RealTransform::Bins RealTransform::forward(const Samples &x) const {
    const int points = shape_.points;
    if (shape_.dense) {
        Var k("k");
        Func sum("bins");
        RDom t(0, length_, "t");
        const Complex w = root(k * t % length_);
        sum(v_, k) = Tuple(0.0f, 0.0f);
        sum(v_, k) = Tuple(sum(v_, k)[0] + x(t) * w.re, sum(v_, k)[1] - x(t) * w.im);
        sum.vectorize(v_, vec_).update().reorder(v_, t, k);
        whole(sum, bins());
        return [sum, v = v_](const Expr &at) { return value(sum(v, at)); };
    }
    if (length_ % 2) {
        const Bins z = pass_through([x](const Expr &t) { return Complex{x(t), Expr()}; }, "forward");
        return [z](const Expr &k) { return conjugate(z(k)); };
    }
    // X(k) = conj(E + w^k·O) with E = (Z(k) + conj Z(−k))/2, O = (Z(k) − conj Z(−k))/2i, Z with
    // exp(+).
    const Bins z = pass_through([x](const Expr &m) { return Complex{x(2 * m), x(2 * m + 1)}; }, "forward");
    return [z, points, self = *this](const Expr &k) {
        const Complex a = z(k % points), b = conjugate(z((points - k) % points)), sum = a + b, apart = a - b;
        const Complex bin = sum + Complex{apart.im, -apart.re} * self.root(k);
        return Complex{0.5f * bin.re, -0.5f * bin.im};
    };
}

// Once each, with what counts as zero made zero.
Func RealTransform::bins_of(const Bins &h) const {
    Var k("k");
    Func f("product");
    const Complex bin = h(k);
    Expr real_only = k == 0;
    if (length_ % 2 == 0) real_only = real_only || k == length_ / 2;
    f(v_, k) = Tuple(bin.re, select(real_only, 0.0f, bin.im));
    whole(f, bins());
    return f;
}

RealTransform::Samples RealTransform::inverse(const Bins &h) const {
    const Func bins_func = bins_of(h);
    const auto bin = [bins_func, v = v_](const Expr &k) { return value(bins_func(v, k)); };
    const int points = shape_.points;
    if (shape_.dense) {
        Var t("t");
        Func sum("samples");
        RDom k(1, (length_ - 1) / 2, "k");
        const Complex w = root(k * t % length_);
        sum(v_, t) =
            length_ % 2 ? bin(0).re : bin(0).re + select(t % 2 == 0, bin(points).re, -bin(points).re);
        sum(v_, t) += 2.0f * (bin(k).re * w.re - bin(k).im * w.im);
        sum.vectorize(v_, vec_).update().reorder(v_, k, t);
        whole(sum, length_);
        return [sum, v = v_](const Expr &at) { return Expr(sum(v, at)); };
    }
    if (length_ % 2) {
        const Bins z = pass_through(
            [bin, length = length_](const Expr &k) {
                const Complex a = bin(clamp(min(k, length - k), 0, length / 2));
                return Complex{a.re, select(2 * k > length, -a.im, a.im)};
            },
            "inverse");
        return [z](const Expr &t) { return z(t).re; };
    }
    // Z(k) = (H(k) + conj H(M − k)) + i·w^k·(H(k) − conj H(M − k)) holds even samples and i times
    // odd ones.
    Var k("k");
    Func packed("packed");
    const Complex a = bin(k), b = conjugate(bin(points - k)), z = (a + b) + times_i((a - b) * root(k));
    packed(v_, k) = Tuple(z.re, z.im);
    whole(packed, points);
    const Bins samples =
        pass_through([packed, v = v_](const Expr &at) { return value(packed(v, at)); }, "inverse");
    return [samples](const Expr &t) {
        const Complex pair = samples(t / 2);
        return select(t % 2 == 0, pair.re, pair.im);
    };
}

} // namespace

using namespace Halide;

namespace {

// What both directions have in common.
struct Transformed {
    bool cosine, all;
    int length, channels, row, tile, vec, bins, parts;
    float scale;
    ImageParam table, cosines;

    Transformed(KernelBuilder &k, const auto &params)
        : cosine(params.transform.template is<"cosine">()), all(params.all), length(params.length),
          channels(params.channels), row(static_cast<int>(pad(channels))), tile(std::min(row, 16)),
          vec(dividing_vector(tile, k.target.vector_lanes)), bins(cosine ? length : length / 2 + 1),
          parts(cosine ? 1 : 2), scale(params.scale) {
        k.params.require(k.target.kind == targets::Kind::gpu || !all, "'all' is for a gpu");
        k.params.require(k.target.kind != targets::Kind::gpu || all || row == tile,
                         "more than 16 channels need 'all' on a gpu");
    }

    void weights(KernelBuilder &k, const auto &names) {
        const bool gpu = k.target.kind == targets::Kind::gpu;
        const int shared =
            gpu ? shared_roots(extent(length), static_cast<uint64_t>(k.target.shared_bytes)).size : 0;
        table = k.weight(names.twiddles, dense({shared ? shared : real_shape(extent(length)).size}));
        if (cosine) cosines = k.weight(names.cosines, dense({2, length}));
    }
    // Sectors of the rows of a channel belong to it alone.
    static bool whole_sectors(int rows, int other_rows) {
        return rows % sector_channels == 0 && other_rows % sector_channels == 0;
    }
    Shape rows_of(int count, int parts_of_row) const {
        return {{extent(width()), 1}, {extent(parts_of_row), row}, {extent(count), parts_of_row * row}};
    }
    // Of a call: a tile, or on a gpu all channels.
    int width() const { return all ? row : tile; }
    Complex root(const Expr &k) const { return {cosines(0, k), cosines(1, k)}; }
    // Where a cosine transform takes its sample t from: even ones, then odd ones backwards.
    Expr reordered(const Expr &t) const {
        const int even = (length + 1) / 2;
        return select(t < even, 2 * t, 2 * (length - 1 - t) + 1);
    }
    Expr place(const Expr &sample) const { // of a sample among those
        return select(sample % 2 == 0, sample / 2, length - 1 - sample / 2);
    }
};

struct Forward : Transformed {
    const contract::SequenceTransform::Arguments<contract::Names> names =
        contract::names_of<contract::SequenceTransform>();
    int rows, out_rows, parts_out;
    bool magnitude;
    ImageParam x;

    Forward(KernelBuilder &k, const contract::SequenceTransform &p)
        : Transformed(k, p), rows(p.rows), out_rows(p.out_rows), parts_out(0), magnitude(p.magnitude) {
        k.params.require(cosine ? rows == length : rows <= length, "'rows' must fit 'length'");
        k.params.require(out_rows >= bins, "'out_rows' must hold the spectrum");
        k.no_epilogue();
        parts_out = magnitude ? 1 : parts;
        x = k.input(names.x, {{extent(width()), 1}, {extent(rows), row}});
        weights(k, names);
    }
    Expr sample(const Expr &lane, const Expr &t) const {
        if (cosine) return x(lane, reordered(t));
        return rows == length ? Expr(x(lane, t)) : select(t < rows, x(lane, min(t, rows - 1)), 0.0f);
    }
    // `bin`: of the Fourier transform of the samples.
    Expr spectrum(const std::function<Complex(const Expr &k)> &bin, const Expr &part, const Expr &b) const {
        const Expr factor = scale;
        if (cosine) { // 2·Re(exp(−πik/2L)·X(k)), X(L − k) = conj X(k)
            const Complex a = bin(clamp(min(b, length - b), 0, length / 2)), w = root(b);
            const Expr value = factor * (a.re * w.re + select(2 * b > length, -a.im, a.im) * w.im);
            return magnitude ? abs(value) : value;
        }
        const Complex a = bin(b);
        return magnitude ? (factor * a.re) * (factor * a.re) + (factor * a.im) * (factor * a.im)
                         : factor * select(part == 0, a.re, a.im);
    }
};

struct Inverse : Transformed {
    const contract::SequenceInverse::Arguments<contract::Names> names =
        contract::names_of<contract::SequenceInverse>();
    int rows, adaptive; // parts of h
    bool product;
    ImageParam u, h, fixed;
    Shape y_shape;

    Inverse(KernelBuilder &k, const contract::SequenceInverse &p)
        : Transformed(k, p), rows(p.rows), adaptive(p.parts), product(p.product) {
        k.params.require(adaptive <= parts, "'parts' must be at most those of the transform");
        k.params.require(rows <= length, "'rows' must not exceed length");
        k.params.require(product || adaptive > 0, "'parts' of the spectrum expected");
        if (product) u = k.input(names.u, rows_of(length, parts));
        if (adaptive) h = k.input(names.h, rows_of(length, adaptive));
        if (product)
            fixed = k.weight(names.fixed,
                             all ? dense({tile, parts, bins, row / tile}) : dense({tile, parts, bins}));
        weights(k, names);
        y_shape = {{extent(width()), 1}, {extent(rows), row}};
    }
    // Of u·(fixed + h), or of h: what the transform back begins with.
    Complex bin(const Expr &lane, const Expr &b) const {
        if (!cosine) return whole(value(lane, b));
        // X(k) = (C(k) − i·C(L − k))·exp(πik/2L)/2L, C(L) = 0
        const Expr mirror = select(b == 0, 0.0f, value(lane, (length - b) % length).re);
        return Complex{value(lane, b).re, -mirror} * root(b);
    }
    Expr sample_of(const Expr &r) const { return cosine ? place(r) : r; }

private:
    Complex value(const Expr &lane, const Expr &b) const {
        const auto read = [&](const ImageParam &from, int count) {
            return Complex{from(lane, 0, b), count == 2 ? Expr(from(lane, 1, b)) : Expr()};
        };
        if (!product) return read(h, adaptive);
        Complex kernel;
        if (all)
            kernel = {fixed(lane % tile, 0, b, lane / tile),
                      parts == 2 ? Expr(fixed(lane % tile, 1, b, lane / tile)) : Expr()};
        else kernel = read(fixed, parts);
        if (adaptive) kernel = kernel + read(h, adaptive);
        return read(u, parts) * kernel;
    }
    static Complex whole(const Complex &a) { return {a.re, a.im.defined() ? a.im : Expr(0.0f)}; }
};

} // namespace

static void build_sequence_transform(KernelBuilder &k, const contract::SequenceTransform &p) {
    const Forward of(k, p);

    // THE ALGORITHM
    Var v("v"), part("part"), r("r"), b("b");
    Func y("y"), spectrum("spectrum");
    const RealTransform transform(of.length, of.table, v, of.tile, of.vec);
    const RealTransform::Bins bin = transform.forward([&](const Expr &t) { return of.sample(v, t); });
    spectrum(v, part, b) = of.spectrum(bin, part, b);
    y(v, part, r) = 0.0f;
    RDom used(0, of.bins, "used");
    y(v, part, used) = spectrum(v, part, used);

    // THE SCHEDULE
    y.bound(v, 0, of.tile).bound(part, 0, of.parts_out).vectorize(v, of.vec).unroll(part);
    y.update().reorder(v, part, used).vectorize(v, of.vec).unroll(part);
    k.output(y, of.names.y, of.rows_of(of.out_rows, of.parts_out));
}

static void build_sequence_inverse(KernelBuilder &k, const contract::SequenceInverse &p) {
    const Inverse of(k, p);
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(of.y_shape, of.channels);

    // THE ALGORITHM
    Var v("v"), r("r");
    Func y("y");
    const RealTransform transform(of.length, of.table, v, of.tile, of.vec);
    const RealTransform::Samples sample = transform.inverse([&](const Expr &b) { return of.bin(v, b); });
    const Expr value = of.scale * sample(of.sample_of(r));
    y(v, r) = epilogue(value, {v, r});

    // THE SCHEDULE
    y.bound(v, 0, of.tile).vectorize(v, of.vec);
    if (of.rows % 2 == 0) y.unroll(r, 2); // even and odd samples lie in two halves
    k.output(y, of.names.y, of.y_shape);
}

static void build_sequence_transform_on_gpu(KernelBuilder &k, const contract::SequenceTransform &p) {
    const Forward of(k, p);

    // THE ALGORITHM
    Var v("v"), part("part"), r("r");
    Func y("y");
    SequenceSums sums(k, of.length, of.width(), of.table);
    const SequenceSums::Bins bin =
        sums.forward([&](const Expr &lane, const Expr &t) { return of.sample(lane, t); });
    const Expr b = min(r, of.bins - 1),
               value = of.spectrum([&](const Expr &at) { return bin(v, at); }, part, b);
    y(v, part, r) = of.out_rows > of.bins ? select(r < of.bins, value, 0.0f) : value;
    sums.schedule(y, v, r, {part}, of.out_rows);
    k.output(y, of.names.y, of.rows_of(of.out_rows, of.parts_out));
    if (of.all && of.row > 1 && of.whole_sectors(of.rows, of.out_rows))
        k.allow_channel_major({of.names.x.text, y.name()}, sums.sectors_by_row());
}

static void build_sequence_inverse_on_gpu(KernelBuilder &k, const contract::SequenceInverse &p) {
    const Inverse of(k, p);
    const KernelBuilder::Epilogue epilogue =
        of.all ? k.epilogue(of.y_shape, of.channels) : k.tile_epilogue(of.y_shape, of.channels);

    // THE ALGORITHM
    Var v("v"), r("r");
    Func y("y");
    SequenceSums sums(k, of.length, of.width(), of.table);
    const SequenceSums::Samples sample =
        sums.inverse([&](const Expr &lane, const Expr &b) { return of.bin(lane, b); });
    y(v, r) = epilogue(of.scale * sample(v, of.sample_of(r)), {v, r});
    sums.schedule(y, v, r, {}, of.rows);
    k.output(y, of.names.y, of.y_shape);
    if (of.all && of.row > 1 && !of.product && of.whole_sectors(of.rows, of.length))
        k.allow_channel_major_with_operands({of.names.h.text, y.name()}, sums.sectors_by_row());
}

static const Kernel<contract::SequenceTransform> sequence_transform{
    build_sequence_transform, build_sequence_transform_on_gpu, Fp16::inputs_and_outputs};
static const Kernel<contract::SequenceInverse> sequence_inverse{
    build_sequence_inverse, build_sequence_inverse_on_gpu, Fp16::inputs_and_outputs};

} // namespace longwave::schedules
