// long_conv_partitioned: one block of a long causal convolution: transform of the block,
// multiply-accumulate with the spectra of all partitions of the kernel over a ring of past spectra,
// transform back. The right-angle form needs no zero padding: y = Re z + Im of the previous z. Where
// the transform is longer than the block, the last of Re z belong to the tail as well.
#include "schedules/contract/kernels/long_conv_blocks.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/builder.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/transform.h"
#include "schedules/transforms/butterfly.h"

namespace longwave::schedules {
namespace {

// The sum of products of spectra that partitioned convolutions of streams spend their time in.

struct SpectraProduct {
    Halide::ImageParam past, spectrum; // [T, 2, partitions, positions], [T, 2, partitions, positions, copies]
    Halide::Expr slot;                 // of the newest spectrum in the ring `past`
    int tile, positions, partitions, vec;
};

using namespace Halide;

// z(lane, part, position, copy) = Σ_q X_{t−q}·K_q: for each position the partitions lie in a row,
// so that memory is read as a stream. All lanes of the tile at once, so that every cache line is
// read once. `newest`: X_t, where it is not in the ring yet.
Func product_of_spectra(const SpectraProduct &s, const Func &newest = {}) {
    Var v("v"), part("part"), p("p"), m("m"), po("po"), pi("pi");
    Func sum("sum"), z("z");
    const int share =
        divisor_at_most(s.positions, std::max(1, 4 * s.vec / s.tile)); // whose sums are under way together
    const auto kernel = [&](const Expr &q) {
        return Complex{s.spectrum(v, 0, q, p, m), s.spectrum(v, 1, q, p, m)};
    };
    const int begin = newest.defined() ? 1 : 0;
    if (newest.defined()) {
        const Complex x = {newest(v, 0, p), newest(v, 1, p)}, h = kernel(0);
        sum(v, p, m) = Tuple(x.re * h.re - x.im * h.im, x.re * h.im + x.im * h.re);
    } else {
        sum(v, p, m) = Tuple(0.0f, 0.0f);
    }
    if (s.partitions > begin) {
        RDom q(begin, s.partitions - begin, "q");
        const Expr at = wrapped(s.slot - q, s.partitions);
        const Complex x = {s.past(v, 0, at, p), s.past(v, 1, at, p)}, h = kernel(q);
        sum(v, p, m) =
            Tuple(sum(v, p, m)[0] + x.re * h.re - x.im * h.im, sum(v, p, m)[1] + x.re * h.im + x.im * h.re);
        sum.update().reorder(v, p, q, m).vectorize(v, s.vec).unroll(v).unroll(p);
    }
    z(v, part, p, m) = select(part == 0, sum(v, p, m)[0], sum(v, p, m)[1]);
    z.bound(part, 0, 2).split(p, po, pi, share).reorder(v, part, pi, po, m);
    z.vectorize(v, s.vec).unroll(v).unroll(part).unroll(pi);
    sum.compute_at(z, po).bound_extent(v, s.tile).bound_extent(p, share);
    sum.vectorize(v, s.vec).unroll(v).unroll(p);
    return z;
}

// The same for this block and, as far as the spectra are there, for the next ones: element g of the
// tuple is Σ_{q≥g} X_{t+g−q}·K_q, g < blocks. What they need together is read once.
Func product_of_spectra_ahead(const SpectraProduct &s, int blocks) {
    Var v("v"), part("part"), p("p"), m("m"), po("po"), pi("pi"), vo("vo"), vi("vi");
    Func sum("sum"), z("z");
    const auto product = [&](const RVar &q, int g) {
        const Expr at = wrapped(s.slot - q, s.partitions);
        return Complex{s.past(v, 0, at, p), s.past(v, 1, at, p)} *
               Complex{s.spectrum(v, 0, q + g, p, m), s.spectrum(v, 1, q + g, p, m)};
    };
    // As many registers of sums as a target has to spare; their positions are under way together.
    const int share = divisor_at_most(s.positions, std::max(1, s.vec / (2 * blocks)));
    const auto schedule = [&](Stage stage) { stage.vectorize(v, s.vec).unroll(p); };
    sum(v, p, m) = Tuple(std::vector<Expr>(2 * static_cast<size_t>(blocks), 0.0f));
    schedule(sum);
    // First the partitions whose products all blocks want, then the others, each wanted by one
    // block less.
    for (int wanted = blocks, begin = 0; wanted > 0; wanted--) {
        const int end = s.partitions - wanted + 1;
        RDom q(begin, end - begin, "q");
        std::vector<Expr> next;
        next.reserve(2 * static_cast<size_t>(blocks));
        for (int g = 0; g < blocks; g++) {
            const Complex term = g < wanted ? product(q, g) : Complex{0.0f, 0.0f};
            next.push_back(sum(v, p, m)[2 * g] + term.re);
            next.push_back(sum(v, p, m)[2 * g + 1] + term.im);
        }
        sum(v, p, m) = Tuple(next);
        schedule(sum.update(blocks - wanted).reorder(v, p, q, m));
        begin = end;
    }
    std::vector<Expr> parts;
    parts.reserve(static_cast<size_t>(blocks));
    for (int g = 0; g < blocks; g++)
        parts.push_back(select(part == 0, sum(v, p, m)[2 * g], sum(v, p, m)[2 * g + 1]));
    z(v, part, p, m) = Tuple(parts);
    z.bound(part, 0, 2).split(p, po, pi, share).split(v, vo, vi, s.vec).reorder(vi, part, pi, vo, po, m);
    z.vectorize(vi).unroll(part).unroll(pi);
    sum.compute_at(z, vo).bound_extent(v, s.vec).bound_extent(p, share);
    return z;
}

} // namespace

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

// long_conv_forward, long_conv_product, long_conv_inverse: parts of one large partition's work for
// a tile of channels, short enough to take turns over the blocks of a stream. In one piece it is
// long_conv_partitioned. Products may also be computed for several blocks ahead, a slice of
// positions at a time: long_conv_product_ahead, then long_conv_product_rest in each of these
// blocks.

using namespace Halide;

namespace {

struct Tile {
    int length, channels, copies, row, tile;
    template <class K> Tile(const KernelBuilder &k, const K &p)
        : length(p.length), channels(p.channels), copies(p.copies),
          row(static_cast<int>(pad(extent(channels)))), tile(std::min(row, 16)) {
        k.params.require(!right_angle_radices(extent(length)).empty(),
                         "'length' must be a product of 2, 3 and 5");
        k.no_epilogue();
    }
};

// Levels first … last − 1 of the transform.
struct Part : Tile {
    int first, last, rows; // of the block; zeros follow up to `length`
    ImageParam table;
    RightAngle transform;
    TransformPasses passes;
    TransformStructure structure;
    template <class K> Part(KernelBuilder &k, const K &p)
        : Tile(k, p), first(p.first), last(p.last), rows(p.rows.or_else(length)),
          table(k.weight(contract::names_of<K>().twiddles, dense({2 * (length - 1)}))),
          transform(length, Float(32), [t = table](const Expr &i) { return Expr(t(i)); }), passes(transform),
          structure(transform_structure(k, length, tile)) {
        k.params.require(first < last && last <= passes.levels(),
                         "'first' … 'last' must be levels of the transform");
        k.params.require(rows <= length, "'rows' must be within 'length'");
    }
    Part(const Part &) = delete;
    // Levels of the pass that begins with the first one.
    int leading() const { return first == 0 ? passes.leading_levels(structure.outer, last) : 1; }
};

} // namespace

static void build_long_conv_forward(KernelBuilder &k, const contract::LongConvForward &params) {
    const Part t(k, params);
    const int partitions = params.partitions; // of the ring that is written
    const auto names = contract::names_of<contract::LongConvForward>();
    const int vec = t.structure.vec;
    Var v("v"), part("part"), p("p"), vo("vo");
    Reader in;
    if (t.first == 0) {
        ImageParam u = k.input(names.u, {{extent(t.tile), 1}, {extent(t.rows), t.row}});
        in = [=](const Expr &position) { return Complex{u(v, position), Expr()}; };
    } else {
        ImageParam x = k.input(names.x, dense({t.tile, 2, t.length}));
        in = [=](const Expr &position) { return Complex{x(v, 0, position), x(v, 1, position)}; };
    }
    Func out = transform_buffer("out", {v, part, p}), a = transform_buffer("a", {v, part, p});
    const Writer to_a = write_buffer(a, vec);
    const Writer to_out = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                              const std::vector<RVar> &loops) mutable {
        define_points(out, at, x);
        schedule_output(out, vec, loops, {}, vo);
    };
    const int next = t.first + t.leading();
    t.passes.forward(in, next == t.last ? to_out : to_a, t.first, t.leading(), t.rows);
    for (int level = next; level < t.last; level++)
        t.passes.forward(read_buffer(a), level == t.last - 1 ? to_out : to_a, level, 1, t.length);
    if (next < t.last) keep_buffer(a, vec, t.length, out, vo);
    k.output(out, names.out, {{extent(t.tile), 1}, {2, t.tile}, {extent(t.length), 2 * t.tile * partitions}});
}

namespace {

// A slice of positions of all partitions' spectra.
struct Slice : Tile {
    int positions, partitions, vec;
    template <class K> Slice(const KernelBuilder &k, const K &p)
        : Tile(k, p), positions(p.positions), partitions(p.partitions),
          vec(std::min(tile, k.target.vector_lanes)) {
        k.params.require(positions <= length, "'positions' must be within 'length'");
    }
    SpectraProduct product(KernelBuilder &k, const auto &names) const {
        const int partition_stride = 2 * tile, position_stride = partition_stride * partitions;
        Shape shape = {{extent(tile), 1},
                       {2, tile},
                       {extent(partitions), partition_stride},
                       {extent(positions), position_stride}};
        ImageParam past = k.input(names.past, shape);
        shape.push_back({extent(copies), position_stride * length});
        ImageParam spectrum = k.weight(names.spectrum, shape);
        return {past, spectrum, k.scalar(names.slot, partitions - 1), tile, positions, partitions, vec};
    }
    Shape rows() const { // of products
        return {
            {extent(tile), 1}, {2, tile}, {extent(positions), 2 * tile}, {extent(copies), 2 * tile * length}};
    }
    // Lane, part, position, copy.
    void bound(Func z) const {
        const std::vector<Var> at = z.args();
        z.bound(at[0], 0, tile).bound(at[2], 0, positions).bound(at[3], 0, copies);
    }
};

} // namespace

// Some positions of z = Σ_q X_{t−q}·K_q.
static void build_long_conv_product(KernelBuilder &k, const contract::LongConvProduct &params) {
    const Slice s(k, params);
    const auto names = contract::names_of<contract::LongConvProduct>();
    Func z = product_of_spectra(s.product(k, names));
    s.bound(z);
    k.output(z, names.z, s.rows());
}

// And of the next blocks', without the terms of spectra that are not there yet: next[g − 1] of the
// g-th.
static void build_long_conv_product_ahead(KernelBuilder &k, const contract::LongConvProductAhead &params) {
    const Slice s(k, params);
    const int blocks = params.blocks;
    const auto names = contract::names_of<contract::LongConvProductAhead>();
    k.params.require(s.partitions > blocks, "'partitions' must be more than 'blocks'");
    Func z = product_of_spectra_ahead(s.product(k, names), blocks);
    s.bound(z);
    std::vector<KernelBuilder::Output> outputs = {k.result(names.z, s.rows())};
    for (size_t g = 1; g < static_cast<size_t>(blocks); g++)
        outputs.push_back(k.result(names.next[g - 1], s.rows()));
    k.outputs(z, outputs);
}

// Those terms, of the `terms` newest spectra, added to what was computed ahead.
static void build_long_conv_product_rest(KernelBuilder &k, const contract::LongConvProductRest &params) {
    const Slice s(k, params);
    const int terms = params.terms;
    const auto names = contract::names_of<contract::LongConvProductRest>();
    k.params.require(s.partitions >= terms, "'partitions' must be at least 'terms'");
    ImageParam before = k.input(names.before, s.rows());
    const SpectraProduct product = s.product(k, names);
    Var v("v"), part("part"), p("p"), m("m");
    Expr re = before(v, 0, p, m), im = before(v, 1, p, m);
    for (int q = 0; q < terms; q++) {
        const Expr at = wrapped(product.slot - q, s.partitions);
        const Complex term = Complex{product.past(v, 0, at, p), product.past(v, 1, at, p)} *
                             Complex{product.spectrum(v, 0, q, p, m), product.spectrum(v, 1, q, p, m)};
        re += term.re, im += term.im;
    }
    Func z("z");
    z(v, part, p, m) = select(part == 0, re, im);
    z.bound(part, 0, 2).reorder(v, part, p, m).vectorize(v, s.vec).unroll(v).unroll(part);
    s.bound(z);
    k.output(z, names.z, s.rows());
}

static void build_long_conv_inverse(KernelBuilder &k, const contract::LongConvInverse &params) {
    const Part t(k, params);
    const auto names = contract::names_of<contract::LongConvInverse>();
    const int vec = t.structure.vec;
    const Shape waiting = dense({t.tile, 2, t.length, t.copies}),
                tail_shape = dense({t.tile, t.copies, t.rows});
    Var v("v"), part("part"), p("p"), m("m"), n("n"), vo("vo");
    ImageParam z = k.input(names.z, waiting), tail;
    if (t.first == 0) tail = k.input(names.tail, tail_shape);
    Reader from = [=](const Expr &position) { return Complex{z(v, 0, position, m), z(v, 1, position, m)}; };
    Func out = transform_buffer("out", {v, part, p, m}), b = transform_buffer("b", {v, part, p, m}), y("y");
    const bool shorter = t.first == 0 && t.rows < t.length;
    if (!shorter) y(v, m, n) = Tuple(undef<float>(), undef<float>());
    const Writer to_b = write_buffer(b, vec);
    const Writer to_out = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                              const std::vector<RVar> &loops) mutable {
        define_points(out, at, x);
        schedule_output(out, vec, loops, {m}, vo);
    };
    const Writer to_y = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                            const std::vector<RVar> &loops) mutable {
        y(v, m, scatter(at)) =
            Tuple(gather(real_parts(x)) + tail(v, m, gather(at)), gather(imaginary_parts(x)));
        schedule_output(y, vec, loops, {m}, vo);
    };
    const int rest = t.first + t.leading(); // the last pass goes from there to the first level
    for (int level = t.last - 1; level >= rest; level--) {
        t.passes.inverse(from, to_b, level, 1, t.length);
        from = read_buffer(b, {m});
    }
    if (shorter) {
        Func c = transform_buffer("c", {v, part, p, m});
        t.passes.inverse(from, write_buffer(c, vec), 0, t.leading(), t.length);
        define_shorter_rows(y, {t.rows, t.length, vec}, c, vo,
                            [=](const Expr &value, const std::vector<Expr> &at) { return value + tail(at); });
        keep_buffer(c, vec, t.length, y, vo);
    } else {
        t.passes.inverse(from, t.first == 0 ? to_y : to_out, t.first, t.leading(), t.length);
    }
    const Func last = t.first == 0 ? y : out;
    if (t.last > rest) keep_buffer(b, vec, t.length, last, vo);
    if (t.first > 0) return k.output(out, names.out, waiting);
    k.outputs(y,
              {k.result(names.y,
                        {{extent(t.tile), 1}, {extent(t.copies), t.row}, {extent(t.rows), t.copies * t.row}}),
               k.result(names.tail_out, tail_shape)});
}

static const Kernel<contract::LongConvForward> long_conv_forward{build_long_conv_forward};
static const Kernel<contract::LongConvProduct> long_conv_product{build_long_conv_product};
static const Kernel<contract::LongConvProductAhead> long_conv_product_ahead{build_long_conv_product_ahead};
static const Kernel<contract::LongConvProductRest> long_conv_product_rest{build_long_conv_product_rest};
static const Kernel<contract::LongConvInverse> long_conv_inverse{build_long_conv_inverse};

} // namespace longwave::schedules
