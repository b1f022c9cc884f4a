// shift: rows of a ring, some rows ago.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Shift {
    int row, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};

    // THE ALGORITHM
    explicit Shift(KernelBuilder &k)
        : row(k.params.integer("row", 1, 1 << 24)), rows(k.params.integer("rows", 1, 1 << 24)) {
        const int by = k.params.integer("by", 0, 1 << 20), ring = k.params.integer("ring", 1, 1 << 25);
        k.params.require(ring >= int64_t{rows} + by, "'ring' must hold the new rows and their history");
        const ImageParam x = k.input("x", dense({row, ring}));
        const Expr position = k.scalar("position", ring - rows);
        k.no_epilogue();
        y(i, r) = x(i, wrapped(position + r - by, ring));
    }
};

void shift_on_cpu(KernelBuilder &k) {
    Shift s(k);
    s.y.vectorize(s.i, dividing_vector(s.row, k.target.vector_lanes));
    k.output(s.y, dense({s.row, s.rows}));
}

void shift_on_gpu(KernelBuilder &k) {
    Shift s(k);
    spread(s.y, {s.i, s.r}, {s.row, s.rows});
    k.output(s.y, dense({s.row, s.rows}));
}

const Kernel shift{"shift", shift_on_cpu, shift_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
