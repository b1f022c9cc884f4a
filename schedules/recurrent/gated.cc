// lstm, gru: one row of a gated recurrence. All gates lie side by side in memory of the call,
// because the product with the state must be complete before the state changes.
#include "schedules/halide/registry.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Gated {
    KernelBuilder &k;
    const int gates, units, width, row, vec, block; // block: lanes whose sums stay in registers
    ImageParam x, w;
    Var i{"i"}, g{"g"};
    RDom gate, sum; // sum: lanes of a block, gates, units, blocks; Halide keeps this order
    Func y{"state"}; // gates, and the states behind them: elements that do not depend on g

    Gated(KernelBuilder &builder, int gates_)
        : k(builder), gates(gates_), units(k.params.integer("units", 1, 1 << 14)),
          width(static_cast<int>(pad(extent(units)))), row(static_cast<int>(pad(extent(gates * units)))),
          vec(dividing_vector(width, k.target.vector_lanes)),
          block(vec * divisor_at_most(width / vec, k.target.vector_registers == 32 ? 4 : 2)), gate(0, gates, "gate"),
          sum(0, block, 0, gates, 0, units, 0, width / block, "sum") {
        k.no_epilogue();
        x = k.input("x", dense({row, 1}));
        w = k.weight("w", dense({width, gates, units}));
    }

    // Gate `of` of x. Lanes behind the last unit read anything.
    Expr part(const Expr &lane, const Expr &of) const {
        const Expr at = of * units + lane;
        return x(units == width ? at : min(at, row - 1), 0);
    }
    Tuple only_gates(const Expr &value) const {
        std::vector<Expr> elements(y.outputs(), undef<float>());
        elements[0] = value;
        return Tuple(elements);
    }
    // gates += w · h
    void multiply(const Func &state) const {
        Func f = state;
        const Expr lane = sum.w * block + sum.x;
        f(lane, sum.y) = only_gates(f(lane, sum.y)[0] + w(lane, sum.y, sum.z) * f(sum.z, 0)[1]);
    }
    Expr kept(const Expr &value) const { return units == width ? value : select(i < units, value, 0.0f); }

    // The second update multiplies, all others go along the lanes.
    void schedule(int updates) {
        RVar vectors("vectors"), lane("lane");
        for (int n = 0; n < updates; n++)
            if (n != 1) y.update(n).vectorize(i, vec);
        y.update(1)
            .allow_race_conditions() // the states that are read are not those that are written
            .split(sum.x, vectors, lane, vec)
            .vectorize(lane)
            .unroll(vectors)
            .unroll(sum.y);
    }
    void outputs(const std::vector<std::string> &states) {
        const Shape row_of = dense({width, 1});
        Var r("r");
        Func h("y");
        h(i, r) = y(i, 0)[1];
        h.vectorize(i, vec);
        k.output(h, row_of);
        // In-out, because the rows of a call run in turn on the same memory.
        std::vector<KernelBuilder::Output> list{{"gates", dense({width, gates}), ArgKind::inout}};
        for (const std::string &name : states)
            list.push_back({name, {{extent(width), 1}, {extent(gates), 0}}, ArgKind::inout, dense({width})});
        k.outputs(y, list);
    }
};

void lstm_on_cpu(KernelBuilder &k) {
    Gated p(k, 4);
    const Var i = p.i, g = p.g;
    Func &y = p.y;
    const Expr nothing = undef<float>();

    // THE ALGORITHM
    y(i, g) = Tuple(nothing, nothing, nothing);
    y(i, p.gate) = Tuple(p.part(i, p.gate), nothing, nothing);
    p.multiply(y);
    const Expr c = sigmoid(y(i, 1)[0]) * y(i, 0)[2] + sigmoid(y(i, 0)[0]) * hyperbolic_tangent(y(i, 2)[0]);
    y(i, 0) = Tuple(nothing, nothing, p.kept(c));
    y(i, 0) = Tuple(nothing, sigmoid(y(i, 3)[0]) * hyperbolic_tangent(y(i, 0)[2]), nothing);

    // THE SCHEDULE
    p.schedule(4);
    p.outputs({"h", "c"});
}

void gru_on_cpu(KernelBuilder &k) {
    Gated p(k, 3);
    const ImageParam bias = k.weight("bias", dense({p.width}));
    const Var i = p.i, g = p.g;
    Func &y = p.y;
    const Expr nothing = undef<float>();

    // THE ALGORITHM
    y(i, g) = Tuple(nothing, nothing);
    y(i, p.gate) = Tuple(select(p.gate < 2, p.part(i, min(p.gate, 1)), bias(i)), nothing);
    p.multiply(y);
    const Expr r = sigmoid(y(i, 0)[0]), z = sigmoid(y(i, 1)[0]),
               n = hyperbolic_tangent(p.part(i, 2) + r * y(i, 2)[0]), h = y(i, 0)[1];
    y(i, 0) = Tuple(nothing, p.kept(n + z * (h - n)));

    // THE SCHEDULE
    p.schedule(3);
    p.outputs({"h"});
}

const Kernel lstm{"lstm", lstm_on_cpu}, gru{"gru", gru_on_cpu};

} // namespace

} // namespace longwave::schedules
