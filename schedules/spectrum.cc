// spectrum: the right-angle transform of kernel partitions, in float64, once per model; in the block order
// that the convolutions read. With `lanes` bins lie beside each other, channel by channel, for few channels.
#include "schedules/butterfly.h"
#include "schedules/registry.h"
#include "schedules/twiddles.h"

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

    // THE ALGORITHM
    // In place, one level of the transform a pass; every partition and copy by itself.
    const RightAngle transform(length, Float(64), [&](Expr i) { return Expr(table(i)); });
    Var v("v"), part("part"), q("q"), n("n"), m("m");
    Func buffer("buffer"), y("spectrum");
    auto tap = [&](const Expr &copy, const Expr &at) {
        return select(at < taps, cast<double>(taps_in(v, copy, clamp(at, 0, taps - 1))), cast<double>(0));
    };
    buffer(v, n, q, m) =
        Tuple(tap(m, q * length + n), two_sided ? -tap(m + copies, length - 1 - n) : cast<double>(0));
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
    const Expr factor = Internal::make_const(Float(64), 1.0 / length);
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
    k.output(y, by_bins ? dense({length, 2, partitions, copies, channels})
                        : dense({tile, 2, partitions, length, copies}));
}

static const Kernel spectrum{"spectrum", build_spectrum};

} // namespace longwave::schedules
