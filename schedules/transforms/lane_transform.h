// The right-angle transform (twiddles.h) of few channels: lanes over positions. Blocks lie
// innermost, position n of block q at n·blocks + q. So every level has the same geometry: butterfly
// c reads c, c + N/R, c + 2·N/R, … and writes R·c, R·c + 1, …, whose vectors are interleaved in
// registers; back the same way. In front are the samples in their order, behind is the spectrum in
// block order, the order of the form that has lanes over channels.
#pragma once
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {

class LaneTransform {
public:
    // The value at a position.
    using Read = std::function<Complex(const Halide::Expr &position)>;

    // `table` reads value i of lane_twiddles(length).
    LaneTransform(int length, int vector_lanes, std::function<Halide::Expr(const Halide::Expr &)> table);

    int levels() const { return static_cast<int>(levels_.size()); }

    // f(position, rest…) = (real, imaginary part) behind that level; loops outside of it run over
    // `rest`.
    Halide::Func forward(const std::string &name, const Read &in, int level,
                         const std::vector<Halide::Var> &rest) const;
    // Undoes it, but for the factor 1/R.
    Halide::Func inverse(const std::string &name, const Read &in, int level,
                         const std::vector<Halide::Var> &rest) const;

private:
    struct Butterfly { // over all of a level, vector by vector
        Halide::RDom loop;
        Halide::Expr first, lane; // butterfly c = first + lane, first a multiple of the vector
        int vec;
    };
    Butterfly butterfly(int level, const std::string &name) const;
    Complex twiddle(int level, const Butterfly &b, int power) const;
    Halide::Func define(const std::string &name, const Butterfly &b, const std::vector<Halide::Expr> &at,
                        const std::vector<Complex> &x, const std::vector<Halide::Var> &rest) const;

    int length_, vector_lanes_;
    std::vector<LaneLevel> levels_;
    std::function<Halide::Expr(const Halide::Expr &)> table_;
};

// Reads a Func of pairs.
LaneTransform::Read read_pairs(Halide::Func f, const std::vector<Halide::Expr> &rest);

// One more definition of `f`, at positions first … first + count − 1 of that dimension: in vectors, and
// the rest one by one. Whatever `value` reads is not computed inside of its loop.
void define_positions(Halide::Func f, int first, int count, int vector_lanes,
                      const std::function<std::vector<Halide::Expr>(const Halide::Expr &at)> &value,
                      size_t dimension = 0);

// Sums over partitions q = 0 … partitions − 1 of x(e, q)·k(e, q), for each of `bins` bins e, with
// lanes over bins: f(e, rest…) = (real, imaginary part). `first` is the sum's first term when it is
// none of these.
struct LaneProduct {
    using Read = std::function<Complex(const Halide::Expr &bin, const Halide::Expr &partition)>;
    Read x, k;
    int bins = 0, partitions = 0;
    std::function<Complex(const Halide::Expr &bin)> first;

    Halide::Func define(const std::string &name, int vector_lanes,
                        const std::vector<Halide::Var> &rest) const;
};

} // namespace longwave::schedules
