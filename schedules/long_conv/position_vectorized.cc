// long_conv_lanes: one block of a long causal convolution of few channels, as
// long_conv_partitioned, with lanes over positions and bins instead of channels. All channels in
// one call.
#include "schedules/contract/kernels/long_conv_lanes.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/lane_transform.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct LaneShapes {
    int block, length, partitions, copies, channels, row, width;
    LaneShapes(const KernelBuilder &k, const contract::LongConvLanes &p)
        : block(p.block), length(p.length.or_else(block)), partitions(p.partitions), copies(p.copies),
          channels(p.channels), row(static_cast<int>(pad(static_cast<uint32_t>(channels)))),
          width(channels == 1 ? static_cast<int>(pad(static_cast<uint32_t>(copies))) : copies * row) {
        k.params.require(length % 16 == 0 && !right_angle_radices(static_cast<uint32_t>(length)).empty(),
                         "'length' must be a multiple of 16 and a product of 2, 3 and 5");
        k.params.require(block <= length, "'block' must be within 'length'");
    }
    Expr lane(const Expr &copy, const Expr &channel) const {
        return channels == 1 ? copy : copy * row + channel;
    }
};

// The rows y: as they come where they have one element; else transposed from channel after channel to
// row after row, the lanes between them zero.
Func rows_of(KernelBuilder &k, const contract::Names::Output &name, const LaneShapes &s,
             const std::function<Expr(Expr, Expr, Expr)> &value, int vec) {
    const Shape shape = {{extent(s.width), 1}, {extent(s.block), s.width}};
    const KernelBuilder::Epilogue epilogue = k.epilogue(shape, s.channels == 1 ? s.copies : s.channels);
    while (vec > s.block) vec /= 2;
    Func y("y");
    Var l("l"), n("n");
    if (s.width == 1) {
        y(l, n) = epilogue(value(n, 0, 0), {l, n});
        y.bound(l, 0, 1).bound(n, 0, s.block).reorder(n, l).vectorize(n, vec);
    } else {
        Func transposed("transposed");
        const int whole = s.block / vec, rest = s.block % vec;
        RDom r(0, vec, 0, whole, 0, s.copies, 0, s.channels, "transposed_at");
        const Expr at = r.y * vec + r.x;
        transposed(l, n) = 0.0f;
        transposed(s.lane(r.z, r.w), at) = value(at, r.z, r.w);
        transposed.compute_root().bound_extent(l, s.width).bound_extent(n, s.block).vectorize(l, vec);
        transposed.update().allow_race_conditions().vectorize(r.x);
        if (rest > 0) {
            RDom last(whole * vec, rest, 0, s.copies, 0, s.channels, "turn_rest");
            transposed(s.lane(last.y, last.z), last.x) = value(last.x, last.y, last.z);
        }
        store(transposed, int64_t{4} * s.width * s.block);
        y(l, n) = epilogue(transposed(l, n), {l, n});
        y.bound(l, 0, s.width).bound(n, 0, s.block).vectorize(l, vec);
    }
    k.output(y, name, shape);
    return y;
}

} // namespace

static void build_long_conv_lanes(KernelBuilder &k, const contract::LongConvLanes &params) {
    const LaneShapes s(k, params);
    const auto a = contract::names_of<contract::LongConvLanes>();
    const Shape by_channel = dense({s.block, s.copies, s.channels});
    const int vec = dividing_vector(s.length, k.target.vector_lanes);

    ImageParam u = k.input(a.u, {{extent(s.channels), 1}, {extent(s.block), s.row}});
    ImageParam past = k.input(a.past, dense({s.length, 2, s.partitions, s.channels}));
    ImageParam tail = k.input(a.tail, by_channel);
    std::vector<ImageParam> added;
    // Rows of one element: a block of any length may begin anywhere.
    for (size_t n = 0; n < params.added.size(); n++) {
        const int apart = params.added[n];
        added.push_back(k.input(a.added[n], {{1, 1},
                                             {extent(s.block), 1},
                                             {extent(s.copies), apart},
                                             {extent(s.channels), apart * s.copies}}));
    }
    ImageParam spectrum = k.weight(a.spectrum, dense({s.length, 2, s.partitions, s.copies, s.channels}));
    const int table_size = static_cast<int>(lane_twiddles(extent(s.length)).size());
    ImageParam table = k.weight(a.twiddles, dense({table_size}));
    const Expr slot = k.scalar(a.slot, s.partitions - 1);
    const LaneTransform transform(s.length, vec, [&](const Expr &i) { return Expr(table(i)); });
    Var e("e"), n("n"), part("part"), m("m"), c("c");

    // THE ALGORITHM
    // 1. The transform of this block.
    std::vector<Func> forward;
    LaneTransform::Read in = [=](const Expr &at) { return Complex{u(c, at), Expr()}; };
    Func staged("staged"); // a shorter block, and zeros
    if (s.block < s.length) {
        staged(n, c) = 0.0f;
        define_positions(staged, 0, s.block, vec,
                         [=](const Expr &at) { return std::vector{Expr(u(c, at))}; });
        in = [=](const Expr &at) { return Complex{staged(at, c), Expr()}; };
    }
    for (int level = 0; level < transform.levels(); level++) {
        forward.push_back(transform.forward("forward_" + std::to_string(level), in, level, {c}));
        in = read_pairs(forward.back(), {c});
    }
    Func newest("newest");
    newest(e, part, c) = select(part == 0, in(e).re, in(e).im);

    // 2. z = Σ_q X_{t−q}·K_q
    const auto spectrum_at = [=](const Expr &bin, const Expr &q) {
        return Complex{spectrum(bin, 0, q, m, c), spectrum(bin, 1, q, m, c)};
    };
    LaneProduct product{.bins = s.length, .partitions = s.partitions - 1};
    product.first = [=](const Expr &bin) {
        return Complex{newest(bin, 0, c), newest(bin, 1, c)} * spectrum_at(bin, 0);
    };
    product.x = [=](const Expr &bin, const Expr &q) {
        const Expr at = wrapped(slot - 1 - q, s.partitions);
        return Complex{past(bin, 0, at, c), past(bin, 1, at, c)};
    };
    product.k = [=](const Expr &bin, const Expr &q) { return spectrum_at(bin, q + 1); };
    const Func z = product.define("z", vec, {m, c});

    // 3. Back; the imaginary part waits for the next block.
    std::vector<Func> inverse = {z};
    for (int level = transform.levels() - 1; level >= 0; level--)
        inverse.push_back(transform.inverse("inverse_" + std::to_string(level),
                                            read_pairs(inverse.back(), {m, c}), level, {m, c}));
    Func last = inverse.back();
    const Func y = rows_of(
        k, a.y, s,
        [=](const Expr &at, const Expr &copy, const Expr &channel) {
            Expr value = last(at, copy, channel)[0] + tail(at, copy, channel);
            for (const ImageParam &rows : added) value = value + rows(0, at, copy, channel);
            return value;
        },
        vec);
    Func tail_out("tail_out");
    if (s.block == s.length) {
        tail_out(n, m, c) = last(n, m, c)[1];
        tail_out.vectorize(n, vec);
    } else { // it begins in the real part
        const int behind = std::min(s.length - s.block, s.block);
        tail_out(n, m, c) = undef<float>();
        define_positions(tail_out, 0, behind, vec,
                         [=](const Expr &at) { return std::vector{Expr(last(at + s.block, m, c)[0])}; });
        define_positions(tail_out, behind, s.block - behind, vec, [=](const Expr &at) {
            return std::vector{Expr(last(at + s.block - s.length, m, c)[1])};
        });
    }

    // THE SCHEDULE
    newest.bound(e, 0, s.length).bound(part, 0, 2).bound(c, 0, s.channels).reorder(e, part, c);
    newest.vectorize(e, vec).unroll(part);
    if (s.block < s.length) {
        staged.compute_at(newest, c).bound_extent(n, s.length).vectorize(n, vec);
        store(staged, int64_t{4} * s.length);
    }
    for (Func f : forward) {
        f.compute_at(newest, c).bound_extent(f.args()[0], s.length);
        store(f, int64_t{8} * s.length);
    }
    last.compute_root().bound_extent(m, s.copies).bound_extent(c, s.channels);
    for (Func f : inverse) {
        if (f.name() != last.name()) f.compute_at(last, m);
        f.bound_extent(f.args()[0], s.length);
        store(f, int64_t{8} * s.length * (f.name() == last.name() ? s.copies * s.channels : 1));
    }
    tail_out.bound(n, 0, s.block).bound(m, 0, s.copies).bound(c, 0, s.channels);
    k.output(newest, a.newest,
             {{extent(s.length), 1}, {2, s.length}, {extent(s.channels), 2 * s.length * s.partitions}});
    k.output(tail_out, a.tail_out, by_channel);
}

static const Kernel<contract::LongConvLanes> long_conv_lanes{build_long_conv_lanes};

// long_conv_lanes_forward, long_conv_lanes_product, long_conv_lanes_inverse: parts of one large
// partition's work for one channel, short enough to take turns over the blocks of a stream. Between
// them the values wait as two rows, real and imaginary parts.

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
