// lstm, gru: one row of a gated recurrence. All gates lie side by side in memory of the call,
// because the product with the state must be complete before the state changes. Where r multiplies
// the state in front of its matrix, the product of n follows those of the other gates. Of several
// streams, and of several bands that share the weights, the row of each. With `restart` the rows are the
// bands of a sequence, which begins anew after so many.
#include "schedules/contract/kernels/recurrent.h"
#include "schedules/halide/registry.h"
#include "schedules/pointwise/elementary.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// K: contract::Lstm or contract::Gru.
template <class K> struct Gated {
    using Arguments = typename K::template Arguments<contract::Names>;
    KernelBuilder &k;
    const Arguments a = contract::names_of<K>();
    const int gates, units, streams, bands, restart, width, row, panel, vec;
    const int sequences;       // side by side: the bands of all streams
    const int together, block; // sequences and lanes whose sums stay in registers
    ImageParam x, w;
    Var i{"i"}, g{"g"}, s{"s"};
    RDom gate;
    std::vector<std::pair<int, RDom>> products; // numbers of updates, and their sums
    Expr place;                                 // of the call, if the state restarts
    Func y{"state"}; // gates, and the states behind them: elements that do not depend on g

    Gated(KernelBuilder &builder, const K &p, int gates_)
        : k(builder), gates(gates_), units(p.units), streams(p.streams), bands(p.bands), restart(p.restart),
          width(static_cast<int>(pad(extent(units)))), row(static_cast<int>(pad(extent(gates * units)))),
          panel(std::min(width, static_cast<int>(lanes))), vec(dividing_vector(width, k.target.vector_lanes)),
          sequences(streams * bands),
          together(divisor_at_most(sequences, (k.target.vector_registers == 32 ? 16 : 8) / gates)),
          block(vec * divisor_at_most(width / vec, together > 1                      ? 1
                                                   : k.target.vector_registers == 32 ? 4
                                                                                     : 2)),
          gate(0, gates, "gate") {
        k.no_epilogue();
        k.params.require(restart == 0 || sequences == 1, "'restart' is for one sequence");
        x = k.input(a.x, dense({row, sequences}));
        // All weights of a panel lie together, so that they stay in the first cache for every iteration of
        // streams.
        w = k.weight(a.w, dense({panel, gates, units, width / panel}));
        if (restart) place = k.scalar(a.place, (1 << 24) - 1);
    }

    // Gate `of` of x. Lanes behind the last unit read anything.
    Expr part(const Expr &of) const {
        const Expr at = of * units + i;
        return x(units == width ? at : min(at, row - 1), s);
    }
    Tuple only_gates(const Expr &value) const {
        std::vector<Expr> elements(y.outputs(), undef<float>());
        elements[0] = value;
        return Tuple(elements);
    }
    // `count` gates from `first` on += w · element `of` of (i, 0): 1 is h
    void multiply(int first, int count, int of) {
        // lanes of a block, gates, streams of an iteration, units, iterations, blocks; Halide keeps this
        // order
        const RDom sum(0, block, first, count, 0, together, 0, units, 0, sequences / together, 0,
                       width / block, "sum");
        const Expr lane = sum[5] * block + sum[0], stream = sum[4] * together + sum[2];
        products.emplace_back(y.num_update_definitions(), sum);
        y(lane, sum[1], stream) =
            only_gates(y(lane, sum[1], stream)[0] +
                       w(lane % panel, sum[1], sum[3], lane / panel) * y(sum[3], 0, stream)[of]);
    }
    // Every `restart` calls, state `of` is zero. A select, so that nothing is left of a NaN.
    Expr begun(int of) const {
        const Expr state = y(i, 0, s)[of];
        return restart ? select(place % restart == 0, 0.0f, state) : state;
    }
    void begin(int states) {
        if (!restart) return;
        std::vector<Expr> elements(y.outputs(), undef<float>());
        for (int of = 1; of <= states; of++) elements[static_cast<size_t>(of)] = begun(of);
        y(i, 0, s) = Tuple(elements);
    }
    Expr kept(const Expr &value) const { return units == width ? value : select(i < units, value, 0.0f); }

    // All updates but the products go along the lanes.
    void schedule() {
        std::vector<bool> multiplies(static_cast<size_t>(y.num_update_definitions()));
        for (const auto &[n, sum] : products) {
            RVar vectors("vectors"), lane("lane");
            multiplies[static_cast<size_t>(n)] = true;
            y.update(n)
                .allow_race_conditions() // what is read is not what is written
                .split(sum[0], vectors, lane, vec)
                .vectorize(lane)
                .unroll(vectors)
                .unroll(sum[1])
                .unroll(sum[2]);
        }
        for (size_t n = 0; n < multiplies.size(); n++)
            if (!multiplies[n]) y.update(static_cast<int>(n)).vectorize(i, vec);
    }
    void outputs(const std::vector<contract::Names::State> &states) {
        const Shape row_of = dense({width, sequences});
        Func h("y");
        h(i, s) = y(i, 0, s)[1];
        h.vectorize(i, vec);
        k.output(h, a.y, row_of);
        // In-out, because the rows of a call run in turn on the same memory.
        const bool one = sequences == 1;
        std::vector<KernelBuilder::Output> list{
            k.updated(a.gates, dense({width, gates, sequences}), one ? dense({width, gates}) : Shape{})};
        for (const contract::Names::State &name : states)
            list.push_back(k.updated(name,
                                     {{extent(width), 1}, {extent(gates), 0}, {extent(sequences), width}},
                                     one ? dense({width}) : dense({width, sequences})));
        k.outputs(y, list);
    }
};

void lstm_on_cpu(KernelBuilder &k, const contract::Lstm &params) {
    Gated p(k, params, 4);
    const Var i = p.i, g = p.g, s = p.s;
    Func &y = p.y;
    const Expr nothing = undef<float>();

    // THE ALGORITHM
    y(i, g, s) = Tuple(nothing, nothing, nothing);
    p.begin(2);
    y(i, p.gate, s) = Tuple(p.part(p.gate), nothing, nothing);
    p.multiply(0, 4, 1);
    const Expr in = sigmoid(y(i, 0, s)[0]) * hyperbolic_tangent_of_cell(y(i, 2, s)[0]);
    const Expr c = sigmoid_blend(y(i, 1, s)[0], 0.0f, y(i, 0, s)[2], in);
    y(i, 0, s) = Tuple(nothing, nothing, p.kept(c));
    y(i, 0, s) = Tuple(nothing, sigmoid(y(i, 3, s)[0]) * hyperbolic_tangent_of_cell(y(i, 0, s)[2]), nothing);

    // THE SCHEDULE
    p.schedule();
    p.outputs({p.a.h, p.a.c});
}

void gru_on_cpu(KernelBuilder &k, const contract::Gru &params) {
    Gated p(k, params, 3);
    const bool after = params.reset_after;
    const ImageParam bias = k.weight(p.a.bias, dense({p.width}));
    const Var i = p.i, g = p.g, s = p.s;
    Func &y = p.y;
    const Expr nothing = undef<float>();

    // THE ALGORITHM
    y(i, g, s) = Tuple(nothing, nothing);
    p.begin(1);
    y(i, p.gate, s) = Tuple(select(p.gate < 2, p.part(min(p.gate, 1)), bias(i)), nothing);
    p.multiply(0, after ? 3 : 2, 1);
    const Expr r = sigmoid(y(i, 0, s)[0]), h = y(i, 0, s)[1];
    Expr inside = r * y(i, 2, s)[0];
    if (!after) {
        y(i, 0, s) = p.only_gates(r * h);
        p.multiply(2, 1, 0);
        inside = y(i, 2, s)[0];
    }
    const Expr n = hyperbolic_tangent_of_cell(p.part(2) + inside);
    y(i, 0, s) = Tuple(nothing, p.kept(sigmoid_blend(y(i, 1, s)[0], n, h)));

    // THE SCHEDULE
    p.schedule();
    p.outputs({p.a.h});
}

const Kernel<contract::Lstm> lstm{lstm_on_cpu};
const Kernel<contract::Gru> gru{gru_on_cpu};

} // namespace

} // namespace longwave::schedules
