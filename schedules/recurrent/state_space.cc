// state_space: y[c,h,t] = Re Σ_n c[c,h,n] s_n[t] + D[c,h] x[t] with s_n[t] = λ_n s_n[t−1] + x[t],
// complex and one for each channel h. The state lies in memory as float32 or float64. Products are
// float64: λ to 24 bits would shift the phase of a pole that remembers thousands of rows, and a sum
// of two float32 products may not keep its order.
#include "schedules/contract/kernels/recurrent.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct StateSpace {
    const contract::StateSpace::Arguments<contract::Names> a = contract::names_of<contract::StateSpace>();
    int copies, poles, rows, width;
    bool two; // parts of x
    Type state;
    ImageParam x, imaginary, pole_re, pole_im, c_re, c_im, d;

    StateSpace(KernelBuilder &k, const contract::StateSpace &params)
        : copies(params.copies), poles(params.poles), rows(params.rows),
          width(static_cast<int>(pad(extent(params.channels)))), two(params.complex),
          state(params.state == 64 ? Float(64) : Float(32)) {
        x = k.input(a.x, dense({width, rows}));
        if (two) imaginary = k.input(a.x_imaginary, dense({width, rows}));
        pole_re = k.weight(a.pole_real, dense({width, poles}), Float(64));
        pole_im = k.weight(a.pole_imaginary, dense({width, poles}), Float(64));
        c_re = k.weight(a.c_real, dense({width, poles, copies}));
        c_im = k.weight(a.c_imaginary, dense({width, poles, copies}));
        d = k.weight(a.D, dense({width, copies}));
        k.no_epilogue();
    }
    // On all loops: the sum does not depend on the pole, the state not on copy and row.
    void outputs(KernelBuilder &k, const Func &y) const {
        const Shape on_y = {{extent(width), 1},
                            {extent(copies), width},
                            {extent(poles), 0},
                            {extent(rows), width * copies}},
                    on_state = {{extent(width), 1},
                                {extent(copies), 0},
                                {extent(poles), width},
                                {extent(rows), 0}},
                    state_shape = dense({width, poles});
        k.outputs(y,
                  {k.result(a.y, on_y, dense({width, copies, rows})),
                   k.updated(a.real, on_state, state_shape), k.updated(a.imaginary, on_state, state_shape)});
    }
};

// The sum and the state are elements of one Func, whose loops go over copies, poles and rows
// together. The first copy moves the state on, the others read it.
struct Step {
    Tuple next;
    Step(const StateSpace &p, const Func &y, const Var &c, const Expr &copy, const Expr &pole,
         const Expr &row, const Expr &so_far)
        : next(std::vector<Expr>(3)) {
        const auto wide = [](const Expr &value) { return cast<double>(value); };
        const Expr re = wide(y(c, copy, pole, row)[1]), im = wide(y(c, copy, pole, row)[2]),
                   a = p.pole_re(c, pole), b = p.pole_im(c, pole);
        const Expr moved_re = a * re - b * im + wide(p.x(c, row));
        Expr moved_im = a * im + b * re;
        if (p.two) moved_im += wide(p.imaginary(c, row));
        const bool several = p.copies > 1;
        const Expr now_re = cast(p.state, several ? select(copy == 0, moved_re, re) : moved_re),
                   now_im = cast(p.state, several ? select(copy == 0, moved_im, im) : moved_im);
        next = Tuple(so_far + p.c_re(c, pole, copy) * cast<float>(now_re) -
                         p.c_im(c, pole, copy) * cast<float>(now_im),
                     now_re, now_im);
    }
};

void state_space_on_cpu(KernelBuilder &k, const contract::StateSpace &params) {
    const StateSpace p(k, params);

    // THE ALGORITHM
    Var c("c"), q("q"), n("n"), r("r"), co("co"), ci("ci");
    Func y("y");
    RDom t(0, p.copies, 0, p.poles, 0, p.rows, "t"), first(0, p.rows, "first");
    const Expr nothing = undef(p.state);
    y(c, q, n, r) = Tuple(undef<float>(), nothing, nothing);
    y(c, q, 0, first) = Tuple(p.d(c, q) * p.x(c, first), nothing, nothing);
    const Expr so_far = y(c, t.x, t.y, t.z)[0];
    y(c, t.x, t.y, t.z) = Step(p, y, c, t.x, t.y, t.z, so_far).next;

    // THE SCHEDULE
    const int vec = dividing_vector(p.width, k.target.vector_lanes);
    y.update(0).vectorize(c, vec);
    y.update(1).split(c, co, ci, vec).reorder(ci, t.x, t.y, t.z, co).vectorize(ci);
    if (p.copies <= 4) y.update(1).unroll(t.x);
    p.outputs(k, y);
}

// A thread for each channel, which goes through copies, poles and rows.
void state_space_on_gpu(KernelBuilder &k, const contract::StateSpace &params) {
    const StateSpace p(k, params);

    // THE ALGORITHM
    Var c("c"), q("q"), n("n"), r("r"), block("block"), lane("lane");
    Func y("y");
    RDom t(0, p.copies, 0, p.poles, 0, p.rows, "t");
    y(c, q, n, r) = Tuple(undef<float>(), undef(p.state), undef(p.state));
    const Expr so_far = select(t.y == 0, p.d(c, t.x) * p.x(c, t.z), y(c, t.x, t.y, t.z)[0]);
    y(c, t.x, t.y, t.z) = Step(p, y, c, t.x, t.y, t.z, so_far).next;

    // THE SCHEDULE
    y.update().allow_race_conditions().split(c, block, lane, std::min(p.width, 64),
                                             TailStrategy::GuardWithIf);
    y.update().reorder(t.x, t.y, t.z, lane, block).gpu_blocks(block).gpu_threads(lane);
    p.outputs(k, y);
}

const Kernel<contract::StateSpace> state_space{state_space_on_cpu, state_space_on_gpu,
                                               Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
