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
    using Root =
        std::function<Complex(const Halide::Expr &index)>; // exp(2πi·index/points), 0 ≤ index < points
    using Sample = std::function<Complex(const Halide::Expr &lane, const Halide::Expr &n)>;

    // No radices: one point. `shared_bytes`: of a workgroup, at most.
    SharedTransform(const std::string &name, std::vector<int> radices, int wide, int threads,
                    int shared_bytes, Root root);

    // Defines `values`(lane, part, point) and schedules its passes over threads (lane, butterfly).
    void define(const Sample &sample);
    Complex bin(const Halide::Expr &lane, const Halide::Expr &k) const;
    // Shared by the workgroup of each `block` of `f`.
    void compute_at(const Halide::Func &f, const Halide::Var &block);

    const int points;
    Halide::Func values;

private:
    void pass(int radix, int blocks, const Sample &sample);
    Halide::Expr place(const Halide::Expr &k) const;

    const std::vector<int> radices_;
    const int wide_, threads_;
    Root root_;
    SharedPlaces places_;
    Halide::Var lane_{"lane"}, part_{"part"}, point_{"point"};
};

} // namespace longwave::schedules
