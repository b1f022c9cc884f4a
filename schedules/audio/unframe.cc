// unframe: overlap-add. The pieces of the newest frames of a ring that fall on the same hop, in a sum, the
// oldest frame first, as overlap_add adds them in a stream.
#include "schedules/contract/kernels/audio.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Unframe {
    const contract::Unframe::Arguments<contract::Names> a = contract::names_of<contract::Unframe>();
    int window, hop, rows, ring, later, pieces, in_row, row;
    ImageParam x;
    Expr position;
    Var i{"i"}, r{"r"};
    Func y{"y"};

    Unframe(KernelBuilder &k, const contract::Unframe &p)
        : window(p.window), hop(p.hop), rows(p.rows), ring(p.ring), later(p.later),
          pieces((window + hop - 1) / hop), in_row(static_cast<int>(pad(extent(window)))),
          row(static_cast<int>(pad(extent(hop)))) {
        k.params.require(hop <= window, "'hop' must not exceed 'window'");
        k.params.require(ring >= int64_t{rows} + later + pieces - 1,
                         "'ring' must hold the new rows and their history");
        x = k.input(a.x, dense({in_row, ring}));
        position = k.scalar(a.position, ring - rows);
        k.no_epilogue();
    }

    Expr value(const Expr &piece, const Expr &at) const {
        return x(piece * hop + at, wrapped(position + r - later - piece, ring));
    }
};

void unframe_on_cpu(KernelBuilder &k, const contract::Unframe &params) {
    Unframe u(k, params);

    // THE ALGORITHM
    const int whole = u.window / u.hop,
              rest = u.window % u.hop; // pieces of a whole hop, and values of the last
    u.y(u.i, u.r) = 0.0f;
    const RDom last(0, std::max(rest, 1), "last");
    if (rest) u.y(last, u.r) += u.value(Expr(whole), last);
    const RDom n(0, u.hop, 0, whole, "n");
    u.y(n.x, u.r) += u.value(whole - 1 - n.y, n.x);

    // THE SCHEDULE
    const int vec = k.target.vector_lanes;
    u.y.vectorize(u.i, dividing_vector(u.row, vec));
    const auto each_lane_once = [&](Stage add, const RVar &lane, int lanes) {
        if (lanes >= vec) add.allow_race_conditions().vectorize(lane, vec, TailStrategy::GuardWithIf);
    };
    if (rest) each_lane_once(u.y.update(0), last.x, rest);
    Stage pieces = u.y.update(rest ? 1 : 0);
    pieces.reorder(n.x, n.y, u.r);
    each_lane_once(pieces, n.x, u.hop);
    k.output(u.y, u.a.y, dense({u.row, u.rows}));
}

void unframe_on_gpu(KernelBuilder &k, const contract::Unframe &params) {
    Unframe u(k, params);

    // THE ALGORITHM
    RDom newer(0, u.pieces, "newer");
    const Expr piece = u.pieces - 1 - newer;
    Func sum("sum");
    const Expr at = piece * u.hop + u.i;
    sum(u.i, u.r) = 0.0f;
    sum(u.i, u.r) += select(
        at < u.window, u.x(min(at, u.window - 1), wrapped(u.position + u.r - u.later - piece, u.ring)), 0.0f);
    u.y(u.i, u.r) = select(u.i < u.hop, sum(u.i, u.r), 0.0f);

    // THE SCHEDULE
    const Spread loops = spread(u.y, {u.i, u.r}, {u.row, u.rows});
    sum.compute_at(u.y, loops.thread.var).store_in(MemoryType::Register);
    k.output(u.y, u.a.y, dense({u.row, u.rows}));
}

const Kernel<contract::Unframe> unframe{unframe_on_cpu, unframe_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
