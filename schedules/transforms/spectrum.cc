// spectrum: the right-angle transform of kernel partitions, in float64, once per model; in the
// block order that the convolutions read. With `lanes` bins lie beside each other, channel by
// channel, for few channels.
#include "schedules/contract/twiddles.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/registry.h"
#include "schedules/long_conv/depth_first.h"

namespace longwave::schedules {

using namespace Halide;

static void build_spectrum(KernelBuilder &k) {
    const int length = k.params.integer("length", 4, 1 << 22),
              partitions = k.params.integer_or("partitions", 1, 1, 1 << 16);
    const int taps = k.params.integer("taps", 1, 1 << 24), copies = k.params.integer_or("copies", 1, 1, 64);
    const int channels = k.params.integer("channels", 1, 1 << 20);
    const bool two_sided = k.params.flag_or("two_sided", false), by_bins = k.params.flag_or("lanes", false);
    k.params.require(!by_bins || channels < 16, "'lanes' is for less than 16 channels");
    k.params.require(!right_angle_radices(static_cast<uint32_t>(length)).empty(),
                     "'length' must be a product of 2, 3 and 5");
    k.params.require(int64_t{partitions} * length >= taps, "'partitions' of 'length' must hold all taps");
    k.params.require(!two_sided || partitions == 1, "a two-sided kernel has one partition");
    k.no_epilogue();
    const int row = static_cast<int>(pad(channels)), tile = by_bins ? channels : std::min(row, 16),
              kernels = two_sided ? 2 * copies : copies;

    ImageParam taps_in = k.input("k", {{static_cast<uint32_t>(tile), 1},
                                       {static_cast<uint32_t>(kernels), row},
                                       {static_cast<uint32_t>(taps), row * kernels}});
    ImageParam table = k.weight("twiddles", dense({2 * (length - 1)}), Float(64));

    const TransformStructure structure = transform_structure(k, length, tile);
    const RightAngle transform(
        length, Float(64), [&](const Expr &i) { return Expr(table(i)); },
        structure.fused && k.target.fused_multiply_add);
    const Expr factor = constant(1.0 / length);
    const Shape y_shape = by_bins ? dense({length, 2, partitions, copies, channels})
                                  : dense({tile, 2, partitions, length, copies});
    Var v("v"), part("part"), q("q"), n("n"), m("m");
    Func buffer("buffer"), y("spectrum");
    auto tap = [&](const Expr &copy, const Expr &at) {
        return select(at < taps, cast<double>(taps_in(v, copy, clamp(at, 0, taps - 1))), cast<double>(0));
    };
    const auto point = [&](const Expr &at) {
        return Complex{tap(m, at), two_sided ? -tap(m + copies, length - 1 - at) : cast<double>(0)};
    };

    // Long ones: THE ALGORITHM and its schedule are those of the depth-first form.
    const int rows = two_sided ? length : std::min(taps, length);
    if (partitions == 1 && !by_bins && DepthFirst::column_levels(transform, structure, rows) > 0) {
        const Reader input = [&](const Expr &at) {
            return two_sided ? point(at) : Complex{cast<double>(taps_in(v, m, at)), Expr()};
        };
        Var vo("vo"), vi("vi");
        y(v, part, q, n, m) = undef<float>();
        const Writer output = [=](const std::vector<Expr> &at, const std::vector<Complex> &x,
                                  const std::vector<RVar> &loops) mutable {
            std::vector<Expr> parts, positions, values;
            for (size_t i = 0; i < at.size(); i++) {
                parts.insert(parts.end(), {Expr(0), Expr(1)});
                positions.insert(positions.end(), {at[i], at[i]});
                values.insert(values.end(), {cast<float>(factor * x[i].re), cast<float>(factor * x[i].im)});
            }
            y(v, scatter(parts), q, scatter(positions), m) = gather(values);
            std::vector<VarOrRVar> order = {vi};
            order.insert(order.end(), loops.begin(), loops.end());
            order.insert(order.end(), {q, m, vo});
            y.update().split(v, vo, vi, structure.vec).reorder(order).vectorize(vi);
        };
        y.bound(q, 0, 1);
        DepthFirst{transform, structure, rows, input, {}, output, y, vo, m, copies > 1, Float(64)}
            .define_spectrum();
        k.output(y, y_shape);
        return;
    }

    // THE ALGORITHM
    // In place, one level of the transform a pass; every partition and copy by itself.
    const Complex first = point(q * length + n);
    buffer(v, n, q, m) = Tuple(first.re, first.im);
    int size = length;
    for (size_t level = 0; level < transform.radices().size(); level++) {
        const int radix = transform.radices()[level], step = size / radix;
        RDom d(0, step, 0, length / size, "d" + std::to_string(level));
        std::vector<Expr> at(radix);
        std::vector<Complex> x(radix);
        for (int p = 0; p < radix; p++) {
            at[p] = d.y * size + d.x + p * step;
            const FuncRef value = buffer(v, at[p], q, m);
            x[p] = {value[0], value[1]};
        }
        transform.forward(x, static_cast<int>(level), Expr(d.y));
        buffer(v, scatter(at), q, m) =
            Tuple(gather(real_parts(x, Float(64))), gather(imaginary_parts(x, Float(64))));
        buffer.update(static_cast<int>(level)).reorder(v, d.x, d.y, q, m);
        size = step;
    }
    const std::vector<Var> order =
        by_bins ? std::vector<Var>{n, part, q, m, v} : std::vector<Var>{v, part, q, n, m};
    y(order) = cast<float>(factor * select(part == 0, buffer(v, n, q, m)[0], buffer(v, n, q, m)[1]));

    // THE SCHEDULE
    const int vec = by_bins ? 1 : std::min(tile, std::max(1, k.target.vector_lanes / 2));
    y.reorder(v, part, n, q, m).bound(part, 0, 2).bound(v, 0, tile).unroll(part).vectorize(v, vec);
    buffer.compute_at(y, q).bound_extent(v, tile).bound_extent(n, length).vectorize(v, vec);
    for (size_t level = 0; level < transform.radices().size(); level++)
        buffer.update(static_cast<int>(level)).vectorize(v, vec);
    buffer.store_in(MemoryType::Heap);
    k.output(y, y_shape);
}

// In the order of long_conv_polyphase.
static void build_spectrum_of_phases(KernelBuilder &k) {
    constexpr int phases = Polyphase::phases, values = Polyphase::values;
    const int length = k.params.integer("length", 256, 1 << 22), taps = k.params.integer("taps", 1, 1 << 24),
              copies = k.params.integer_or("copies", 1, 1, 64),
              channels = k.params.integer("channels", 1, 1 << 20);
    const int stored = k.params.integer_or("stored_copies", copies, copies, 64); // rows of k a side
    const bool two_sided = k.params.flag_or("two_sided", false);
    k.params.require(has_polyphase(extent(length)),
                     "'length' must be a multiple of 256 and a product of 2, 3 and 5");
    k.params.require(length >= taps, "'length' must hold all taps");
    k.no_epilogue();
    const int row = static_cast<int>(pad(extent(channels))), tile = std::min(row, 16),
              kernels = two_sided ? 2 * stored : stored, rows = length / phases;
    ImageParam taps_in =
        k.input("k", {{extent(tile), 1}, {extent(kernels), row}, {extent(taps), row * kernels}});
    ImageParam table = k.weight("twiddles", dense({polyphase_tables(extent(length)).size}), Float(64));

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
        const Expr n = at * phases + v;
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
    y.bound(m, 0, copies).bound(c, 0, tile).vectorize(e, phases).unroll(part);
    k.outputs(y, {{.name = "spectrum",
                   .shape = dense({values, 2, groups, pieces, copies, tile}),
                   .argument = dense({values, 2, rows / 4, copies, tile})}});
}

static const Kernel spectrum{"spectrum", build_spectrum};
static const Kernel spectrum_of_phases{"spectrum_of_phases", build_spectrum_of_phases};

} // namespace longwave::schedules
