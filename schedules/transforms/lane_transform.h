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
    const LaneLevel &level(int number) const { return levels_[static_cast<size_t>(number)]; }

    // f(position, rest…) = (real, imaginary part) behind that level; loops outside of it run over
    // `rest`.
    Halide::Func forward(const std::string &name, const Read &in, int level,
                         const std::vector<Halide::Var> &rest) const;
    // Undoes it, but for the factor 1/R.
    Halide::Func inverse(const std::string &name, const Read &in, int level,
                         const std::vector<Halide::Var> &rest) const;

    // The value that input m of a butterfly reads.
    using ReadInput = std::function<Complex(const Halide::Expr &butterfly, int m)>;
    // `count` butterflies of a level, from the one on with which all memory begins (is_lane_slice).
    Halide::Func forward_slice(const std::string &name, const ReadInput &in, int level, int count) const;
    // The same back: f(butterfly, m).
    Halide::Func inverse_slice(const std::string &name, const Read &in, int level, int count) const;

private:
    struct Butterfly { // over all of a level or a slice, vector by vector
        Halide::RDom loop;
        Halide::Expr first, lane; // butterfly c = first + lane, first a multiple of the vector
        int vec, count;
    };
    Butterfly butterfly(int count, const std::string &name) const;
    Halide::Func forward(const std::string &name, const ReadInput &in, int level, int count,
                         const std::vector<Halide::Var> &rest) const;
    // The results of a butterfly on the way back.
    std::vector<Complex> back(const Read &in, int level, const Butterfly &b) const;
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

// Bins of spectra that lie side by side (kernels/long_conv_lanes.h).
constexpr int lane_group = lanes;

// Sums over partitions q = 0 … partitions − 1 of x·k, with lanes over bins: z(bin, rest…) = (real,
// imaginary part). Lane l of group g is bin 16·g + l.
struct LaneProduct {
    using Read =
        std::function<Complex(const Halide::Expr &l, const Halide::Expr &g, const Halide::Expr &partition)>;
    Read x, k;
    int bins = 0, partitions = 0;
    std::function<Complex(const Halide::Expr &l, const Halide::Expr &g)> first; // a term more, if it is set

    Halide::Func define(const std::string &name, int vector_lanes,
                        const std::vector<Halide::Var> &rest) const;
    // And of the next blocks, as far as their spectra are there: the sums over q ≥ b of x(q − b)·k(q) for
    // b = 0 … blocks − 1, as 2·blocks elements. What the blocks need together is read once.
    Halide::Func define_ahead(const std::string &name, int vector_lanes, int blocks) const;
};

} // namespace longwave::schedules
