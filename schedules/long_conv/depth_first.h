// The depth-first form of a convolution of whole sequences: the transform crosses the caches beyond
// the first once each way, not once a level. The sequence is a matrix; its columns' transforms are
// the outer levels of the whole one and its rows' transforms are the others:
//     u -- columns, a few beside each other in a small buffer --> a -- a row in a small buffer, there, times
//     the spectrum, and back --> b -- columns back, a few beside each other in a small buffer --> y
// a and b are one memory: a row of b is written when that of a has been read. Several copies share
// the forward transform. Its result is then kept in a, and b has memory of its own. The spectrum of
// a kernel is the forward transform alone, in float64.
//
// With lanes over phases (polyphase.h) two more levels stand on both sides of the product, group by
// group, and a transform without columns is one row, from u to y; without phases there are columns.
#pragma once
#include "schedules/long_conv/transform.h"
#include "schedules/transforms/polyphase.h"

namespace longwave::schedules {

struct DepthFirst {
    const RightAngle &transform;
    TransformStructure structure;
    int rows = 0;        // of the sequence, at most the length
    Reader input;        // the sequence: real, unless it has all rows
    Reader spectrum;     // of `copy`
    Writer output;       // defines y, once
    Halide::Func y;      // its outermost loop is `lanes`
    Halide::Var lanes;   // goes over the lanes that go through everything together
    Halide::Var copy;    // the next loop, where there are several copies
    bool copies = false; // there are several
    Halide::Type type = Halide::Float(32);
    std::vector<Halide::Var> outside = {}; // loops outside of `lanes`, of phases
    // With lanes over phases the spectrum is read at 64·group + value, and `lanes` goes over
    // channels.
    const Polyphase *phases = nullptr;

    // The levels that are columns; 0: none for this structure and length.
    static int column_levels(const RightAngle &transform, const TransformStructure &structure, int rows,
                             bool phases = false);
    void define(KernelBuilder &k) const;
    // The way there alone: y gets the spectrum of the input, which depends on `copy`.
    void define_spectrum() const;
    // The same for phases: a Func (value, part, g, piece, lanes, copy), group g of a piece of the
    // groups. y is to read it, and has the loops g, piece and copy.
    Halide::Func spectrum_of_phases() const;
};

} // namespace longwave::schedules
