// long_conv_right_angle: long convolution of whole sequences, causal or two-sided (the spectrum
// decides), by one complex transform of the sequence's length for each channel, with channels in
// the lanes. Only u, the spectrum and y leave the cache.
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_right_angle(KernelBuilder &k, const contract::LongConvRightAngle &params) {
    const int length = params.length, rows = params.rows, copies = params.copies, channels = params.channels;
    const auto names = contract::names_of<contract::LongConvRightAngle>();
    k.params.require(!right_angle_radices(static_cast<uint32_t>(length)).empty(),
                     "'length' must be a product of 2, 3 and 5");
    k.params.require(rows <= length, "'rows' must not exceed length");
    const int row = static_cast<int>(pad(channels)), tile = std::min(row, 16);
    const Shape y_shape = {{static_cast<uint32_t>(tile), 1},
                           {static_cast<uint32_t>(copies), row},
                           {static_cast<uint32_t>(rows), copies * row}};

    ImageParam u = k.input(names.u, {{static_cast<uint32_t>(tile), 1}, {static_cast<uint32_t>(rows), row}});
    ImageParam spectrum = k.weight(names.spectrum, dense({tile, 2, length, copies}));
    ImageParam table = k.weight(names.twiddles, dense({2 * (length - 1)}));
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(y_shape, channels);

    // THE ALGORITHM Re of the inverse transform of U·K; see twiddles.h. Passes over the one buffer
    // `a`; the last level forward, the product and the first level back are one pass. Several
    // copies share the forward transform: then the product starts the way back of each copy, in its
    // own buffer `b`. THE SCHEDULE is that of the passes (transform.h): `vec` lanes at a
    // time go through everything.
    const TransformStructure structure = transform_structure(k, length, tile);
    const RightAngle transform(
        length, Float(32), [&](Expr i) { return Expr(table(i)); },
        structure.fused && k.target.fused_multiply_add);
    const TransformPasses passes(transform);
    const int vec = structure.vec, levels = passes.levels();
    Var v("v"), part("part"), p("p"), m("m"), n("n"), vo("vo"), vi("vi");
    Func y("y"), a = transform_buffer("a", {v, part, p}), b = transform_buffer("b", {v, part, p, m});
    y(v, m, n) = undef<float>();
    const Reader input = [=](const Expr &position) { return Complex{u(v, position), Expr()}; };
    const bool shared = copies > 1;
    const Expr copy = shared ? Expr(m) : Expr(0);
    const Reader kernel = [=](const Expr &position) {
        return Complex{spectrum(v, 0, position, copy), spectrum(v, 1, position, copy)};
    };
    const Writer output = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                              const std::vector<RVar> &loops) mutable {
        y(v, m, scatter(at)) = epilogue(gather(real_parts(x)), {v, m, gather(at)});
        std::vector<VarOrRVar> order = {vi};
        order.insert(order.end(), loops.begin(), loops.end());
        order.insert(order.end(), {m, vo});
        y.update().split(v, vo, vi, vec).reorder(order).vectorize(vi);
    };
    if (DepthFirst::column_levels(transform, structure, rows) > 0) {
        const DepthFirst form{transform, structure, rows, input, kernel, output, y, vo, m, shared};
        form.define(k);
        k.output(y, names.y, y_shape);
        return;
    }
    const Writer to_a = write_buffer(a, vec), to_b = write_buffer(b, vec);
    const int separate = shared ? levels : levels - 1; // levels that have a pass each way
    if (separate == 0) {
        passes.middle(input, kernel, output, rows);
    } else {
        const int first = passes.leading_levels(structure.outer, separate);
        passes.forward(input, to_a, 0, first, rows);
        for (int level = first; level < separate; level++)
            passes.forward(read_buffer(a), to_a, level, 1, rows);
        if (!shared) passes.middle(read_buffer(a), kernel, to_a, length);
        const Reader product = [=](const Expr &position) {
            return read_buffer(a)(position) * kernel(position);
        };
        for (int level = separate - 1; level >= first; level--) {
            const Reader from = !shared                 ? read_buffer(a)
                                : level == separate - 1 ? product
                                                        : read_buffer(b, {m});
            passes.inverse(from, shared ? to_b : to_a, level, 1, rows);
        }
        passes.inverse(!shared             ? read_buffer(a)
                       : first == separate ? product
                                           : read_buffer(b, {m}),
                       output, 0, first, rows);
        keep_buffer(a, vec, length, y, vo);
        if (shared && first < separate) keep_buffer(b, vec, length, y, m);
    }
    k.output(y, names.y, y_shape);
}

static const Kernel<contract::LongConvRightAngle> long_conv_right_angle{build_long_conv_right_angle};

} // namespace longwave::schedules
