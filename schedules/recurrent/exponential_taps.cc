// exponential_taps: k[c,q,j] = Re Σ_n c[c,q,n] λ_n^j, plus D at lag 0: the taps of a state space. A
// power is the product of two entries of tables: λ^j below `step`, and c λ^(i step). Each table
// comes from repeated products in float64.
#include "schedules/contract/kernels/recurrent.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static Tuple complex_product(const Tuple &a, const Tuple &b) {
    return {a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]};
}

static void build_exponential_taps(KernelBuilder &k, const contract::ExponentialTaps &params) {
    const int copies = params.copies, poles = params.poles, taps = params.taps;
    const int width = static_cast<int>(pad(extent(params.channels)));
    const auto a = contract::names_of<contract::ExponentialTaps>();
    k.no_epilogue();
    ImageParam pole_re = k.weight(a.pole_real, dense({width, poles}), Float(64)),
               pole_im = k.weight(a.pole_imaginary, dense({width, poles}), Float(64)),
               c_re = k.weight(a.c_real, dense({width, poles, copies})),
               c_im = k.weight(a.c_imaginary, dense({width, poles, copies})),
               d = k.weight(a.D, dense({width, copies}));
    int step = 2; // both tables have about as many entries
    while (int64_t{step} * step < taps) step *= 2;
    const int steps = (taps + step - 1) / step;

    // THE ALGORITHM
    Var c("c"), q("q"), n("n"), i("i"), j("j"), t("t");
    Func fine("fine"), coarse("coarse"), begin("begin"), tap("tap"), y("k");
    const Tuple one{cast<double>(1), cast<double>(0)};
    RDom f(1, step - 1, "f"), s(1, std::max(steps - 1, 1), "s"), p(0, poles, "p");
    const auto pole = [&](const Expr &number) { return Tuple{pole_re(c, number), pole_im(c, number)}; };
    fine(c, n, j) = one;
    fine(c, n, f) = complex_product(fine(c, n, f - 1), pole(n));
    coarse(c, n, i) = one;
    coarse(c, n, s) = complex_product(coarse(c, n, s - 1), complex_product(fine(c, n, step - 1), pole(n)));
    begin(c, q, n, i) =
        complex_product(Tuple{cast<double>(c_re(c, n, q)), cast<double>(c_im(c, n, q))}, coarse(c, n, i));
    tap(c, q, t) = cast<double>(select(t == 0, d(c, q), 0.0f));
    tap(c, q, t) += begin(c, q, p, t / step)[0] * fine(c, p, t % step)[0] -
                    begin(c, q, p, t / step)[1] * fine(c, p, t % step)[1];
    y(c, q, t) = cast<float>(tap(c, q, t));

    // THE SCHEDULE
    const int vec = dividing_vector(width, k.target.vector_lanes);
    Var co("co"), ci("ci"), block("block"), in("in");
    y.split(c, co, ci, vec).split(t, block, in, step, TailStrategy::GuardWithIf);
    y.reorder(ci, in, q, block, co).vectorize(ci);
    tap.compute_at(y, in).vectorize(c);
    tap.update().vectorize(c);
    begin.compute_at(y, q).store_in(MemoryType::Heap).vectorize(c); // a stack frame is small
    for (Func table : {fine, coarse}) {
        table.compute_at(y, co).store_in(MemoryType::Heap).vectorize(c, vec);
        table.update().vectorize(c, vec);
    }
    k.output(y, a.k, dense({width, copies, taps}));
}

static const Kernel<contract::ExponentialTaps> exponential_taps{build_exponential_taps};

} // namespace longwave::schedules
