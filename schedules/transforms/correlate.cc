// correlate: conj(k)·σ(q) of two spectra, σ on real and imaginary parts or on the magnitude.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/pointwise/elementary.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

using namespace Halide;

static Expr activated(const std::string &name, const Expr &x) {
    if (name == "gelu") return gelu(x);
    if (name == "relu") return max(x, 0.0f);
    if (name == "sigmoid") return sigmoid(x);
    if (name == "silu") return silu(x);
    if (name == "tanh") return hyperbolic_tangent(x);
    return x;
}

namespace {

struct Correlate {
    contract::Correlate::Arguments<contract::Names> a;
    int width, parts, rows;
    Shape shape;
    Var c, part, r;
    Func y;
};

// THE ALGORITHM
Correlate define_correlate(KernelBuilder &k, const contract::Correlate &p) {
    const auto a = contract::names_of<contract::Correlate>();
    const int channels = p.channels, parts = p.parts, rows = p.rows;
    const std::string &sigma = p.activation.value;
    const bool magnitude = p.magnitude;
    k.no_epilogue();
    const int width = static_cast<int>(pad(channels));
    const Shape shape = dense({width, parts, rows});
    ImageParam key = k.input(a.k, shape), query = k.input(a.q, shape);

    Var c("c"), part("part"), r("r");
    Func y("y");
    const auto read = [&](const ImageParam &from) {
        return Complex{from(c, 0, r), parts == 2 ? Expr(from(c, 1, r)) : Expr()};
    };
    Complex q = read(query);
    if (magnitude) {
        const Expr size = parts == 2 ? sqrt(q.re * q.re + q.im * q.im) : abs(q.re);
        const Expr factor = activated(sigma, size) / max(size, 1e-6f);
        q = q * Complex{factor, Expr()};
    } else {
        q.re = activated(sigma, q.re);
        if (parts == 2) q.im = activated(sigma, q.im);
    }
    const Complex product = times_conjugate(q, read(key));
    y(c, part, r) = parts == 2 ? select(part == 0, product.re, product.im) : product.re;

    return {a, width, parts, rows, shape, c, part, r, y};
}

void correlate_on_cpu(KernelBuilder &k, const contract::Correlate &p) {
    Correlate d = define_correlate(k, p);
    d.y.bound(d.part, 0, d.parts).reorder(d.part, d.c, d.r).unroll(d.part);
    d.y.vectorize(d.c, dividing_vector(d.width, k.target.vector_lanes));
    k.output(d.y, d.a.y, d.shape);
}

void correlate_on_gpu(KernelBuilder &k, const contract::Correlate &p) {
    Correlate d = define_correlate(k, p);
    spread(d.y, {d.c, d.part, d.r}, {d.width, d.parts, d.rows});
    k.output(d.y, d.a.y, d.shape);
}

const Kernel<contract::Correlate> correlate{correlate_on_cpu, correlate_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
