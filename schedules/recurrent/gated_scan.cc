// gated_scan: h_t = a_t h_{t−1} + b_t or max(h_{t−1} + a_t, b_t) for each channel, row after row, any number
// of rows a call.
#include "schedules/contract/kernels/recurrent.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Scan {
    const contract::GatedScan::Arguments<contract::Names> names = contract::names_of<contract::GatedScan>();
    const int width, rows;
    Var c{"c"}, r{"r"};
    RDom t{0, rows, "t"};
    Func y{"y"};

    Scan(KernelBuilder &k, const contract::GatedScan &p)
        : width(static_cast<int>(pad(static_cast<uint32_t>(int{p.channels})))), rows(p.rows) {
        k.no_epilogue();
        const Shape shape = dense({width, rows});
        const ImageParam a = k.input(names.a, shape), b = k.input(names.b, shape);
        y(c, r) = Tuple(undef<float>(), undef<float>());
        const Expr h = y(c, t)[1], next = p.maximum ? max(h + a(c, t), b(c, t)) : a(c, t) * h + b(c, t);
        y(c, t) = Tuple(next, next);
    }
    void declare(KernelBuilder &k) {
        k.outputs(y, {k.result(names.y, dense({width, rows})),
                      k.updated(names.h, {{extent(width), 1}, {extent(rows), 0}})});
    }
};

// Blocks of a few vectors, whose h lies in registers for the whole call.
void gated_scan_on_cpu(KernelBuilder &k, const contract::GatedScan &params) {
    Scan s(k, params);
    const int vec = dividing_vector(s.width, k.target.vector_lanes);
    Var co("co"), ci("ci");
    s.y.update()
        .split(s.c, co, ci, vec * divisor_at_most(s.width / vec, 4))
        .reorder(ci, s.t.x, co)
        .vectorize(ci, vec)
        .unroll(ci);
    s.declare(k);
}

// A thread for each channel.
void gated_scan_on_gpu(KernelBuilder &k, const contract::GatedScan &params) {
    Scan s(k, params);
    spread(s.y.update(), {s.c}, {s.width});
    s.declare(k);
}

const Kernel<contract::GatedScan> gated_scan{gated_scan_on_cpu, gated_scan_on_gpu, Fp16::none};

} // namespace

} // namespace longwave::schedules
