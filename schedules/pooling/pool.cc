// pool: the largest or the mean value of a window over time and frequency, on a ring of rows.
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/pooling.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Pool {
    const contract::Pool::Arguments<contract::Names> a = contract::names_of<contract::Pool>();
    int channels, in_f, out_f, rows, width;
    Shape shape;
    Var c{"c"}, f{"f"}, r{"r"};
    RDom window;
    Func fold{"fold"}, y{"y"};
    std::optional<RowCount> count;

    // THE ALGORITHM
    Pool(KernelBuilder &k, const contract::Pool &p)
        : channels(p.channels), in_f(p.in_f), out_f(p.out_f), rows(p.rows),
          width(static_cast<int>(pad(extent(channels)))), shape(dense({width, out_f, rows})) {
        const bool largest = p.mode.is<"max">(), all = p.count_outside;
        const int time = p.time, frequency = p.frequency, stride_t = p.stride_t, stride_f = p.stride_f,
                  pad_f = p.pad_f, lag = p.lag, ring = p.ring, back = std::max(0, time + lag - stride_t);
        k.params.require(lag < stride_t, "'lag' must be less than 'stride_t'");
        k.params.require(ring >= int64_t{rows} * stride_t + back,
                         "'ring' must hold the new rows and their history");
        k.params.require((out_f - 1) * stride_f + frequency <= in_f + 2 * pad_f && 2 * pad_f <= frequency,
                         "the windows must lie in the padded frequencies");
        const ImageParam x = k.input(a.x, dense({width, in_f, ring}));
        if (back) count.emplace(k, rows, p.counts, a.count_so_far, a.count);
        const Expr position = k.scalar(a.position, ring - rows * stride_t);

        window = RDom(0, frequency, 0, time, "window");
        const Expr band = f * stride_f - pad_f + window.x, row = (r + 1) * stride_t - lag - time + window.y;
        const bool ends = pad_f > 0;
        Expr inside = ends ? band >= 0 && band < in_f : Expr(cast<bool>(1));
        // Rows before the first: the ring has zeros there, which are not part of the sequence.
        Expr before = 0; // as many rows of x as a window may reach back
        if (back) {
            before = count->before(rows, (back + stride_t - 1) / stride_t) * stride_t;
            inside = inside && before + row >= 0;
        }
        const Expr value = x(c, ends ? clamp(band, 0, in_f - 1) : band, wrapped(position + row, ring));
        const bool everywhere = !ends && !back;
        fold(c, f, r) = largest ? Expr(-3.4e38f) : Expr(0.0f);
        if (largest) fold(c, f, r) = max(fold(c, f, r), everywhere ? value : select(inside, value, -3.4e38f));
        else fold(c, f, r) += everywhere ? value : select(inside, value, 0.0f);
        Expr result = fold(c, f, r);
        if (!largest) {
            Expr bands = frequency, rows_in = cast<float>(time);
            if (!all && ends)
                bands = min(f * stride_f - pad_f + frequency, in_f) - max(f * stride_f - pad_f, 0);
            if (!all && back) rows_in = cast<float>(min(time, before + (r + 1) * stride_t - lag));
            result = result / (cast<float>(bands) * rows_in);
        }
        y(c, f, r) = k.epilogue(result, {c, f, r}, shape, channels);
    }
};

void pool_on_cpu(KernelBuilder &k, const contract::Pool &params) {
    Pool p(k, params);
    const int vec = dividing_vector(p.width, k.target.vector_lanes),
              block = vec * divisor_at_most(p.width / vec, 4);
    Var co("co"), ci("ci");
    p.y.split(p.c, co, ci, block).reorder(ci, co, p.f, p.r).vectorize(ci, vec).unroll(ci);
    p.fold.compute_at(p.y, co).bound_extent(p.c, block).vectorize(p.c, vec).unroll(p.c);
    p.fold.update().reorder(p.c, p.window.x, p.window.y).vectorize(p.c, vec).unroll(p.c);
    k.output(p.y, p.a.y, p.shape);
    if (p.count) p.count->output();
}

void pool_on_gpu(KernelBuilder &k, const contract::Pool &params) {
    Pool p(k, params);
    const Spread loops = spread(p.y, {p.c, p.f, p.r}, {p.width, p.out_f, p.rows});
    p.fold.compute_at(p.y, loops.thread.var).store_in(MemoryType::Register);
    k.output(p.y, p.a.y, p.shape);
}

const Kernel<contract::Pool> pool{pool_on_cpu, pool_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
