// repeat: one row as every row of a sequence.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Repeat {
    int row, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};
    Shape shape;

    // THE ALGORITHM
    explicit Repeat(KernelBuilder &k)
        : row(k.params.integer("row", 1, 1 << 24)), rows(k.params.integer("rows", 1, 1 << 24)),
          shape(dense({row, rows})) {
        const ImageParam x = k.input("x", dense({row}));
        k.no_epilogue();
        y(i, r) = x(i);
    }
};

void repeat_on_cpu(KernelBuilder &k) {
    Repeat s(k);
    s.y.vectorize(s.i, dividing_vector(s.row, k.target.vector_lanes));
    k.output(s.y, s.shape);
}

void repeat_on_gpu(KernelBuilder &k) {
    Repeat s(k);
    spread(s.y, {s.i, s.r}, {s.row, s.rows});
    k.output(s.y, s.shape);
}

const Kernel repeat{"repeat", repeat_on_cpu, repeat_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
