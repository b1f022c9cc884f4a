// take: each lane of a row is a lane of another row, or zero.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Take {
    int row, rows;
    Var i{"i"}, r{"r"};
    Func y{"y"};
    Shape shape;

    // THE ALGORITHM
    explicit Take(KernelBuilder &k)
        : row(k.params.integer("row", 1, 1 << 24)), rows(k.params.integer("rows", 1, 1 << 24)),
          shape(dense({row, rows})) {
        const int in_row = k.params.integer("in_row", 1, 1 << 24);
        const ImageParam x = k.input("x", dense({in_row, rows})),
                         index = k.weight("index", dense({row}), Int(32));
        k.no_epilogue();
        y(i, r) = select(index(i) < 0, 0.0f, x(clamp(index(i), 0, in_row - 1), r));
    }
};

void take_on_cpu(KernelBuilder &k) {
    Take t(k);
    t.y.vectorize(t.i, dividing_vector(t.row, k.target.vector_lanes));
    k.output(t.y, t.shape);
}

void take_on_gpu(KernelBuilder &k) {
    Take t(k);
    spread(t.y, {t.i, t.r}, {t.row, t.rows});
    k.output(t.y, t.shape);
}

const Kernel take{"take", take_on_cpu, take_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
