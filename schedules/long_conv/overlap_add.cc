// long_conv_overlap_add: a long convolution of a whole sequence, block by block. A block is at
// least as long as the taps. The right-angle form needs no zero padding: y = Re z + Im of the
// previous block's z. So the work per row depends on the taps, not on the length of the sequence.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
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

} // namespace longwave::schedules
