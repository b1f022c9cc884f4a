// repeat: one row as every row of a sequence.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Repeat {
    const contract::Repeat::Arguments<contract::Names> a = contract::names_of<contract::Repeat>();
    int row, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};
    Shape shape;

    // THE ALGORITHM
    Repeat(KernelBuilder &k, const contract::Repeat &p)
        : row(p.row), rows(p.rows), shape(dense({row, rows})) {
        const ImageParam x = k.input(a.x, dense({row}));
        k.no_epilogue();
        y(i, r) = x(i);
    }
};

void repeat_on_cpu(KernelBuilder &k, const contract::Repeat &params) {
    Repeat s(k, params);
    s.y.vectorize(s.i, dividing_vector(s.row, k.target.vector_lanes));
    k.output(s.y, s.a.y, s.shape);
}

void repeat_on_gpu(KernelBuilder &k, const contract::Repeat &params) {
    Repeat s(k, params);
    spread(s.y, {s.i, s.r}, {s.row, s.rows});
    k.output(s.y, s.a.y, s.shape);
}

const Kernel<contract::Repeat> repeat{repeat_on_cpu, repeat_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
