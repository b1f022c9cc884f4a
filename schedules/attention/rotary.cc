// rotary: pairs of features of each head rotated by their row's position; the features behind them
// pass.
#include "schedules/attention/gpu_positions.h"
#include "schedules/attention/phases.h"
#include "schedules/attention/row_count.h"
#include "schedules/contract/kernels/positions.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Rotary {
    const contract::Rotary::Arguments<contract::Names> a = contract::names_of<contract::Rotary>();
    int heads, pairs, width, rows, padded;
    bool interleaved;
    Shape shape;
    ImageParam x, high, low;
    RowCount count;

    Rotary(KernelBuilder &k, const contract::Rotary &p)
        : heads(p.heads), pairs(p.pairs), width(p.width), rows(p.rows),
          padded(static_cast<int>(pad(extent(width)))), interleaved(p.interleaved == 1),
          shape(dense({padded, rows})), x(k.input(a.x, shape)),
          count(k, rows, p.counts, a.count_so_far, a.count) {
        k.params.require(2 * heads * pairs <= width, "'width' must hold heads * pairs * 2 features");
        high = k.weight(a.theta_high, dense({pairs}), Int(32));
        low = k.weight(a.theta_low, dense({pairs}), Int(32));
        k.no_epilogue();
    }
};

void rotary_on_cpu(KernelBuilder &k, const contract::Rotary &params) {
    Rotary p(k, params);

    // THE ALGORITHM
    const int pairs = p.pairs;
    const bool interleaved = p.interleaved;
    const ImageParam &x = p.x;
    Var c("c"), r("r"), n("n"), part("part");
    Func roots("roots"), y("y");
    const Expr position = cast<uint64_t>(row_number(p.count.now(), r, p.rows));
    const Rotation rotation = rotation_of(phase_of(position, p.high(n), p.low(n)));
    roots(n, part, r) = select(part == 0, rotation.cosine, rotation.sine);
    RDom of(0, pairs, 0, p.heads, "of");
    const Expr first = of.y * 2 * pairs + (interleaved ? 2 * of.x : Expr(of.x)),
               second = first + (interleaved ? 1 : pairs);
    const Expr cosine = roots(of.x, 0, r), sine = roots(of.x, 1, r);
    y(c, r) = x(c, r);
    y(first, r) = x(first, r) * cosine - x(second, r) * sine;
    y(second, r) = x(second, r) * cosine + x(first, r) * sine;

    // THE SCHEDULE
    // Every feature of a pair is written by one pair only, which Halide cannot see.
    const int vec = dividing_vector(pairs, k.target.vector_lanes);
    y.vectorize(c, dividing_vector(p.padded, k.target.vector_lanes));
    for (int update : {0, 1})
        y.update(update).reorder(of.x, of.y, r).allow_race_conditions().vectorize(of.x, vec);
    roots.compute_at(y, r).bound_extent(n, pairs).bound_extent(part, 2);
    roots.reorder(part, n).unroll(part).vectorize(n, vec);
    store(roots, int64_t{8} * pairs);
    k.output(y, p.a.y, p.shape);
    p.count.output();
}

// A thread for each feature, which takes what it needs of the other of its pair.
void rotary_on_gpu(KernelBuilder &k, const contract::Rotary &params) {
    const Rotary p(k, params);

    // THE ALGORITHM
    Var c("c"), r("r");
    Func y("y");
    const int of_head = 2 * p.pairs, rotated = p.heads * of_head;
    const Expr feature = c % of_head, pair = p.interleaved ? feature / 2 : feature % p.pairs,
               second = p.interleaved ? feature % 2 == 1 : feature >= p.pairs;
    const int apart = p.interleaved ? 1 : p.pairs;
    const Expr other = clamp(select(second, c - apart, c + apart), 0, p.padded - 1);
    const WordPair position = moved_on(moved_back(p.count.words(), p.rows), r);
    const Rotation rotation = rotation_of(phase_of(position, p.high(pair), p.low(pair)));
    const Expr across = rotation.sine * p.x(other, r);
    y(c, r) = select(c < rotated, p.x(c, r) * rotation.cosine + select(second, across, -across), p.x(c, r));

    // THE SCHEDULE
    spread(y, {c, r}, {p.padded, p.rows});
    k.output(y, p.a.y, p.shape);
}

const Kernel<contract::Rotary> rotary{rotary_on_cpu, rotary_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
