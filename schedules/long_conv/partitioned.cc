// long_conv_partitioned: one block of a long causal convolution: transform of the block,
// multiply-accumulate with the spectra of all partitions of the kernel over a ring of past spectra,
// transform back. The right-angle form needs no zero padding: y = Re z + Im of the previous z. Where
// the transform is longer than the block, the last of Re z belong to the tail as well.
#include "schedules/contract/kernels/long_conv_blocks.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/spectra_product.h"
#include "schedules/long_conv/transform.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_partitioned(KernelBuilder &k, const contract::LongConvPartitioned &params) {
    const int block = params.block, length = params.length.or_else(block), partitions = params.partitions,
              copies = params.copies, channels = params.channels;
    const auto names = contract::names_of<contract::LongConvPartitioned>();
    k.params.require(params.tiles == 1, "'tiles' is for a GPU");
    k.params.require(block <= length && !right_angle_radices(static_cast<uint32_t>(length)).empty(),
                     "'length' must be a product of 2, 3 and 5, at least 'block'");
    const int row = static_cast<int>(pad(channels)), tile = std::min(row, 16);
    const Shape y_shape = {{extent(tile), 1}, {extent(copies), row}, {extent(block), copies * row}};
    const Shape tail_shape = dense({tile, copies, block});

    ImageParam u = k.input(names.u, {{extent(tile), 1}, {extent(block), row}});
    ImageParam past = k.input(names.past, dense({tile, 2, partitions, length}));
    ImageParam tail = k.input(names.tail, tail_shape);
    ImageParam spectrum = k.weight(names.spectrum, dense({tile, 2, partitions, length, copies}));
    ImageParam table = k.weight(names.twiddles, dense({2 * (length - 1)}));
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(y_shape, channels);
    const Expr slot = k.scalar(names.slot, partitions - 1);

    const RightAngle transform(length, Float(32), [&](Expr i) { return Expr(table(i)); });
    const TransformPasses passes(transform);
    const TransformStructure structure = transform_structure(k, length, tile);
    const int vec = structure.vec, levels = passes.levels();
    Var v("v"), part("part"), p("p"), m("m"), n("n"), vo("vo");

    // THE ALGORITHM, each part with its schedule
    // 1. The transform of this block.
    const int first = passes.leading_levels(structure.outer, levels);
    Func newest = transform_buffer("newest", {v, part, p}), a = transform_buffer("a", {v, part, p});
    const Writer to_a = write_buffer(a, vec);
    const Writer to_newest = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                                 const std::vector<RVar> &loops) mutable {
        define_points(newest, at, x);
        schedule_output(newest, vec, loops, {}, vo);
    };
    const Reader input = [=](const Expr &position) { return Complex{u(v, position), Expr()}; };
    passes.forward(input, first == levels ? to_newest : to_a, 0, first, block);
    for (int level = first; level < levels; level++)
        passes.forward(read_buffer(a), level == levels - 1 ? to_newest : to_a, level, 1, block);
    if (levels > first) keep_buffer(a, vec, length, newest, vo);

    // 2. The sum over all partitions.
    const Func z = product_of_spectra({past, spectrum, slot, tile, length, partitions, vec}, newest);

    // 3. Back; the imaginary part waits for the next block.
    Func y("y"), b = transform_buffer("b", {v, part, p, m}), c = transform_buffer("c", {v, part, p, m});
    const Writer to_b = write_buffer(b, vec);
    const Writer to_y = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                            const std::vector<RVar> &loops) mutable {
        const Expr value = gather(real_parts(x)) + tail(v, m, gather(at));
        y(v, m, scatter(at)) = Tuple(epilogue(value, {v, m, gather(at)}), gather(imaginary_parts(x)));
        schedule_output(y, vec, loops, {m}, vo);
    };
    Reader from = read_buffer(z, {m});
    for (int level = levels - 1; level >= first; level--) {
        passes.inverse(from, to_b, level, 1, length);
        from = read_buffer(b, {m});
    }
    if (length == block) {
        y(v, m, n) = Tuple(undef<float>(), undef<float>());
        passes.inverse(from, to_y, 0, first, block);
    } else {
        passes.inverse(from, write_buffer(c, vec), 0, first, length);
        define_shorter_rows(
            y, {block, length, vec}, c, vo,
            [=](const Expr &value, const std::vector<Expr> &at) { return epilogue(value + tail(at), at); });
        keep_buffer(c, vec, length, y, vo);
    }
    keep_buffer(z, tile, length, y, m);
    if (levels > first) keep_buffer(b, vec, length, y, vo);
    k.output(newest, names.newest, {{extent(tile), 1}, {2, tile}, {extent(length), 2 * tile * partitions}});
    // Not in place: then all points of a group are kept until the last old tail is read, which
    // costs AVX2 (16 registers) 10 to 30 %.
    k.outputs(y, {k.result(names.y, y_shape), k.result(names.tail_out, tail_shape)});
}

static const Kernel<contract::LongConvPartitioned> long_conv_partitioned{build_long_conv_partitioned};

} // namespace longwave::schedules
