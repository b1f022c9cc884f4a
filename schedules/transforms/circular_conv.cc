// circular_conv: convolution around a whole sequence with a static kernel, and one made in the run,
// by the right-angle transform: its real part is the causal convolution and its imaginary part the
// tail, which comes round to the beginning.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/transform.h"

namespace longwave::schedules {

using namespace Halide;

static void build_circular_conv(KernelBuilder &k, const contract::CircularConv &params) {
    const auto names = contract::names_of<contract::CircularConv>();
    const int length = params.length, rows = params.rows, channels = params.channels;
    const bool adaptive = params.adaptive;
    const float scale = params.scale; // of the kernel made in the run
    k.params.require(!params.all, "'all' is for a gpu");
    k.params.require(!right_angle_radices(extent(length)).empty(),
                     "'length' must be a product of 2, 3 and 5");
    k.params.require(rows <= length, "'rows' must not exceed length");
    const int row = static_cast<int>(pad(channels)), tile = std::min(row, 16);
    const Shape y_shape = {{extent(tile), 1}, {extent(rows), row}};
    ImageParam u = k.input(names.u, y_shape), h;
    if (adaptive) h = k.input(names.h, y_shape);
    ImageParam fixed = k.weight(names.fixed, dense({tile, 2, length}));
    ImageParam table = k.weight(names.twiddles, dense({2 * (length - 1)}));
    const KernelBuilder::Epilogue epilogue = k.tile_epilogue(y_shape, channels);

    // THE ALGORITHM h goes forward to the end in `kernel`, u to the last level in `a`; that level,
    // the product with both kernels and the first level back are one pass.
    const TransformStructure structure = transform_structure(k, length, tile);
    const RightAngle transform(
        length, Float(32), [&](Expr i) { return Expr(table(i)); },
        structure.fused && k.target.fused_multiply_add);
    const TransformPasses passes(transform);
    const int vec = structure.vec, levels = passes.levels(), separate = levels - 1;
    Var v("v"), part("part"), p("p"), t("t"), vo("vo"), vi("vi");
    Func y("y"), a = transform_buffer("a", {v, part, p}), kernel = transform_buffer("kernel", {v, part, p});
    const Writer to_a = write_buffer(a, vec), to_kernel = write_buffer(kernel, vec);
    const Reader from_u = [=](const Expr &at) { return Complex{u(v, at), Expr()}; };
    const Reader from_h = [=](const Expr &at) { return Complex{h(v, at), Expr()}; };
    const auto forward = [&](const Reader &in, const Func &buffer, const Writer &out, int until) {
        const int first = passes.leading_levels(structure.outer, until);
        passes.forward(in, out, 0, first, rows);
        for (int level = first; level < until; level++)
            passes.forward(read_buffer(buffer), out, level, 1, rows);
        return first;
    };
    if (adaptive) forward(from_h, kernel, to_kernel, levels);
    const Reader both = [=](const Expr &at) {
        Complex still = {fixed(v, 0, at), fixed(v, 1, at)};
        if (!adaptive) return still;
        const Complex made = read_buffer(kernel)(at);
        return Complex{still.re + scale * made.re, still.im + scale * made.im};
    };
    if (separate == 0) {
        const Reader extended = [=](const Expr &at) {
            return Complex{select(at < rows, u(v, min(at, rows - 1)), 0.0f), Expr()};
        };
        passes.middle(extended, both, to_a, length);
    } else {
        const int first = forward(from_u, a, to_a, separate);
        passes.middle(read_buffer(a), both, to_a, length);
        for (int level = separate - 1; level >= first; level--)
            passes.inverse(read_buffer(a), to_a, level, 1, length);
        passes.inverse(read_buffer(a), to_a, 0, first, length);
    }
    // What lies `rows` further on comes round: in the real part as far as the transform reaches,
    // then in the imaginary one.
    const Reader result = read_buffer(a);
    Expr value = result(t).re;
    if (rows == length) {
        value += result(t).im;
    } else {
        const Expr behind = t + rows;
        value += select(behind < length, result(min(behind, length - 1)).re,
                        result(clamp(behind - length, 0, length - 1)).im);
    }
    y(v, t) = epilogue(value, {v, t});

    // THE SCHEDULE
    y.bound(v, 0, tile).split(v, vo, vi, vec).reorder(vi, t, vo).vectorize(vi);
    keep_buffer(a, vec, length, y, vo);
    if (adaptive) keep_buffer(kernel, vec, length, y, vo);
    k.output(y, names.y, y_shape);
}

static const Kernel<contract::CircularConv> circular_conv{build_circular_conv};

} // namespace longwave::schedules
