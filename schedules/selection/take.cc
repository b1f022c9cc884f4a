// take: each lane of a row is a lane of another row, or zero.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Take {
    const contract::Take::Arguments<contract::Names> a = contract::names_of<contract::Take>();
    int row, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};
    Shape shape;

    // THE ALGORITHM
    Take(KernelBuilder &k, const contract::Take &p) : row(p.row), rows(p.rows), shape(dense({row, rows})) {
        const int in_row = p.in_row;
        const ImageParam x = k.input(a.x, dense({in_row, rows})),
                         index = k.weight(a.index, dense({row}), Int(32));
        k.no_epilogue();
        y(i, r) = select(index(i) < 0, 0.0f, x(clamp(index(i), 0, in_row - 1), r));
    }
};

void take_on_cpu(KernelBuilder &k, const contract::Take &params) {
    Take t(k, params);
    t.y.vectorize(t.i, dividing_vector(t.row, k.target.vector_lanes));
    k.output(t.y, t.a.y, t.shape);
}

void take_on_gpu(KernelBuilder &k, const contract::Take &params) {
    Take t(k, params);
    spread(t.y, {t.i, t.r}, {t.row, t.rows});
    k.output(t.y, t.a.y, t.shape);
}

const Kernel<contract::Take> take{take_on_cpu, take_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
