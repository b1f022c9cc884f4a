// long_conv_lanes_forward, long_conv_lanes_product, long_conv_lanes_inverse: parts of one large
// partition's work for one channel, short enough to take turns over the blocks of a stream. Between
// them the values wait as two rows, real and imaginary parts.
#include "schedules/contract/kernels/long_conv_lanes.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/lane_transform.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// Levels first … last − 1 of a transform of `length`.
struct LanePart {
    int length, first, last, rows; // of the block; zeros follow up to `length`
    // K: contract::LongConvLanesForward or contract::LongConvLanesInverse.
    template <class K> LanePart(const KernelBuilder &k, const K &p)
        : length(p.length), first(p.first), last(p.last), rows(p.rows.or_else(length)) {
        k.params.require(length % 16 == 0 && !right_angle_radices(extent(length)).empty(),
                         "'length' must be a multiple of 16 and a product of 2, 3 and 5");
        const int levels = static_cast<int>(right_angle_radices(extent(length)).size());
        k.params.require(first < last && last <= levels, "'first' … 'last' must be levels of the transform");
        k.params.require(rows <= length, "'rows' must be within 'length'");
    }
    int vec(const KernelBuilder &k) const { return dividing_vector(length, k.target.vector_lanes); }
    LaneTransform transform(KernelBuilder &k, const contract::Names::Weight &twiddles) const {
        ImageParam table =
            k.weight(twiddles, dense({static_cast<int>(lane_twiddles(extent(length)).size())}));
        return {length, vec(k), [=](const Expr &i) { return Expr(table(i)); }};
    }
};

// The values between two kernels.
LaneTransform::Read waiting(KernelBuilder &k, const auto &a, int length) {
    ImageParam re = k.input(a.re, dense({length})), im = k.input(a.im, dense({length}));
    return [=](const Expr &at) { return Complex{re(at), im(at)}; };
}

// Levels one after the other, all but the last kept inside the kernel.
void keep(const std::vector<Func> &levels, int length) {
    for (size_t i = 0; i + 1 < levels.size(); i++) {
        Func f = levels[i];
        f.compute_root().bound_extent(f.args()[0], length);
        store(f, int64_t{8} * length);
    }
}

} // namespace

static void build_long_conv_lanes_forward(KernelBuilder &k, const contract::LongConvLanesForward &p) {
    const LanePart part(k, p);
    const int stride = p.stride; // of the samples
    const auto a = contract::names_of<contract::LongConvLanesForward>();
    k.no_epilogue();
    LaneTransform::Read in;
    Func staged("staged"); // a shorter block, and zeros
    if (part.first == 0) {
        // Rows of one element: a channel may begin anywhere in its row.
        ImageParam u = k.input(a.u, {{1, 1}, {extent(part.rows), stride}});
        in = [=](const Expr &at) { return Complex{u(0, at), Expr()}; };
        if (part.rows < part.length) {
            Var n("n");
            staged(n) = 0.0f;
            define_positions(staged, 0, part.rows, part.vec(k),
                             [=](const Expr &at) { return std::vector{Expr(u(0, at))}; });
            staged.compute_root().bound_extent(n, part.length).vectorize(n, part.vec(k));
            store(staged, int64_t{4} * part.length);
            in = [=](const Expr &at) { return Complex{staged(at), Expr()}; };
        }
    } else {
        in = waiting(k, a, part.length);
    }
    const LaneTransform transform = part.transform(k, a.twiddles);
    std::vector<Func> levels;
    for (int level = part.first; level < part.last; level++) {
        levels.push_back(transform.forward("forward_" + std::to_string(level), in, level, {}));
        in = read_pairs(levels.back(), {});
    }
    keep(levels, part.length);
    k.outputs(levels.back(),
              {k.result(a.re_out, dense({part.length})), k.result(a.im_out, dense({part.length}))});
}

// Some bins of Σ_q X_{t−q}·K_q.
static void build_long_conv_lanes_product(KernelBuilder &k, const contract::LongConvLanesProduct &p) {
    const int length = p.length, bins = p.bins, partitions = p.partitions;
    const auto a = contract::names_of<contract::LongConvLanesProduct>();
    k.params.require(bins % 16 == 0 && bins <= length, "'bins' must be a multiple of 16 within 'length'");
    k.no_epilogue();
    const Shape shape = {{extent(bins), 1}, {2, length}, {extent(partitions), 2 * length}};
    ImageParam past = k.input(a.past, shape), spectrum = k.weight(a.spectrum, shape);
    const Expr slot = k.scalar(a.slot, partitions - 1);
    LaneProduct product{.bins = bins, .partitions = partitions};
    product.x = [=](const Expr &bin, const Expr &q) {
        const Expr at = wrapped(slot - q, partitions);
        return Complex{past(bin, 0, at), past(bin, 1, at)};
    };
    product.k = [=](const Expr &bin, const Expr &q) {
        return Complex{spectrum(bin, 0, q), spectrum(bin, 1, q)};
    };
    const Func z = product.define("z", k.target.vector_lanes, {});
    k.outputs(z, {k.result(a.re_out, dense({bins})), k.result(a.im_out, dense({bins}))});
}

static void build_long_conv_lanes_inverse(KernelBuilder &k, const contract::LongConvLanesInverse &p) {
    const LanePart part(k, p);
    const auto a = contract::names_of<contract::LongConvLanesInverse>();
    k.no_epilogue();
    LaneTransform::Read in = waiting(k, a, part.length);
    // Rows of one element: those of a block of any length may begin anywhere.
    const Shape shape = {{1, 1}, {extent(part.rows), 1}};
    ImageParam tail;
    if (part.first == 0) tail = k.input(a.tail, shape);
    const LaneTransform transform = part.transform(k, a.twiddles);
    std::vector<Func> levels;
    for (int level = part.last - 1; level >= part.first; level--) {
        levels.push_back(transform.inverse("inverse_" + std::to_string(level), in, level, {}));
        in = read_pairs(levels.back(), {});
    }
    if (part.first > 0) {
        keep(levels, part.length);
        return k.outputs(levels.back(), {k.result(a.re_out, dense({part.length})),
                                         k.result(a.im_out, dense({part.length}))});
    }
    // What lies behind the last row waits for the next large block: the rest of the real part, if the
    // transform is longer than the block, and the imaginary part.
    const int vec = part.vec(k), behind = std::min(part.length - part.rows, part.rows);
    Func y("y");
    Var n("n"), one("one");
    y(one, n) = Tuple(undef<float>(), undef<float>());
    define_positions(
        y, 0, behind, vec,
        [=](const Expr &at) { return std::vector{in(at).re + tail(0, at), in(at + part.rows).re}; }, 1);
    define_positions(
        y, behind, part.rows - behind, vec,
        [=](const Expr &at) {
            return std::vector{in(at).re + tail(0, at), in(at + part.rows - part.length).im};
        },
        1);
    levels.push_back(y);
    keep(levels, part.length);
    k.outputs(y, {k.result(a.y, shape), k.result(a.tail_out, shape)});
}

static const Kernel<contract::LongConvLanesForward> long_conv_lanes_forward{build_long_conv_lanes_forward};
static const Kernel<contract::LongConvLanesProduct> long_conv_lanes_product{build_long_conv_lanes_product};
static const Kernel<contract::LongConvLanesInverse> long_conv_lanes_inverse{build_long_conv_lanes_inverse};

} // namespace longwave::schedules
