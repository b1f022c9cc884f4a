// split_rows: each row as several rows of its parts, which lie one after the other in it.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct SplitRows {
    int in_row, row, width, parts, rows;
    ImageParam x;
    Var i{"i"}, t{"t"};
    Func y{"y"};
    Shape shape;

    explicit SplitRows(KernelBuilder &k)
        : in_row(k.params.integer("in_row", 1, 1 << 24)), row(k.params.integer("row", 1, 1 << 24)),
          width(k.params.integer("width", 1, row)), parts(k.params.integer("parts", 1, 1 << 16)),
          rows(k.params.integer("rows", 1, 1 << 24)) {
        k.params.require(int64_t{width} * parts <= in_row, "the parts must lie in a row of x");
        k.params.require(int64_t{rows} * parts <= 1 << 24, "there are too many rows");
        x = k.input("x", dense({in_row, rows}));
        k.no_epilogue();
        shape = dense({row, rows * parts});
    }
};

// A part is a piece of a row, so it is copied as whole vectors. Parts of one lane lie one after the other on
// both sides.
void split_rows_on_cpu(KernelBuilder &k) {
    SplitRows s(k);
    const int piece = s.row == 1 ? s.parts : s.width;

    // THE ALGORITHM
    s.y(s.i, s.t) = undef<float>();
    RDom copied(0, piece, 0, s.row == 1 ? 1 : s.parts, 0, s.rows, "copied");
    if (s.row == 1) s.y(0, copied.z * s.parts + copied.x) = s.x(copied.x, copied.z);
    else s.y(copied.x, copied.z * s.parts + copied.y) = s.x(copied.y * s.width + copied.x, copied.z);
    RDom padding(s.width, s.row - s.width, 0, s.rows * s.parts, "padding");
    if (s.row > s.width) s.y(padding.x, padding.y) = 0.0f;

    // THE SCHEDULE
    Stage copy = s.y.update(0);
    if (piece < k.target.vector_lanes) copy.unscheduled();
    else // each lane is written once
        copy.allow_race_conditions().vectorize(copied.x, k.target.vector_lanes, TailStrategy::GuardWithIf);
    if (s.row > s.width) s.y.update(1).unscheduled();
    k.output(s.y, s.shape);
}

void split_rows_on_gpu(KernelBuilder &k) {
    SplitRows s(k);

    // THE ALGORITHM
    s.y(s.i, s.t) =
        select(s.i < s.width, s.x(s.t % s.parts * s.width + min(s.i, s.width - 1), s.t / s.parts), 0.0f);

    // THE SCHEDULE
    spread(s.y, {s.i, s.t}, {s.row, s.rows * s.parts});
    k.output(s.y, s.shape);
}

const Kernel split_rows{"split_rows", split_rows_on_cpu, split_rows_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
