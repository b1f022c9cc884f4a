// spectrum: the right-angle transform of kernel partitions, in float64, once per model; in the
// block order that the convolutions read. With `lanes` bins lie beside each other in groups of 16,
// channel by channel, for few channels.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"
#include "schedules/transforms/lane_transform.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// The partitions of a kernel, which are transformed one by one.
struct Partitions {
    int length, count, rows, taps, copies, channels; // rows: taps of a partition, zeros behind them
    bool two_sided;
    bool unpadded; // `dense`
    bool by_bins;  // `lanes`: [channel][copy][group of bins][partition][part][bin], else
                   // [copy][bin][partition][part][lane]

    Partitions(KernelBuilder &k, const contract::Spectrum &p)
        : length(p.length), count(p.partitions), rows(p.rows.or_else(length)), taps(p.taps), copies(p.copies),
          channels(p.channels), two_sided(p.two_sided), unpadded(p.dense), by_bins(p.lanes) {
        k.params.require(!unpadded || by_bins, "'dense' is for 'lanes'");
        k.params.require(!by_bins || (channels < 16 && length % lane_group == 0),
                         "'lanes' is for less than 16 channels and a 'length' of whole groups of 16 bins");
        k.params.require(!right_angle_radices(extent(length)).empty(),
                         "'length' must be a product of 2, 3 and 5");
        k.params.require(rows <= length, "'rows' must be within 'length'");
        k.params.require(int64_t{count} * rows >= taps, "'partitions' of 'rows' must hold all taps");
        k.params.require(!two_sided || count == 1, "a two-sided kernel has one partition");
    }
    int row() const { return unpadded ? channels : static_cast<int>(pad(extent(channels))); }
    int tile() const { return by_bins ? channels : std::min(row(), 16); }
    int kernels() const { return two_sided ? 2 * copies : copies; }          // rows of k
    int points() const { return two_sided ? length : std::min(taps, rows); } // that are not zero
    Shape shape() const {
        return by_bins ? dense({lane_group, 2, count, length / lane_group, copies, channels})
                       : dense({tile(), 2, count, length, copies});
    }
};

// What both forms work with. Loops: lane, part, partition, bin, copy.
struct SpectrumLoops {
    Var v{"v"}, part{"part"}, q{"q"}, n{"n"}, m{"m"};
};

// THE ALGORITHM and its schedule of long partitions are those of the depth-first form.
void define_depth_first(const Partitions &p, const RightAngle &transform, const TransformStructure &structure,
                        const Reader &input, const Expr &factor, const SpectrumLoops &loops, Func y) {
    const Var v = loops.v, part = loops.part, q = loops.q, n = loops.n, m = loops.m, vo("vo"), vi("vi");
    y(v, part, q, n, m) = undef<float>();
    const Writer output = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                              const std::vector<RVar> &passes) mutable {
        std::vector<Expr> parts, positions, values;
        for (size_t i = 0; i < at.size(); i++) {
            parts.insert(parts.end(), {Expr(0), Expr(1)});
            positions.insert(positions.end(), {at[i], at[i]});
            values.insert(values.end(), {cast<float>(factor * x[i].re), cast<float>(factor * x[i].im)});
        }
        y(v, scatter(parts), q, scatter(positions), m) = gather(values);
        std::vector<VarOrRVar> order = {vi};
        order.insert(order.end(), passes.begin(), passes.end());
        order.insert(order.end(), {q, m, vo});
        y.update().split(v, vo, vi, structure.vec).reorder(order).vectorize(vi);
    };
    y.bound(q, 0, 1);
    DepthFirst{transform, structure, p.points(), input, {}, output, y, vo, m, p.copies > 1, Float(64)}
        .define_spectrum();
}

// In place, one level of the transform a pass; every partition and copy by itself.
void define_in_place(const KernelBuilder &k, const Partitions &p, const RightAngle &transform,
                     const Reader &point, const Expr &factor, const SpectrumLoops &loops, Func y) {
    // THE ALGORITHM
    const Var v = loops.v, part = loops.part, q = loops.q, n = loops.n, m = loops.m;
    Func buffer("buffer");
    Complex first = point(q * p.rows + n);
    if (p.rows < p.length && !p.two_sided) first.re = select(n < p.rows, first.re, cast<double>(0));
    buffer(v, n, q, m) = Tuple(first.re, first.im);
    int size = p.length;
    for (size_t level = 0; level < transform.radices().size(); level++) {
        const int radix = transform.radices()[level], step = size / radix;
        RDom d(0, step, 0, p.length / size, "d" + std::to_string(level));
        std::vector<Expr> at(radix);
        std::vector<Complex> x(radix);
        for (int i = 0; i < radix; i++) {
            at[i] = d.y * size + d.x + i * step;
            const FuncRef value = buffer(v, at[i], q, m);
            x[i] = {value[0], value[1]};
        }
        transform.forward(x, static_cast<int>(level), Expr(d.y));
        buffer(v, scatter(at), q, m) =
            Tuple(gather(real_parts(x, Float(64))), gather(imaginary_parts(x, Float(64))));
        buffer.update(static_cast<int>(level)).reorder(v, d.x, d.y, q, m);
        size = step;
    }
    const auto value = [&](const Expr &at) {
        return cast<float>(factor * select(part == 0, buffer(v, at, q, m)[0], buffer(v, at, q, m)[1]));
    };

    // THE SCHEDULE
    const int vec = p.by_bins ? 1 : std::min(p.tile(), std::max(1, k.target.vector_lanes / 2));
    if (p.by_bins) {
        const Var l("l");
        y(l, part, q, n, m, v) = value(lane_group * n + l);
        y.reorder(v, part, l, n, q, m).bound(l, 0, lane_group);
    } else {
        y(v, part, q, n, m) = value(n);
        y.reorder(v, part, n, q, m);
    }
    y.bound(part, 0, 2).bound(v, 0, p.tile()).unroll(part).vectorize(v, vec);
    buffer.compute_at(y, q).bound_extent(v, p.tile()).bound_extent(n, p.length).vectorize(v, vec);
    for (size_t level = 0; level < transform.radices().size(); level++)
        buffer.update(static_cast<int>(level)).vectorize(v, vec);
    buffer.store_in(MemoryType::Heap);
}

} // namespace

static void build_spectrum(KernelBuilder &k, const contract::Spectrum &params) {
    const auto a = contract::names_of<contract::Spectrum>();
    const Partitions p(k, params);
    k.no_epilogue();
    Shape of_k = {
        {extent(p.tile()), 1}, {extent(p.kernels()), p.row()}, {extent(p.taps), p.row() * p.kernels()}};
    if (p.unpadded) of_k.insert(of_k.begin(), {1, 1}); // rows of one element: a partition may begin anywhere
    ImageParam taps = k.input(a.k, of_k);
    ImageParam table = k.weight(a.twiddles, dense({2 * (p.length - 1)}), Float(64));
    const TransformStructure structure = transform_structure(k, p.length, p.tile());
    const RightAngle transform(
        p.length, Float(64), [&](const Expr &i) { return Expr(table(i)); },
        structure.fused && k.target.fused_multiply_add);
    const Expr factor = constant(1.0 / p.length);
    const SpectrumLoops loops;
    Func y("spectrum");

    // Point n of a partition: tap n, and the taps ahead from the end on as the imaginary part.
    const auto value = [&](const Expr &copy, const Expr &at) {
        return cast<double>(p.unpadded ? taps(0, loops.v, copy, at) : taps(loops.v, copy, at));
    };
    const auto tap = [&](const Expr &copy, const Expr &at) {
        return select(at < p.taps, value(copy, clamp(at, 0, p.taps - 1)), cast<double>(0));
    };
    const Reader point = [&](const Expr &at) {
        return Complex{tap(loops.m, at),
                       p.two_sided ? -tap(loops.m + p.copies, p.length - 1 - at) : cast<double>(0)};
    };
    const Reader real_point = [&](const Expr &at) { return Complex{value(loops.m, at), Expr()}; };
    if (p.count == 1 && !p.by_bins && DepthFirst::column_levels(transform, structure, p.points()) > 0)
        define_depth_first(p, transform, structure, p.two_sided ? point : real_point, factor, loops, y);
    else define_in_place(k, p, transform, point, factor, loops, y);
    k.output(y, a.spectrum, p.shape());
}

// In the order of long_conv_polyphase.
static void build_spectrum_of_phases(KernelBuilder &k, const contract::SpectrumOfPhases &params) {
    const auto a = contract::names_of<contract::SpectrumOfPhases>();
    constexpr int of_group = Polyphase::phases, values = Polyphase::values;
    const int length = params.length, taps = params.taps, copies = params.copies, channels = params.channels;
    const int stored = params.stored_copies.or_else(copies); // rows of k a side
    const bool two_sided = params.two_sided;
    k.params.require(stored >= copies, "'stored_copies' must be at least 'copies'");
    k.params.require(has_polyphase(extent(length)),
                     "'length' must be a multiple of 256 and a product of 2, 3 and 5");
    k.params.require(length >= taps, "'length' must hold all taps");
    k.no_epilogue();
    k.params.require(!params.dense || channels < 16, "'dense' is for less than 16 channels");
    const int row = params.dense ? channels : static_cast<int>(pad(extent(channels))),
              tile = std::min(channels, 16), kernels = two_sided ? 2 * stored : stored,
              rows = length / of_group;
    ImageParam taps_in =
        k.input(a.k, {{extent(tile), 1}, {extent(kernels), row}, {extent(taps), row * kernels}});
    ImageParam table = k.weight(a.twiddles, dense({polyphase_tables(extent(length)).size}), Float(64));

    // THE ALGORITHM
    const TransformStructure structure = phases_structure(k, rows);
    const auto read_table = [=](const Expr &at) { return Expr(table(at)); };
    const RightAngle transform(rows, Float(64), read_table);
    // NEON of 32-bit ARM has no float64, and LLVM fails on the stores that interleave four of them.
    const Halide::Target machine(k.target.halide);
    const bool vectors = machine.arch != Halide::Target::ARM || machine.bits != 32;
    const Polyphase inside(transform, Float(64), read_table, vectors);
    Var v("v"), p("p"), m("m"), c("c"), e("e"), g("g"), piece("piece"), part("part");
    const auto tap = [&](const Expr &kernel, const Expr &n) {
        return select(n >= 0 && n < taps, taps_in(c, kernel, clamp(n, 0, taps - 1)), 0.0f);
    };
    const Reader input = [=](const Expr &at) {
        const Expr n = at * of_group + v;
        return Complex{cast<double>(tap(m, n)),
                       two_sided ? -cast<double>(tap(m + stored, length - 1 - n)) : Expr()};
    };
    Func y("spectrum");
    const DepthFirst form{.transform = transform,
                          .structure = structure,
                          .rows = rows,
                          .input = input,
                          .spectrum = {},
                          .output = {},
                          .y = y,
                          .lanes = c,
                          .copy = m,
                          .copies = true,
                          .type = Float(64),
                          .phases = &inside};
    const Func spectrum = form.spectrum_of_phases();
    y(e, part, g, piece, m, c) = cast<float>(spectrum(e, part, g, piece, c, m) * constant(1.0 / length));

    // THE SCHEDULE
    const int pieces = transform.blocks(DepthFirst::column_levels(transform, structure, rows, true));
    const int groups = rows / 4 / pieces;
    y.bound(e, 0, values).bound(part, 0, 2).bound(g, 0, groups).bound(piece, 0, pieces);
    y.bound(m, 0, copies).bound(c, 0, tile).vectorize(e, of_group).unroll(part);
    k.outputs(y, {k.result(a.spectrum, dense({values, 2, groups, pieces, copies, tile}),
                           dense({values, 2, rows / 4, copies, tile}))});
}

static const Kernel<contract::Spectrum> spectrum{build_spectrum};
static const Kernel<contract::SpectrumOfPhases> spectrum_of_phases{build_spectrum_of_phases};

// The spectrum of a long convolution, from the order of the CPU's kernels to those of a GPU, once per
// model.
// spectrum_by_threads: to that of long_conv_registers and four_step_rows.
// spectrum_by_channel: to that of long_conv_fused whose rows lie channel by channel:
// [channel][copy][part][bin] (last_digit_first).

using namespace Halide;

static void build_spectrum_by_threads(KernelBuilder &k, const contract::SpectrumByThreads &p) {
    const auto a = contract::names_of<contract::SpectrumByThreads>();
    const int length = p.length, copies = p.copies, channels = p.channels, slots = p.slots,
              workers = p.workers, group = p.lanes;
    k.no_epilogue();
    const int row = static_cast<int>(pad(extent(channels))), tile = std::min(row, 16);
    // The copies of a single channel are the lanes.
    const int all = row == 1 ? copies : row, others = row == 1 ? 1 : copies;
    k.params.require(slots % 2 == 0, "'slots' must be even");
    k.params.require(all % group == 0, "'lanes' must divide the lanes of a row");
    const ImageParam by_position = k.input(a.spectrum, dense({tile, 2, length, copies, row / tile}));
    const ImageParam order = k.weight(a.order, dense({workers, slots}), Int(32));

    Var e("e"), thread("thread"), pair("pair"), m("m"), g("g");
    Func y("by_threads");
    const Expr lane = g * group + thread % group;
    const Expr place = clamp(order(thread / group, pair * 2 + e / 2), 0, length - 1);
    y(e, thread, pair, m, g) = row == 1 ? by_position(0, e % 2, place, lane, 0)
                                        : by_position(lane % tile, e % 2, place, m, lane / tile);
    y.bound(e, 0, 4).unroll(e);
    k.output(y, a.by_threads, dense({4, workers * group, slots / 2, others, all / group}));
}

static void build_spectrum_by_channel(KernelBuilder &k, const contract::SpectrumByChannel &p) {
    const auto a = contract::names_of<contract::SpectrumByChannel>();
    const int length = p.length, copies = p.copies, channels = p.channels;
    k.no_epilogue();
    const std::vector<int> radices = right_angle_radices(extent(length));
    k.params.require(!radices.empty(), "'length' must be a product of 2, 3 and 5");
    const int row = static_cast<int>(pad(extent(channels))), tile = std::min(row, 16), last = radices.back();
    const ImageParam by_position = k.input(a.spectrum, dense({tile, 2, length, copies, row / tile}));
    Var bin("bin"), part("part"), m("m"), c("c");
    Func y("by_channel");
    y(bin, part, m, c) =
        by_position(c % tile, part, last_digit_first(Expr(bin), length, length / last), m, c / tile);
    k.output(y, a.by_channel, dense({length, 2, copies, row}));
}

static const Kernel<contract::SpectrumByChannel> spectrum_by_channel{build_spectrum_by_channel};
static const Kernel<contract::SpectrumByThreads> spectrum_by_threads{build_spectrum_by_threads};

} // namespace longwave::schedules
