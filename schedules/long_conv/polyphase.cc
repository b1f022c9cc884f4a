// long_conv_polyphase: long_conv_right_angle with the lanes over the phases of one channel's
// sequence, channel after channel. So few channels fill the lanes, and a long transform stays in a
// near cache, where sixteen side by side would not.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"
#include "schedules/long_conv/phases.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct PolyphaseShapes {
    int length, rows, copies, channels, row, tile;
    PolyphaseShapes(const KernelBuilder &k, const contract::LongConvPolyphase &p)
        : length(p.length), rows(p.rows), copies(p.copies), channels(p.channels),
          row(static_cast<int>(pad(extent(channels)))), tile(std::min(row, 16)) {
        k.params.require(has_polyphase(extent(length)),
                         "'length' must be a multiple of 256 and a product of 2, 3 and 5");
        k.params.require(rows <= length, "'rows' must not exceed length");
    }
    int signals() const { return std::min(channels, tile); } // of a call
    // Sequences a power of two apart would share the sets of a cache.
    int stored_rows() const { return length / phases + (signals() > 1 ? 1 : 0); }
};

// u[lane, n] as f(phase, row, channel), zeros behind it.
Func by_phases(const ImageParam &u, const PolyphaseShapes &s) {
    Func f("by_phases");
    Var v("v"), p("p"), c("c");
    f(v, p, c) = undef<float>();
    const int ends = (s.rows + phases - 1) / phases; // rows of phases that hold some of it
    if (ends < s.length / phases) {
        const RDom behind(ends, s.length / phases - ends);
        f(v, behind, c) = 0.0f;
        f.update(f.num_update_definitions() - 1).vectorize(v, phases);
    }
    if (s.rows % phases) {
        f(v, ends - 1, c) = 0.0f;
        f.update(f.num_update_definitions() - 1).vectorize(v, phases);
    }
    const int together = s.tile == 1 ? phases : quad, whole = s.rows / together;
    if (whole && s.tile == 1) {
        const RDom row(0, whole);
        f(v, row, c) = u(0, row * phases + v);
        f.update(f.num_update_definitions() - 1).vectorize(v, phases);
    } else if (whole) {
        // Four rows interleaved have four samples of each channel side by side.
        Func transposed("transposed");
        Var e("e"), n("n");
        transposed(e, n) = undef<float>();
        const int lanes = s.signals() <= 4 ? 4 : s.signals() <= 8 ? 8 : s.tile;
        const RDom lane(0, lanes), four(0, quad, 0, whole);
        std::vector<Expr> at, values;
        for (int i = 0; i < quad; i++) {
            at.push_back(quad * lane + i);
            values.push_back(u(lane, quad * n + i));
        }
        transposed(scatter(at), n) = gather(values);
        transposed.update().reorder(lane.x, n).allow_race_conditions().vectorize(lane.x);
        transposed.compute_at(f, four.y).bound_extent(e, quad * lanes);
        f(quad * (four.y % (phases / quad)) + four.x, four.y / (phases / quad), c) =
            transposed(quad * c + four.x, four.y);
        f.update(f.num_update_definitions() - 1)
            .reorder(four.x, c, four.y)
            .allow_race_conditions()
            .vectorize(four.x);
    }
    if (s.rows % together) {
        const RDom n(whole * together, s.rows % together);
        f(n % phases, n / phases, c) = u(s.tile == 1 ? Expr(0) : Expr(c), n);
        f.update(f.num_update_definitions() - 1).unscheduled(); // the last few rows
    }
    f.compute_root().bound_extent(v, phases).bound_extent(p, s.stored_rows()).bound_extent(c, s.signals());
    store(f, int64_t{4} * phases * s.stored_rows() * s.signals());
    return f;
}

// y[lane, copy, n] = epilogue of f(phase, row, copy, channel); one channel's copies are lanes.
void rows_of(KernelBuilder &k, const contract::Names::Output &name, const PolyphaseShapes &s, Func f) {
    const int width = s.channels == 1 ? static_cast<int>(pad(extent(s.copies))) : s.tile,
              signals = s.channels == 1 ? s.copies : s.signals();
    const Shape shape =
        s.channels == 1
            ? Shape{{extent(width), 1}, {extent(s.rows), width}}
            : Shape{{extent(width), 1}, {extent(s.copies), s.row}, {extent(s.rows), s.copies * s.row}};
    const KernelBuilder::Epilogue epilogue =
        s.channels == 1 ? k.epilogue(shape, s.copies) : k.tile_epilogue(shape, s.channels);
    Func y("y");
    Var l("l"), m("m"), n("n"), outer("outer"), inner("inner"), next("next");
    if (width == 1) {
        y(l, n) = epilogue(f(n % phases, n / phases, 0, 0), {l, n});
        y.bound(l, 0, 1).bound(n, 0, s.rows).reorder(n, l);
        y.split(n, outer, inner, phases, TailStrategy::GuardWithIf).vectorize(inner);
        k.output(y, name, shape);
        return;
    }
    // Four samples of each signal, then four rows of all of them.
    Func transposed("transposed_back");
    Var i("i"), four("four");
    const RDom signal(0, signals);
    const Expr at = quad * (four % (phases / quad)) + i, row = four / (phases / quad);
    transposed(i, l, m, four) = signals == width ? undef<float>() : Expr(0.0f);
    transposed(i, signal, m, four) = s.channels == 1 ? f(at, row, signal, 0) : f(at, row, m, signal);
    const Expr copy = s.channels == 1 ? Expr(0) : Expr(m);
    const std::vector<Var> vars = s.channels == 1 ? std::vector<Var>{l, n} : std::vector<Var>{l, m, n};
    y(vars) = epilogue(transposed(n % quad, l, copy, n / quad), {vars.begin(), vars.end()});
    y.bound(l, 0, width).bound(n, 0, s.rows);
    // Sixteen rows at a time: wide loads of what was stored in narrow pieces have to wait for it.
    y.split(n, outer, inner, phases, TailStrategy::GuardWithIf).split(inner, next, inner, quad);
    y.vectorize(l, std::min(width, 16)).unroll(inner);
    if (s.channels == 1) y.reorder(l, inner, next, outer);
    else y.bound(m, 0, s.copies).reorder(l, inner, next, m, outer);
    transposed.compute_at(y, s.channels == 1 ? outer : m).bound_extent(i, quad).bound_extent(l, width);
    transposed.vectorize(i).update().vectorize(i);
    store(transposed, int64_t{4} * phases * width);
    k.output(y, name, shape);
}

} // namespace

static void build_long_conv_polyphase(KernelBuilder &k, const contract::LongConvPolyphase &params) {
    const PolyphaseShapes s(k, params);
    const auto names = contract::names_of<contract::LongConvPolyphase>();
    const int rows = s.length / phases, groups = rows / 4;
    ImageParam u = k.input(names.u, {{extent(s.tile), 1}, {extent(s.rows), s.row}});
    ImageParam spectrum =
        k.weight(names.spectrum, dense({Polyphase::values, 2, groups, s.copies, s.signals()}));
    ImageParam table = k.weight(names.twiddles, dense({polyphase_tables(extent(s.length)).size}));

    // THE ALGORITHM and THE SCHEDULE are those of the depth-first form over rows of phases.
    const TransformStructure structure = phases_structure(k, rows);
    const auto read_table = [=](const Expr &at) { return Expr(table(at)); };
    const RightAngle transform(rows, Float(32), read_table, structure.fused && k.target.fused_multiply_add);
    const Polyphase inside(transform, Float(32), read_table);
    Var v("v"), p("p"), m("m"), c("c");
    const Func sequence = by_phases(u, s);
    Func result("result");
    result(v, p, m, c) = undef<float>();
    const bool shared = s.copies > 1;
    const Reader input = [=](const Expr &row) { return Complex{sequence(v, row, c), Expr()}; };
    const Reader kernel = [=](const Expr &position) {
        const auto part = [&](int which) {
            return Expr(spectrum(position % Polyphase::values, which, position / Polyphase::values,
                                 shared ? Expr(m) : Expr(0), c));
        };
        return Complex{part(0), part(1)};
    };
    const Writer output = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                              const std::vector<RVar> &loops) mutable {
        result(v, scatter(at), m, c) = gather(real_parts(x));
        std::vector<VarOrRVar> order = {v};
        order.insert(order.end(), loops.begin(), loops.end());
        order.insert(order.end(), {m, c});
        result.update().reorder(order).vectorize(v, structure.vec);
    };
    DepthFirst{.transform = transform,
               .structure = structure,
               .rows = rows,
               .input = input,
               .spectrum = kernel,
               .output = output,
               .y = result,
               .lanes = c,
               .copy = m,
               .copies = shared,
               .phases = &inside}
        .define(k);
    if (!shared) k.share_memory(sequence, result); // a channel's result is written when its sequence was read
    result.compute_root().bound_extent(v, phases).bound_extent(p, s.stored_rows());
    result.bound_extent(m, s.copies).bound_extent(c, s.signals());
    store(result, int64_t{4} * phases * s.stored_rows() * s.copies * s.signals());
    rows_of(k, names.y, s, result);
}

static const Kernel<contract::LongConvPolyphase> long_conv_polyphase{build_long_conv_polyphase};

} // namespace longwave::schedules
