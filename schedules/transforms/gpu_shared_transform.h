// Discrete Fourier transforms that a workgroup takes in its shared memory, in place: 8 bytes a
// point.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/transforms/butterfly.h"
#include "schedules/transforms/shared_places.h"

namespace longwave::schedules {

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

} // namespace longwave::schedules
