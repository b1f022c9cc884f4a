// Fourier transforms of whole real sequences on a gpu, a workgroup for a few channels, as
// RealTransform (sequence_transform.cc) has them: by passes in shared memory, 8 bytes for each two
// samples (an odd length: for each), where that holds them; else, and for lengths with a prime
// above 5, a thread adds up all samples for each result.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/halide/threads.h"
#include "schedules/transforms/butterfly.h"
#include "schedules/transforms/gpu_butterflies.h"
#include <optional>

namespace longwave::schedules {

// Discrete Fourier transforms that a workgroup takes in its shared memory, in place: 8 bytes a
// point.

// X(k) = Σ_n x(n)·exp(2πi·nk/points) of each of `wide` lanes, a pass for each radix
// (butterflies.h). Natural order in; bin k lies at place(k), in the order of its digits from the
// other end.
class SharedTransform {
public:
    // exp(2πi·offset·m·blocks/points), of the pass that meets so many blocks
    using Root = std::function<Complex(size_t pass, int m, const Halide::Expr &offset)>;
    using Sample = std::function<Complex(const Halide::Expr &lane, const Halide::Expr &n)>;
    using Row = std::function<Halide::Expr(const Halide::Expr &lane, const Halide::Expr &t)>;

    // No radices: one point. `shared_bytes`: of a workgroup, at most.
    SharedTransform(const std::string &name, std::vector<int> radices, int wide, int threads,
                    int shared_bytes, Root root);

    // Defines `values`(lane, part, point) and schedules its passes over threads (lane, butterfly).
    void define(const Sample &sample);
    // The same of 2·points rows, of which point n is rows 2n and 2n + 1. They come into shared memory
    // first, where neighbouring threads have neighbouring rows.
    void define_from_rows(const Row &row);
    Complex bin(const Halide::Expr &lane, const Halide::Expr &k) const;
    // Shared by the workgroup of each `block` of `f`.
    void compute_at(const Halide::Func &f, const Halide::Var &block);

    const int points;
    Halide::Func values;

private:
    void passes(const Sample &sample);
    void pass(size_t number, int blocks, const Sample &sample);
    Halide::Expr place(const Halide::Expr &k) const;

    const std::vector<int> radices_;
    const int wide_, threads_;
    Root root_;
    SharedPlaces places_;
    Halide::Var lane_{"lane"}, part_{"part"}, point_{"point"};
};

class SequenceSums {
public:
    using Samples = std::function<Halide::Expr(const Halide::Expr &lane, const Halide::Expr &t)>;
    using Bins = std::function<Complex(const Halide::Expr &lane, const Halide::Expr &k)>;

    // `table` holds shared_root_values(length), or real_twiddles(length) where there are no passes;
    // `width`: lanes of the call. Of rows that lie channel by channel a workgroup has one channel.
    SequenceSums(KernelBuilder &k, int length, int width, const Halide::ImageParam &table);

    // Σ_t x(t)·exp(−2πi·tk/length) for 0 ≤ k ≤ length/2.
    Bins forward(const Samples &x);
    // The real sequence whose bins from 0 to length/2 are h(k), times length. The imaginary parts
    // of bin 0 and of bin length/2 count as zero.
    Samples inverse(const Bins &h);
    // Of rows that lie one after the other. Sums over all samples take what they take in either order.
    uint32_t sectors_by_row() const { return transform_ ? sectors_of_rows(wide_) : ideal_sectors; }
    // Of what is made of the results: `inner` within `row`, of which there are `rows`.
    void schedule(Halide::Func y, const Halide::Var &lane, const Halide::Var &row,
                  const std::vector<Halide::Var> &inner, int rows);

private:
    // Both exp(2πi·index/length).
    Complex root(const Halide::Expr &index) const;       // of a sum: 0 ≤ index < length
    Complex split_root(const Halide::Expr &index) const; // behind the passes: 0 ≤ index ≤ length/2
    Bins direct_forward(const Samples &x);
    Samples direct_inverse(const Bins &h);

    KernelBuilder &k_;
    const int length_;
    const RealShape shape_;
    const SharedRoots roots_;
    const Halide::ImageParam table_;
    int wide_ = 1; // channels of a workgroup
    std::optional<SharedTransform> transform_;
    Halide::Func part_, sum_;
};

} // namespace longwave::schedules
