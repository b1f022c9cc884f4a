// rotary: pairs of features of each head turned by their row's position; the features behind them pass.
#include "schedules/elementary.h"
#include "schedules/phases.h"
#include "schedules/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_rotary(KernelBuilder &k) {
    const int heads = k.params.integer("heads", 1, 1 << 12), pairs = k.params.integer("pairs", 1, 1 << 12),
              width = k.params.integer("width", 1, 1 << 20), rows = k.params.integer("rows", 1, 1 << 20);
    const bool interleaved = k.params.integer("interleaved", 0, 1) == 1;
    k.params.require(2 * heads * pairs <= width, "'width' must hold heads * pairs * 2 features");
    const int padded = static_cast<int>(pad(extent(width)));
    const Shape shape = dense({padded, rows});
    ImageParam x = k.input("x", shape);
    ImageParam high = k.weight("turns_high", dense({pairs}), Int(32)),
               low = k.weight("turns_low", dense({pairs}), Int(32));
    k.no_epilogue();

    // THE ALGORITHM
    Var c("c"), r("r"), p("p"), part("part");
    Func count = row_counter(rows), turns("turns"), y("y");
    const Turn turn = turn_of(phase_of(cast<uint64_t>(row_number(count, r, rows)), high(p), low(p)));
    turns(p, part, r) = select(part == 0, turn.cosine, turn.sine);
    RDom of(0, pairs, 0, heads, "of");
    const Expr first = of.y * 2 * pairs + (interleaved ? 2 * of.x : Expr(of.x)),
               second = first + (interleaved ? 1 : pairs);
    const Expr cosine = turns(of.x, 0, r), sine = turns(of.x, 1, r);
    y(c, r) = x(c, r);
    y(first, r) = x(first, r) * cosine - x(second, r) * sine;
    y(second, r) = x(second, r) * cosine + x(first, r) * sine;

    // THE SCHEDULE
    // Every feature of a pair is written by one pair only, which Halide cannot see.
    const int vec = dividing_vector(pairs, k.target.vector_lanes);
    y.vectorize(c, dividing_vector(padded, k.target.vector_lanes));
    for (int update : {0, 1})
        y.update(update).reorder(of.x, of.y, r).allow_race_conditions().vectorize(of.x, vec);
    turns.compute_at(y, r).bound_extent(p, pairs).bound_extent(part, 2);
    turns.reorder(part, p).unroll(part).vectorize(p, vec);
    store(turns, int64_t{8} * pairs);
    k.output(y, shape);
    k.in_place(count, dense({1}));
}

static const Kernel rotary{"rotary", build_rotary};

} // namespace longwave::schedules
