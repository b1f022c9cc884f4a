// scalar_rows: a number of the host in every row of a block.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_scalar_rows(KernelBuilder &k, const contract::ScalarRows &p) {
    const auto a = contract::names_of<contract::ScalarRows>();
    const int row = p.row, rows = p.rows;
    const ImageParam lanes = k.weight(a.lanes, dense({row}));
    k.no_epilogue();

    // THE ALGORITHM The newest row has the new number itself: a sum of steps could miss it.
    enum { ended_with, next, began_with, count };
    Var c("c"), r("r"), i("i");
    Func numbers("numbers"), value("value"), y("y");
    numbers(i) = undef<float>();
    numbers(began_with) = numbers(ended_with);
    numbers(ended_with) = numbers(next);
    const Expr from = numbers(began_with), to = numbers(ended_with);
    const Expr part = cast<float>(r + 1) * (1.0f / static_cast<float>(rows));
    value(r) = p.smoothed ? select(r == rows - 1, to, from + (to - from) * part) : to;
    y(c, r) = lanes(c) * value(r);

    // THE SCHEDULE
    y.vectorize(c, dividing_vector(row, k.target.vector_lanes));
    value.compute_at(y, r);
    k.output(y, a.y, dense({row, rows}));
    k.in_place(numbers, a.numbers, dense({count}));
}

static const Kernel<contract::ScalarRows> scalar_rows{build_scalar_rows};

} // namespace longwave::schedules
