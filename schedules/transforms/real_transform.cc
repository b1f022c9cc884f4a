#include "schedules/transforms/real_transform.h"
#include "schedules/halide/builder.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

Complex conjugate(const Complex &a) { return {a.re, a.im.defined() ? -a.im : Expr(0.0f)}; }
Complex value(const FuncRef &at) { return {at[0], at[1]}; }

} // namespace

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

} // namespace longwave::schedules
