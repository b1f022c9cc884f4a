// unframe: overlap-add. The pieces of the newest frames of a ring that fall on the same hop, in a sum, the
// newest frame first.
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Unframe {
    int window, hop, rows, ring, later, pieces, in_row, row;
    ImageParam x;
    Expr position;
    Var i{"i"}, r{"r"};
    Func y{"y"};

    explicit Unframe(KernelBuilder &k)
        : window(k.params.integer("window", 1, 1 << 20)), hop(k.params.integer("hop", 1, window)),
          rows(k.params.integer("rows", 1, 1 << 20)), ring(k.params.integer("ring", 1, 1 << 25)),
          later(k.params.integer_or("later", 0, 0, 1 << 16)), pieces((window + hop - 1) / hop),
          in_row(static_cast<int>(pad(extent(window)))), row(static_cast<int>(pad(extent(hop)))) {
        k.params.require(ring >= int64_t{rows} + later + pieces - 1, "'ring' must hold the new rows and their history");
        x = k.input("x", dense({in_row, ring}));
        position = k.scalar("position", ring - rows);
        k.no_epilogue();
    }

    int length(int piece) const { return std::min(hop, window - piece * hop); }
    Expr value(int piece, const Expr &at) const {
        return x(piece * hop + at, wrapped(position + r - later - piece, ring));
    }
};

void unframe_on_cpu(KernelBuilder &k) {
    Unframe u(k);

    // THE ALGORITHM
    u.y(u.i, u.r) = undef<float>();
    std::vector<RDom> parts;
    for (int piece = 0; piece < u.pieces; piece++) {
        const RDom n(0, u.length(piece), "n");
        if (piece == 0) u.y(n, u.r) = u.value(piece, n);
        else u.y(n, u.r) += u.value(piece, n);
        parts.push_back(n);
    }
    if (u.row > u.hop) {
        const RDom padding(u.hop, u.row - u.hop, "padding");
        u.y(padding, u.r) = 0.0f;
    }

    // THE SCHEDULE
    for (int piece = 0; piece < u.pieces; piece++) {
        Stage add = u.y.update(piece);
        if (u.length(piece) < k.target.vector_lanes) add.unscheduled();
        else // each lane once
            add.allow_race_conditions().vectorize(parts[static_cast<size_t>(piece)].x, k.target.vector_lanes, TailStrategy::GuardWithIf);
    }
    if (u.row > u.hop) u.y.update(u.pieces).unscheduled();
    k.output(u.y, dense({u.row, u.rows}));
}

void unframe_on_gpu(KernelBuilder &k) {
    Unframe u(k);

    // THE ALGORITHM
    RDom piece(0, u.pieces, "piece");
    Func sum("sum");
    const Expr at = piece * u.hop + u.i;
    sum(u.i, u.r) = 0.0f;
    sum(u.i, u.r) += select(at < u.window, u.x(min(at, u.window - 1), wrapped(u.position + u.r - u.later - piece, u.ring)), 0.0f);
    u.y(u.i, u.r) = select(u.i < u.hop, sum(u.i, u.r), 0.0f);

    // THE SCHEDULE
    const Spread loops = spread(u.y, {u.i, u.r}, {u.row, u.rows});
    sum.compute_at(u.y, loops.thread.var).store_in(MemoryType::Register);
    k.output(u.y, dense({u.row, u.rows}));
}

const Kernel unframe{"unframe", unframe_on_cpu, unframe_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
