// row_product: in each row, products of matrices that both come from the input. A result is
// x[batch, left, :] · y[batch, :, column].
#include "schedules/contract/kernels/linear.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct RowProduct {
    const contract::RowProduct::Arguments<contract::Names> a = contract::names_of<contract::RowProduct>();
    int batches, left, inner, columns, rows, made, width;
    ImageParam x, y;
    Shape shape;
    Var i{"i"}, r{"r"};
    Func z{"z"};

    RowProduct(KernelBuilder &k, const contract::RowProduct &p)
        : batches(p.batches), left(p.left), inner(p.inner), columns(p.columns), rows(p.rows) {
        const auto numbers = [&](int64_t height, int64_t across) {
            const int64_t all = batches * height * across; // below 2^60
            k.params.require(all <= 1 << 24, "'batches', 'left', 'inner' and 'columns' make too large rows");
            return static_cast<int>(all);
        };
        const auto row = [&](int of) { return dense({static_cast<int>(pad(extent(of))), rows}); };
        x = k.input(a.x, row(numbers(left, inner)));
        y = k.input(a.y, row(numbers(inner, columns)));
        made = numbers(left, columns);
        shape = row(made), width = static_cast<int>(shape[0].extent);
        k.no_epilogue();
    }

    Expr product(const Expr &batch, const Expr &of_left, const Expr &of_inner, const Expr &column) const {
        return x((batch * left + of_left) * inner + of_inner, r) *
               y((batch * inner + of_inner) * columns + column, r);
    }
};

// Sums lie in the result itself. Vectors go along the columns, or along the sum where these are few.
void row_product_on_cpu(KernelBuilder &k, const contract::RowProduct &params) {
    RowProduct p(k, params);

    // THE ALGORITHM
    RDom d(0, p.columns, 0, p.inner, 0, p.left, 0, p.batches, "d");
    p.z(p.i, p.r) = 0.0f;
    p.z((d.w * p.left + d.z) * p.columns + d.x, p.r) += p.product(d.w, d.z, d.y, d.x);

    // THE SCHEDULE
    const int vec = k.target.vector_lanes;
    p.z.vectorize(p.i, dividing_vector(p.width, vec));
    Stage sum = p.z.update();
    if (p.columns >= std::min(vec, 4)) {
        sum.allow_race_conditions().reorder(d.x, d.y, d.z, d.w, p.r); // each lane has sums of its own
        sum.vectorize(d.x, vec, TailStrategy::GuardWithIf);
    } else {
        sum.reorder(d.y, d.x, d.z, d.w, p.r);
        const int lanes = dividing_vector(p.inner, vec);
        if (lanes > 1) sum.atomic().vectorize(d.y, lanes);
    }
    k.output(p.z, p.a.z, p.shape);
}

// A thread for each result.
void row_product_on_gpu(KernelBuilder &k, const contract::RowProduct &params) {
    RowProduct p(k, params);
    RDom d(0, p.inner, "d");
    Func sum("sum");
    const Expr of = min(p.i, p.made - 1), row = of / p.columns;
    sum(p.i, p.r) = 0.0f;
    sum(p.i, p.r) += p.product(row / p.left, row % p.left, d, of % p.columns);
    p.z(p.i, p.r) = select(p.i < p.made, sum(p.i, p.r), 0.0f);
    const Spread loops = spread(p.z, {p.i, p.r}, {p.width, p.rows});
    sum.compute_at(p.z, loops.thread.var).store_in(MemoryType::Register);
    k.output(p.z, p.a.z, p.shape);
}

const Kernel<contract::RowProduct> row_product{row_product_on_cpu, row_product_on_gpu,
                                               Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
