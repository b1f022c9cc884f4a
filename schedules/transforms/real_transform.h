// Fourier transforms of real sequences of any length in natural order, lanes over channels: an even
// length as half as many complex points by self-sorting passes, an odd one as its own; lengths with
// a prime above 5 as sums over all samples.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/transforms/butterfly.h"
#include <functional>

namespace longwave::schedules {

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

} // namespace longwave::schedules
