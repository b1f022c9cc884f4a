// The transform of real samples that lie in one row, with SIMD inside the row, so that one row at a time is
// fast.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

// n_fft/2 complex points, of which point 2·n + i holds samples 2n and 2n + 1 of n_fft real ones. They are a
// matrix n = columns·n1 + n2, k = k1 + rows·k2: transforms along n1, a twist, transforms along n2, both with
// the other index in the lanes.
class RowTransform {
public:
    using Points = std::function<Complex(const Halide::Expr &n)>;

    // `table` holds frame_twiddles(n_fft). `points` are functions of the row `r` too.
    RowTransform(int n_fft, const Halide::ImageParam &table, const Halide::Var &r, const Points &points);

    // Σ_n points(n)·exp(2πi·nk/(n_fft/2)) for 0 ≤ k ≤ n_fft/2; the last is that of 0 again.
    Complex at(const Halide::Expr &k) const;
    // exp(2πi·k/n_fft) for 0 ≤ k ≤ n_fft/2
    Complex root(const Halide::Expr &k) const;
    // All of it where `consumer` computes row r, `vec` lanes at a time.
    void compute_at(const Halide::Func &consumer, int vec);

private:
    using Point = std::function<Complex(const Halide::Expr &lane, const Halide::Expr &n)>;
    std::vector<Halide::Func> passes(Point in, const std::vector<int> &radices, int offset,
                                     const std::string &name) const;
    Point read(const Halide::Func &f) const;

    FrameShape shape_;
    FrameTables tables_;
    int points_;
    Halide::ImageParam table_;
    Halide::Var r_;
    std::vector<Halide::Func> along_rows_, along_columns_;
    Halide::Func spectrum_{"spectrum"};
    Halide::RDom order_;
};

} // namespace longwave::schedules
