// long_conv_forward, long_conv_product, long_conv_inverse: parts of one large partition's work for
// a tile of channels, short enough to take turns over the blocks of a stream. In one piece it is
// long_conv_partitioned. Products may also be computed for several blocks ahead, a slice of
// positions at a time: long_conv_product_ahead, then long_conv_product_rest in each of these
// blocks.
#include "schedules/contract/kernels/long_conv_blocks.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/spectra_product.h"
#include "schedules/long_conv/transform.h"

namespace longwave::schedules {

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
