// long_conv_overlap_add_phases: long_conv_overlap_add of one channel, with the lanes over the
// phases of a block as in long_conv_polyphase. So one channel fills the lanes, and its transforms
// stay in a near cache, however long the sequence is: y = Re z + Im of the previous block's z.
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct BlocksOfPhases {
    static constexpr int phases = Polyphase::phases;
    int length, rows, copies, blocks;
    explicit BlocksOfPhases(KernelBuilder &k)
        : length(k.params.integer("length", 256, 1 << 20)), rows(k.params.integer("rows", phases, 1 << 24)),
          copies(k.params.integer_or("copies", 1, 1, 64)), blocks((rows + length - 1) / length) {
        k.params.integer("channels", 1, 1);
        k.params.require(has_polyphase(extent(length)),
                         "'length' must be a multiple of 256 and a product of 2, 3 and 5");
    }
};

// Block q of u as f(phase, row, q), zeros behind the end, computed at that loop of the blocks. One
// comparison for all phases of a row keeps the loads dense; the last few rows come by themselves.
Func block_by_phases(const ImageParam &u, const BlocksOfPhases &s, const LoopLevel &block) {
    constexpr int phases = BlocksOfPhases::phases;
    Func f("by_phases");
    const Var v("v"), p("p"), q("q");
    const Expr first = q * s.length + p * phases;
    if (s.rows % s.length == 0) f(v, p, q) = u(0, first + v);
    else f(v, p, q) = select(first + phases <= s.rows, u(0, min(first, s.rows - phases) + v), 0.0f);
    f.vectorize(v, phases);
    if (const int rest = s.rows % phases; rest > 0) {
        RDom n(0, rest);
        n.where(q == s.blocks - 1);
        f(n, s.rows % s.length / phases, q) = u(0, s.rows - rest + n);
        f.update().unscheduled();
    }
    f.compute_at(block).bound_extent(v, phases).bound_extent(p, s.length / phases).bound_extent(q, 1);
    store(f, int64_t{4} * s.length);
    return f;
}

// y of one copy, or of several side by side as its lanes.
void copies_side_by_side(Func y, const KernelBuilder::Epilogue &epilogue, const BlocksOfPhases &s, int width,
                         const std::function<Expr(Expr phase, Expr row, Expr copy)> &sum) {
    constexpr int phases = BlocksOfPhases::phases, quad = 4;
    const Var l("l"), n("n"), q("q"), outer("outer"), inner("inner"), next("next"), i("i"), four("four");
    const std::vector<Expr> at = {l, q * s.length + n};
    if (width == 1) {
        y(l, n, q) = epilogue(sum(n % phases, n / phases, 0), at);
        y.split(n, outer, inner, phases).reorder(inner, outer, l, q).vectorize(inner);
        return;
    }
    // Four samples of each copy, then four rows of all of them.
    Func turned("turned_back");
    const RDom copy(0, s.copies);
    turned(i, l, four, q) = s.copies == width ? undef<float>() : Expr(0.0f);
    turned(i, copy, four, q) = sum(quad * (four % (phases / quad)) + i, four / (phases / quad), copy);
    y(l, n, q) = epilogue(turned(n % quad, l, n / quad, q), at);
    // Sixteen rows at a time: wide loads of what was stored in narrow pieces have to wait for it.
    y.split(n, outer, inner, phases).split(inner, next, inner, quad);
    y.vectorize(l, std::min(width, 16)).unroll(inner).reorder(l, inner, next, outer, q);
    turned.compute_at(y, outer).bound_extent(i, quad).bound_extent(l, width);
    turned.vectorize(i).update().vectorize(i);
    store(turned, int64_t{4} * phases * width);
}

} // namespace

static void build_long_conv_overlap_add_phases(KernelBuilder &k) {
    const BlocksOfPhases s(k);
    const int rows = s.length / BlocksOfPhases::phases, width = static_cast<int>(pad(extent(s.copies)));
    const Shape y_shape = {{extent(width), 1}, {extent(s.blocks * s.length), width}};
    ImageParam u = k.input("u", {{1, 1}, {extent(s.rows), 1}});
    ImageParam spectrum = k.weight("spectrum", dense({Polyphase::values, 2, rows / 4, s.copies, 1}));
    ImageParam table = k.weight("twiddles", dense({polyphase_tables(extent(s.length)).size}));
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, s.copies);

    // THE ALGORITHM
    // z of block q in the depth-first form over rows of phases.
    const TransformStructure structure = phases_structure(k, rows);
    const auto read_table = [=](const Expr &at) { return Expr(table(at)); };
    const RightAngle transform(rows, Float(32), read_table, structure.fused && k.target.fused_multiply_add);
    const Polyphase inside(transform, Float(32), read_table);
    Var v("v"), part("part"), p("p"), m("m"), q("q");
    Func z = transform_buffer("z", {v, part, p, m, q}), y("y");
    const bool shared = s.copies > 1;
    const Func sequence = block_by_phases(u, s, LoopLevel(y, q));
    const Reader input = [=](const Expr &row) { return Complex{sequence(v, row, q), Expr()}; };
    const Reader kernel = [=](const Expr &position) {
        const auto read = [&](int which) {
            return Expr(spectrum(position % Polyphase::values, which, position / Polyphase::values,
                                 shared ? Expr(m) : Expr(0), 0));
        };
        return Complex{read(0), read(1)};
    };
    DepthFirst{.transform = transform,
               .structure = structure,
               .rows = rows,
               .input = input,
               .spectrum = kernel,
               .output = write_buffer(z, structure.vec),
               .y = z,
               .lanes = q,
               .copy = m,
               .copies = shared,
               .phases = &inside}
        .define(k);
    copies_side_by_side(y, epilogue, s, width, [=](const Expr &phase, const Expr &row, const Expr &copy) {
        return z(phase, 0, row, copy, q) + select(q > 0, z(phase, 1, row, copy, q - 1), 0.0f);
    });

    // THE SCHEDULE
    // z of two blocks is kept, in turns.
    z.store_root().compute_at(y, q).fold_storage(q, 2);
    z.bound_extent(v, BlocksOfPhases::phases).bound_extent(part, 2).bound_extent(p, rows);
    z.bound_extent(m, s.copies);
    store(z, int64_t{2} * 2 * sizeof(float) * s.length * s.copies);
    k.outputs(y, {{.name = "y",
                   .shape = {{extent(width), 1},
                             {extent(s.length), width},
                             {extent(s.blocks), s.length * width}},
                   .argument = y_shape}});
}

static const Kernel long_conv_overlap_add_phases{"long_conv_overlap_add_phases",
                                                 build_long_conv_overlap_add_phases};

} // namespace longwave::schedules
