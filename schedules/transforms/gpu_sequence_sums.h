// Fourier transforms of whole real sequences on a gpu, a workgroup for a few channels, as
// RealTransform (real_transform.h) has them: by passes in shared memory, 8 bytes for each two
// samples (an odd length: for each), where that holds them; else, and for lengths with a prime
// above 5, a thread adds up all samples for each result.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/transforms/gpu_shared_transform.h"
#include <optional>

namespace longwave::schedules {

class SequenceSums {
public:
    using Samples = std::function<Halide::Expr(const Halide::Expr &lane, const Halide::Expr &t)>;
    using Bins = std::function<Complex(const Halide::Expr &lane, const Halide::Expr &k)>;

    // `table` holds real_twiddles(length); `width`: lanes of the call.
    SequenceSums(KernelBuilder &k, int length, int width, const Halide::ImageParam &table);

    // Σ_t x(t)·exp(−2πi·tk/length) for 0 ≤ k ≤ length/2.
    Bins forward(const Samples &x);
    // The real sequence whose bins from 0 to length/2 are h(k), times length. The imaginary parts
    // of bin 0 and of bin length/2 count as zero.
    Samples inverse(const Bins &h);
    // Of what is made of the results: `inner` within `row`, of which there are `rows`.
    void schedule(Halide::Func y, const Halide::Var &lane, const Halide::Var &row,
                  const std::vector<Halide::Var> &inner, int rows);

private:
    Complex root(const Halide::Expr &index) const; // exp(2πi·index/length), 0 ≤ index < length
    Bins direct_forward(const Samples &x);
    Samples direct_inverse(const Bins &h);

    KernelBuilder &k_;
    const int length_;
    const RealShape shape_;
    const Halide::ImageParam table_;
    int wide_ = 1; // channels of a workgroup
    std::optional<SharedTransform> transform_;
    Halide::Func part_, sum_;
};

} // namespace longwave::schedules
