// split_rows: each row as several rows of its parts, which lie one after the other in it.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct SplitRows {
    const contract::SplitRows::Arguments<contract::Names> a = contract::names_of<contract::SplitRows>();
    int in_row, row, width, parts, rows;
    ImageParam x;
    Var i{"i"}, t{"t"};
    Func y{"y"};
    Shape shape;

    SplitRows(KernelBuilder &k, const contract::SplitRows &p)
        : in_row(p.in_row), row(p.row), width(p.width), parts(p.parts), rows(p.rows) {
        k.params.require(width <= row, "'width' must not exceed 'row'");
        k.params.require(int64_t{width} * parts <= in_row, "the parts must lie in a row of x");
        k.params.require(int64_t{rows} * parts <= 1 << 24, "there are too many rows");
        x = k.input(a.x, dense({in_row, rows}));
        k.no_epilogue();
        shape = dense({row, rows * parts});
    }
};

// A part is a piece of a row, so it is copied as whole vectors. Parts of one lane lie one after the other on
// both sides.
void split_rows_on_cpu(KernelBuilder &k, const contract::SplitRows &params) {
    SplitRows s(k, params);
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
    k.output(s.y, s.a.y, s.shape);
}

void split_rows_on_gpu(KernelBuilder &k, const contract::SplitRows &params) {
    SplitRows s(k, params);

    // THE ALGORITHM
    s.y(s.i, s.t) =
        select(s.i < s.width, s.x(s.t % s.parts * s.width + min(s.i, s.width - 1), s.t / s.parts), 0.0f);

    // THE SCHEDULE
    spread(s.y, {s.i, s.t}, {s.row, s.rows * s.parts});
    k.output(s.y, s.a.y, s.shape);
}

const Kernel<contract::SplitRows> split_rows{split_rows_on_cpu, split_rows_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
