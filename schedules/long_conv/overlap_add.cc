// long_conv_overlap_add: a long convolution of a whole sequence, block by block. A block is at
// least as long as the taps. The right-angle form needs no zero padding: y = Re z + Im of the
// previous block's z. So the work per row depends on the taps, not on the length of the sequence.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"
#include "schedules/long_conv/phases.h"
#include "schedules/long_conv/transform.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_overlap_add(KernelBuilder &k, const contract::LongConvOverlapAdd &params) {
    const int length = params.length, rows = params.rows, copies = params.copies, channels = params.channels;
    const auto names = contract::names_of<contract::LongConvOverlapAdd>();
    k.params.require(right_angle_radices(extent(length)).size() > 1,
                     "'length' must be a product of 2, 3 and 5 with two levels at least");
    const int row = static_cast<int>(pad(channels)), tile = std::min(row, 16),
              blocks = (rows + length - 1) / length;
    const Shape y_shape = {{extent(tile), 1}, {extent(copies), row}, {extent(blocks * length), copies * row}};

    ImageParam u = k.input(names.u, {{extent(tile), 1}, {extent(rows), row}});
    ImageParam spectrum = k.weight(names.spectrum, dense({tile, 2, length, copies}));
    ImageParam table = k.weight(names.twiddles, dense({2 * (length - 1)}));
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(y_shape, channels);

    const TransformStructure structure = transform_structure(k, length, tile);
    const RightAngle transform(
        length, Float(32), [&](Expr i) { return Expr(table(i)); },
        structure.fused && k.target.fused_multiply_add);
    const TransformPasses passes(transform);
    const int vec = structure.vec, levels = passes.levels();

    // THE ALGORITHM z of block q, in passes over the buffer `a`. Several copies share the way
    // there; each has its own buffer `b`.
    Var v("v"), part("part"), p("p"), m("m"), q("q"), vo("vo"), vi("vi");
    Func a = transform_buffer("a", {v, part, p, q}), b = transform_buffer("b", {v, part, p, m, q}),
         z = transform_buffer("z", {v, part, p, m, q}), y("y");
    const Reader input = [=](const Expr &position) {
        const Expr at = q * length + position;
        if (rows % length == 0) return Complex{u(v, at), Expr()};
        return Complex{select(at < rows, u(v, min(at, rows - 1)), 0.0f), Expr()}; // behind the end are zeros
    };
    const bool shared = copies > 1;
    const Expr copy = shared ? Expr(m) : Expr(0);
    const Reader kernel = [=](const Expr &position) {
        return Complex{spectrum(v, 0, position, copy), spectrum(v, 1, position, copy)};
    };
    const Reader spectrum_of_block = read_buffer(a, {q});
    const Reader product = [=](const Expr &position) {
        return spectrum_of_block(position) * kernel(position);
    };
    const Writer to_a = write_buffer(a, vec), to_b = write_buffer(b, vec), to_z = write_buffer(z, vec);

    const int separate = shared ? levels : levels - 1; // levels that have a pass each way
    const int first = passes.leading_levels(structure.outer, separate);
    passes.forward(input, to_a, 0, first, length);
    for (int level = first; level < separate; level++)
        passes.forward(spectrum_of_block, to_a, level, 1, length);
    if (!shared) passes.middle(spectrum_of_block, kernel, to_a, length);
    Reader from = shared ? product : spectrum_of_block;
    for (int level = separate - 1; level >= first; level--) {
        passes.inverse(from, shared ? to_b : to_a, level, 1, length);
        if (shared) from = read_buffer(b, {m, q});
    }
    passes.inverse(from, to_z, 0, first, length);

    const Expr tail = select(q > 0, z(v, 1, p, m, q - 1), 0.0f);
    y(v, m, p, q) = epilogue(z(v, 0, p, m, q) + tail, {v, m, q * length + p});

    // THE SCHEDULE
    // `vec` lanes at a time go through all blocks. z of two blocks is kept, in turns.
    y.split(v, vo, vi, vec).reorder(vi, m, p, q, vo).vectorize(vi);
    z.store_at(y, vo).compute_at(y, q).fold_storage(q, 2);
    z.bound_extent(v, vec).bound_extent(part, 2).bound_extent(p, length);
    store(z, int64_t{2} * 2 * sizeof(float) * vec * length * copies);
    keep_buffer(a, vec, length, LoopLevel(z, q));
    if (shared && first < separate) keep_buffer(b, vec, length, LoopLevel(z, m));
    k.outputs(y, {k.result(names.y,
                           {{extent(tile), 1},
                            {extent(copies), row},
                            {extent(length), copies * row},
                            {extent(blocks), length * copies * row}},
                           y_shape)});
}

static const Kernel<contract::LongConvOverlapAdd> long_conv_overlap_add{build_long_conv_overlap_add};

// long_conv_overlap_add_phases: long_conv_overlap_add of few channels, with the lanes over the
// phases of a block as in long_conv_polyphase. So one channel fills the lanes, and its transforms
// stay in a near cache, however long the sequence is: y = Re z + Im of the previous block's z.

using namespace Halide;

namespace {

struct BlocksOfPhases {
    int length, rows, copies, channels, row, blocks;
    BlocksOfPhases(const KernelBuilder &k, const contract::LongConvOverlapAddPhases &p)
        : length(p.length), rows(p.rows), copies(p.copies), channels(p.channels),
          row(static_cast<int>(pad(extent(channels)))), blocks((rows + length - 1) / length) {
        k.params.require(has_polyphase(extent(length)),
                         "'length' must be a multiple of 256 and a product of 2, 3 and 5");
    }
};

// Block q of u as f(phase, row, channel, q), zeros behind the end, one block at a time. One
// comparison for all phases of a row keeps the loads dense; the last few rows come by themselves.
Func one_channel(const ImageParam &u, const BlocksOfPhases &s) {
    Func f("by_phases");
    const Var v("v"), p("p"), c("c"), q("q");
    const Expr first = q * s.length + p * phases;
    if (s.rows % s.length == 0) f(v, p, c, q) = u(0, first + v);
    else f(v, p, c, q) = select(first + phases <= s.rows, u(0, min(first, s.rows - phases) + v), 0.0f);
    f.vectorize(v, phases);
    if (const int rest = s.rows % phases; rest > 0) {
        RDom n(0, rest);
        n.where(q == s.blocks - 1);
        f(n, s.rows % s.length / phases, c, q) = u(0, s.rows - rest + n);
        f.update().unscheduled();
    }
    store(f, int64_t{4} * s.length);
    return f;
}

// The same for several channels. Four rows interleaved have four samples of each channel side by side.
Func few_channels(const ImageParam &u, const BlocksOfPhases &s) {
    Func f("by_phases"), transposed("transposed");
    const Var v("v"), p("p"), c("c"), q("q"), e("e"), n("n");
    const int lanes = s.channels <= 4 ? 4 : s.channels <= 8 ? 8 : s.row;
    const RDom lane(0, lanes), four(0, quad, 0, s.length / quad);
    const Expr first = q * s.length + n * quad;
    std::vector<Expr> at, values;
    for (int i = 0; i < quad; i++) {
        at.push_back(quad * lane + i);
        values.push_back(s.rows % s.length == 0
                             ? u(lane, first + i)
                             : select(first + quad <= s.rows, u(lane, min(first, s.rows - quad) + i), 0.0f));
    }
    transposed(e, n, q) = undef<float>();
    transposed(scatter(at), n, q) = gather(values);
    transposed.update().reorder(lane.x, n, q).allow_race_conditions().vectorize(lane.x);
    f(v, p, c, q) = undef<float>();
    f(quad * (four.y % (phases / quad)) + four.x, four.y / (phases / quad), c, q) =
        transposed(quad * c + four.x, four.y, q);
    f.update().reorder(four.x, c, four.y, q).allow_race_conditions().vectorize(four.x);
    if (const int rest = s.rows % quad; rest > 0) {
        RDom last(0, rest);
        last.where(q == s.blocks - 1);
        const Expr row = s.rows % s.length / quad * quad + last;
        f(row % phases, row / phases, c, q) = u(c, s.rows - rest + last);
        f.update(1).unscheduled();
    }
    transposed.compute_at(f, four.y).bound_extent(e, quad * lanes).bound_extent(n, 1).bound_extent(q, 1);
    store(f, int64_t{4} * s.length * s.channels);
    return f;
}

using Sum = std::function<Expr(Expr phase, Expr row, Expr copy, Expr channel, Expr block)>;

// y of one signal: rows are dense.
void rows_alone(Func y, const KernelBuilder::Epilogue &epilogue, const BlocksOfPhases &s, const Sum &sum) {
    const Var l("l"), n("n"), q("q"), outer("outer"), inner("inner");
    y(l, n, q) = epilogue(sum(n % phases, n / phases, 0, 0, q), {l, q * s.length + n});
    y.split(n, outer, inner, phases).reorder(inner, outer, l, q).vectorize(inner);
}

// y of several signals side by side as its lanes: the copies of one channel, or the channels, copy
// after copy. Four samples of each signal, then four rows of all of them.
void rows_side_by_side(Func y, const KernelBuilder::Epilogue &epilogue, const BlocksOfPhases &s, int width,
                       const Sum &sum) {
    const bool copies_are_lanes = s.channels == 1;
    const int signals = copies_are_lanes ? s.copies : s.channels;
    const Var l("l"), m("m"), n("n"), q("q"), outer("outer"), inner("inner"), next("next"), i("i"),
        four("four");
    Func transposed("transposed_back");
    const RDom signal(0, signals);
    const Expr at = quad * (four % (phases / quad)) + i, row = four / (phases / quad);
    transposed(i, l, m, four, q) = signals == width ? undef<float>() : Expr(0.0f);
    transposed(i, signal, m, four, q) =
        copies_are_lanes ? sum(at, row, signal, 0, q) : sum(at, row, m, signal, q);
    if (copies_are_lanes)
        y(l, n, q) = epilogue(transposed(n % quad, l, 0, n / quad, q), {l, q * s.length + n});
    else y(l, m, n, q) = epilogue(transposed(n % quad, l, m, n / quad, q), {l, m, q * s.length + n});
    // Sixteen rows at a time: wide loads of what was stored in narrow pieces have to wait for it.
    y.split(n, outer, inner, phases).split(inner, next, inner, quad);
    y.vectorize(l, std::min(width, 16)).unroll(inner);
    if (copies_are_lanes) y.reorder(l, inner, next, outer, q);
    else y.reorder(l, inner, next, m, outer, q);
    transposed.compute_at(y, copies_are_lanes ? outer : m).bound_extent(i, quad).bound_extent(l, width);
    transposed.vectorize(i).update().vectorize(i);
    store(transposed, int64_t{4} * phases * width);
}

} // namespace

static void build_long_conv_overlap_add_phases(KernelBuilder &k,
                                               const contract::LongConvOverlapAddPhases &params) {
    static_assert(decltype(params.rows)::low == phases);
    const BlocksOfPhases s(k, params);
    const auto names = contract::names_of<contract::LongConvOverlapAddPhases>();
    const bool copies_are_lanes = s.channels == 1;
    const int rows = s.length / phases,
              width = copies_are_lanes ? static_cast<int>(pad(extent(s.copies))) : s.row;
    const int of_row = copies_are_lanes ? width : s.copies * s.row;
    const auto shape = [&](std::initializer_list<Dim> of_rows) {
        Shape made = {{extent(width), 1}};
        if (!copies_are_lanes) made.push_back({extent(s.copies), s.row});
        made.insert(made.end(), of_rows);
        return made;
    };
    const Shape y_shape = shape({{extent(s.blocks * s.length), of_row}});
    ImageParam u = k.input(names.u, {{extent(s.row), 1}, {extent(s.rows), s.row}});
    ImageParam spectrum =
        k.weight(names.spectrum, dense({Polyphase::values, 2, rows / 4, s.copies, s.channels}));
    ImageParam table = k.weight(names.twiddles, dense({polyphase_tables(extent(s.length)).size}));
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, copies_are_lanes ? s.copies : s.channels);

    // THE ALGORITHM
    // z of block q in the depth-first form over rows of phases.
    const TransformStructure structure = phases_structure(k, rows);
    const auto read_table = [=](const Expr &at) { return Expr(table(at)); };
    const RightAngle transform(rows, Float(32), read_table, structure.fused && k.target.fused_multiply_add);
    const Polyphase inside(transform, Float(32), read_table);
    Var v("v"), part("part"), p("p"), m("m"), c("c"), q("q");
    Func z = transform_buffer("z", {v, part, p, m, c, q}), y("y");
    const bool shared = s.copies > 1;
    Func sequence = s.channels == 1 ? one_channel(u, s) : few_channels(u, s);
    const Reader input = [=](const Expr &row) { return Complex{sequence(v, row, c, q), Expr()}; };
    const Reader kernel = [=](const Expr &position) {
        const auto read = [&](int which) {
            return Expr(spectrum(position % Polyphase::values, which, position / Polyphase::values,
                                 shared ? Expr(m) : Expr(0), s.channels == 1 ? Expr(0) : Expr(c)));
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
               .lanes = c,
               .copy = m,
               .copies = shared,
               .outside = {q},
               .phases = &inside}
        .define(k);
    const Sum sum = [=](const Expr &phase, const Expr &row, const Expr &copy, const Expr &channel,
                        const Expr &block) {
        return z(phase, 0, row, copy, channel, block) +
               select(block > 0, z(phase, 1, row, copy, channel, block - 1), 0.0f);
    };
    if (width == 1) rows_alone(y, epilogue, s, sum);
    else rows_side_by_side(y, epilogue, s, width, sum);

    // THE SCHEDULE
    sequence.compute_at(y, q).bound_extent(v, phases).bound_extent(p, rows);
    sequence.bound_extent(c, s.channels).bound_extent(q, 1);
    // z of two blocks is kept, in turns.
    z.store_root().compute_at(y, q).fold_storage(q, 2);
    z.bound_extent(v, phases).bound_extent(part, 2).bound_extent(p, rows);
    z.bound_extent(m, s.copies).bound_extent(c, s.channels);
    store(z, int64_t{2} * 2 * sizeof(float) * s.length * s.copies * s.channels);
    k.outputs(y,
              {k.result(names.y, shape({{extent(s.length), of_row}, {extent(s.blocks), s.length * of_row}}),
                        y_shape)});
}

static const Kernel<contract::LongConvOverlapAddPhases> long_conv_overlap_add_phases{
    build_long_conv_overlap_add_phases};

} // namespace longwave::schedules
