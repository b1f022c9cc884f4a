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

Expr part_of(const Complex &x, const Expr &part) { return select(part == 0, x.re, x.im); }

// One slot of a ring of spectra, and how it is written: f(lane, part, group, …).
Shape ring_slot(int length, int partitions) {
    return {{lane_group, 1}, {2, lane_group}, {extent(length / lane_group), 2 * lane_group * partitions}};
}
void vectorize_groups(Func f, int vec) {
    const std::vector<Var> at = f.args();
    f.bound(at[0], 0, lane_group).bound(at[1], 0, 2);
    f.vectorize(at[0], dividing_vector(lane_group, vec)).unroll(at[0]).unroll(at[1]);
}

} // namespace

static void build_long_conv_lanes(KernelBuilder &k, const contract::LongConvLanes &params) {
    const LaneShapes s(k, params);
    const auto a = contract::names_of<contract::LongConvLanes>();
    const Shape by_channel = dense({s.block, s.copies, s.channels});
    const int vec = dividing_vector(s.length, k.target.vector_lanes);

    ImageParam u = k.input(a.u, {{extent(s.channels), 1}, {extent(s.block), s.row}});
    const int groups = s.length / lane_group;
    ImageParam past = k.input(a.past, dense({lane_group, 2, s.partitions, groups, s.channels}));
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
    ImageParam spectrum =
        k.weight(a.spectrum, dense({lane_group, 2, s.partitions, groups, s.copies, s.channels}));
    const int table_size = static_cast<int>(lane_twiddles(extent(s.length)).size());
    ImageParam table = k.weight(a.twiddles, dense({table_size}));
    const Expr slot = k.scalar(a.slot, s.partitions - 1);
    const LaneTransform transform(s.length, vec, [&](const Expr &i) { return Expr(table(i)); });
    Var l("l"), g("g"), n("n"), part("part"), m("m"), c("c");

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
    newest(l, part, g, c) = part_of(in(lane_group * g + l), part);

    // 2. z = Σ_q X_{t−q}·K_q
    LaneProduct product{.bins = s.length, .partitions = s.partitions - 1};
    const auto kernel = [=](const Expr &l, const Expr &g, const Expr &q) {
        return Complex{spectrum(l, 0, q, g, m, c), spectrum(l, 1, q, g, m, c)};
    };
    product.first = [=](const Expr &l, const Expr &g) {
        return Complex{newest(l, 0, g, c), newest(l, 1, g, c)} * kernel(l, g, 0);
    };
    product.x = [=](const Expr &l, const Expr &g, const Expr &q) {
        const Expr at = wrapped(slot - 1 - q, s.partitions);
        return Complex{past(l, 0, at, g, c), past(l, 1, at, g, c)};
    };
    product.k = [=](const Expr &l, const Expr &g, const Expr &q) { return kernel(l, g, q + 1); };
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
    newest.bound(g, 0, groups).bound(c, 0, s.channels);
    vectorize_groups(newest, vec);
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
    Shape slots = ring_slot(s.length, s.partitions);
    slots.push_back({extent(s.channels), 2 * s.length * s.partitions});
    k.output(newest, a.newest, slots);
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
    int length, first, last;
    int rows;  // of the block; zeros follow up to `length`
    int slice; // butterflies of one level; 0: all of all levels
    // K: contract::LongConvLanesForward or contract::LongConvLanesInverse.
    template <class K> LanePart(const KernelBuilder &k, const K &p)
        : length(p.length), first(p.first), last(p.last), rows(p.rows.or_else(length)),
          slice(p.slice.or_else(0)) {
        k.params.require(length % 16 == 0 && !right_angle_radices(extent(length)).empty(),
                         "'length' must be a multiple of 16 and a product of 2, 3 and 5");
        const int levels = static_cast<int>(right_angle_radices(extent(length)).size());
        k.params.require(first < last && last <= levels, "'first' … 'last' must be levels of the transform");
        k.params.require(rows <= length, "'rows' must be within 'length'");
        k.params.require(slice == 0 || (last == first + 1 && rows == length &&
                                        is_lane_slice(level(), extent(length), extent(slice))),
                         "'slice' must be a part of one level, and 'rows' absent");
    }
    LaneLevel level() const { return lane_levels(extent(length))[static_cast<size_t>(first)]; }
    int radix() const { return level().radix; }
    int vec(const KernelBuilder &k) const { return dividing_vector(length, k.target.vector_lanes); }
    LaneTransform transform(KernelBuilder &k, const contract::Names::Weight &twiddles) const {
        const size_t size = slice > 0 && first > 0 ? twiddles_of_slice(level(), extent(slice))
                                                   : lane_twiddles(extent(length)).size();
        ImageParam table = k.weight(twiddles, dense({static_cast<int>(size)}));
        return {length, vec(k), [=](const Expr &i) { return Expr(table(i)); }};
    }
    // The inputs of the butterflies of a slice, `apart` floats from one to the next.
    Shape inputs(int apart = 1) const {
        return {{extent(slice), apart}, {extent(radix()), length / radix() * apart}};
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

namespace {

// Writes `values` of bins, a Func of the levels, into a slot of the ring.
void write_newest(KernelBuilder &k, const contract::LongConvLanesForward &p, std::vector<Func> levels,
                  int bins, int vec) {
    k.params.require(p.partitions.given(), "'partitions' is required with the last level");
    Func newest("newest");
    Var l("l"), part("part"), g("g");
    newest(l, part, g) = part_of(read_pairs(levels.back(), {})(lane_group * g + l), part);
    newest.bound(g, 0, bins / lane_group);
    vectorize_groups(newest, vec);
    levels.push_back(newest);
    keep(levels, bins);
    k.output(newest, contract::names_of<contract::LongConvLanesForward>().newest,
             ring_slot(bins, p.partitions.or_else(1)));
}

// A slice of one level.
void build_forward_slice(KernelBuilder &k, const contract::LongConvLanesForward &p, const LanePart &part) {
    const auto a = contract::names_of<contract::LongConvLanesForward>();
    LaneTransform::ReadInput in;
    if (part.first == 0) {
        Shape shape = part.inputs(p.stride);
        shape.insert(shape.begin(), {1, 1}); // rows of one element
        ImageParam u = k.input(a.u, shape);
        in = [=](const Expr &c, int m) { return Complex{u(0, c, m), Expr()}; };
    } else {
        ImageParam re = k.input(a.re, part.inputs()), im = k.input(a.im, part.inputs());
        in = [=](const Expr &c, int m) { return Complex{re(c, m), im(c, m)}; };
    }
    const LaneTransform transform = part.transform(k, a.twiddles);
    const Func f = transform.forward_slice("forward", in, part.first, part.slice);
    const int bins = part.radix() * part.slice;
    if (part.last == transform.levels()) return write_newest(k, p, {f}, bins, part.vec(k));
    k.outputs(f, {k.result(a.re_out, dense({bins})), k.result(a.im_out, dense({bins}))});
}

} // namespace

static void build_long_conv_lanes_forward(KernelBuilder &k, const contract::LongConvLanesForward &p) {
    const LanePart part(k, p);
    const int stride = p.stride; // of the samples
    const auto a = contract::names_of<contract::LongConvLanesForward>();
    k.no_epilogue();
    if (part.slice > 0) return build_forward_slice(k, p, part);
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
    if (part.last == transform.levels()) return write_newest(k, p, levels, part.length, part.vec(k));
    keep(levels, part.length);
    k.outputs(levels.back(),
              {k.result(a.re_out, dense({part.length})), k.result(a.im_out, dense({part.length}))});
}

namespace {

// Some bins of all partitions' spectra.
struct LaneSlice {
    int bins, partitions;
    LaneProduct product;
    template <class K> LaneSlice(KernelBuilder &k, const K &p) : bins(p.bins), partitions(p.partitions) {
        const auto a = contract::names_of<K>();
        k.params.require(bins % lane_group == 0, "'bins' must be a multiple of 16");
        k.no_epilogue();
        const Shape shape = dense({lane_group, 2, partitions, bins / lane_group});
        ImageParam past = k.input(a.past, shape), spectrum = k.weight(a.spectrum, shape);
        const Expr slot = k.scalar(a.slot, partitions - 1);
        product.bins = bins, product.partitions = partitions;
        product.x = [=, count = partitions](const Expr &l, const Expr &g, const Expr &q) {
            const Expr at = wrapped(slot - q, count);
            return Complex{past(l, 0, at, g), past(l, 1, at, g)};
        };
        product.k = [=](const Expr &l, const Expr &g, const Expr &q) {
            return Complex{spectrum(l, 0, q, g), spectrum(l, 1, q, g)};
        };
    }
    // The outputs of a kernel, and those behind them.
    std::vector<KernelBuilder::Output> results(KernelBuilder &k, const auto &a) const {
        return {k.result(a.re_out, dense({bins})), k.result(a.im_out, dense({bins}))};
    }
};

} // namespace

// Some bins of z = Σ_q X_{t−q}·K_q.
static void build_long_conv_lanes_product(KernelBuilder &k, const contract::LongConvLanesProduct &p) {
    const LaneSlice s(k, p);
    k.outputs(s.product.define("z", k.target.vector_lanes, {}),
              s.results(k, contract::names_of<contract::LongConvLanesProduct>()));
}

// And of the next blocks', without the terms of spectra that are not there yet.
static void build_long_conv_lanes_product_ahead(KernelBuilder &k,
                                                const contract::LongConvLanesProductAhead &p) {
    const LaneSlice s(k, p);
    const auto a = contract::names_of<contract::LongConvLanesProductAhead>();
    const int blocks = p.blocks;
    k.params.require(s.partitions > blocks, "'partitions' must be more than 'blocks'");
    std::vector<KernelBuilder::Output> outputs = s.results(k, a);
    for (size_t i = 0; i < 2 * static_cast<size_t>(blocks - 1); i++)
        outputs.push_back(k.result(a.next[i], dense({s.bins})));
    k.outputs(s.product.define_ahead("z", k.target.vector_lanes, blocks), outputs);
}

// Those terms, of the `terms` newest spectra, added to what was computed ahead.
static void build_long_conv_lanes_product_rest(KernelBuilder &k,
                                               const contract::LongConvLanesProductRest &p) {
    LaneSlice s(k, p);
    const auto a = contract::names_of<contract::LongConvLanesProductRest>();
    k.params.require(s.partitions >= p.terms, "'partitions' must be at least 'terms'");
    const LaneTransform::Read before = waiting(k, a, s.bins);
    s.product.first = [=](const Expr &l, const Expr &g) { return before(lane_group * g + l); };
    s.product.partitions = p.terms;
    k.outputs(s.product.define("z", k.target.vector_lanes, {}), s.results(k, a));
}

namespace {

// A slice of one level.
void build_inverse_slice(KernelBuilder &k, const LanePart &part) {
    const auto a = contract::names_of<contract::LongConvLanesInverse>();
    const LaneTransform::Read in = waiting(k, a, part.radix() * part.slice);
    if (part.first > 0) {
        const Func f = part.transform(k, a.twiddles).inverse_slice("inverse", in, part.first, part.slice);
        return k.outputs(f, {k.result(a.re_out, part.inputs()), k.result(a.im_out, part.inputs())});
    }
    Shape shape = part.inputs();
    shape.insert(shape.begin(),
                 {1, 1}); // rows of one element: those of a block of any length may begin anywhere
    ImageParam tail = k.input(a.tail, shape);
    Func f = part.transform(k, a.twiddles).inverse_slice("inverse", in, 0, part.slice), y("y");
    Var one("one"), v("v"), m("m"), outer("outer"), inner("inner");
    y(one, v, m) = Tuple(f(v, m)[0] + tail(one, v, m), f(v, m)[1]);
    const int vec = dividing_vector(part.slice, k.target.vector_lanes);
    y.bound(one, 0, 1).bound(v, 0, part.slice).bound(m, 0, part.radix());
    y.split(v, outer, inner, vec).reorder(one, inner, m, outer).vectorize(inner).unroll(m);
    f.compute_root();
    store(f, int64_t{8} * part.radix() * part.slice);
    k.outputs(y, {k.result(a.y, shape), k.result(a.tail_out, shape)});
}

} // namespace

static void build_long_conv_lanes_inverse(KernelBuilder &k, const contract::LongConvLanesInverse &p) {
    const LanePart part(k, p);
    const auto a = contract::names_of<contract::LongConvLanesInverse>();
    k.no_epilogue();
    if (part.slice > 0) return build_inverse_slice(k, part);
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
static const Kernel<contract::LongConvLanesProductAhead> long_conv_lanes_product_ahead{
    build_long_conv_lanes_product_ahead};
static const Kernel<contract::LongConvLanesProductRest> long_conv_lanes_product_rest{
    build_long_conv_lanes_product_rest};
static const Kernel<contract::LongConvLanesInverse> long_conv_lanes_inverse{build_long_conv_lanes_inverse};

} // namespace longwave::schedules
