// frame: overlapping windows of the samples in a ring, times the window. A window of ones is left out.
#include "schedules/contract/kernels/audio.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Frame {
    const contract::Frame::Arguments<contract::Names> a = contract::names_of<contract::Frame>();
    int window, hop, rows, ring, chunk, width;
    bool weighted;
    ImageParam samples, weights;
    Expr position;
    Var i{"i"}, r{"r"};
    Func y{"y"};
    Shape shape;

    Frame(KernelBuilder &k, const contract::Frame &p)
        : window(p.window), hop(p.hop), rows(p.rows), ring(p.ring), chunk(p.chunk),
          width(static_cast<int>(pad(extent(window)))), weighted(p.weighted), shape(dense({width, rows})) {
        k.params.require(ring >= int64_t{rows} * hop + std::max(0, window - hop),
                         "'ring' must hold rows*hop samples and the window before them");
        k.params.require(window % chunk == 0, "'chunk' must divide 'window'");
        samples = k.input(a.samples, dense({ring}));
        if (weighted) weights = k.weight(a.window, dense({window}));
        position = k.scalar(a.position, ring - rows * hop);
        k.no_epilogue();
    }

    // Sample `of` of the chunk that begins with sample `from` of the frame.
    Expr sample(const Expr &from, const Expr &of) const {
        const Expr first = clamp(wrapped(position + (r + 1) * hop - window + from, ring), 0, ring - chunk);
        const Expr value = samples(first + of);
        return weighted ? value * weights(from + of) : value;
    }
};

// Chunks lie in one piece, so vectors are loaded whole.
void frame_on_cpu(KernelBuilder &k, const contract::Frame &params) {
    Frame f(k, params);

    // THE ALGORITHM
    RDom of(0, f.chunk, 0, f.window / f.chunk, "of");
    f.y(f.i, f.r) = undef<float>();
    f.y(of.y * f.chunk + of.x, f.r) = f.sample(of.y * f.chunk, of.x);
    RDom padding(f.window, f.width - f.window, "padding");
    if (f.width > f.window) f.y(padding, f.r) = 0.0f;

    // THE SCHEDULE
    Stage copy = f.y.update(0);
    copy.allow_race_conditions().reorder(of.x, of.y, f.r); // each lane is written once
    if (f.chunk >= k.target.vector_lanes)
        copy.vectorize(of.x, k.target.vector_lanes, TailStrategy::GuardWithIf);
    if (f.width > f.window) f.y.update(1).unscheduled();
    k.output(f.y, f.a.y, f.shape);
}

void frame_on_gpu(KernelBuilder &k, const contract::Frame &params) {
    Frame f(k, params);
    const Expr lane = min(f.i, f.window - 1);
    f.y(f.i, f.r) = select(f.i < f.window, f.sample(lane / f.chunk * f.chunk, lane % f.chunk), 0.0f);
    spread(f.y, {f.i, f.r}, {f.width, f.rows});
    k.output(f.y, f.a.y, f.shape);
}

const Kernel<contract::Frame> frame{frame_on_cpu, frame_on_gpu, Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
