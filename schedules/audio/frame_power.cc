// frame_power: power spectrum of overlapping windowed frames, with SIMD inside the frame so that
// one frame at a time is fast.
#include "schedules/audio/frame_power.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/row_transform.h"
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

FramePower declare_frame_power(KernelBuilder &k, const contract::FramePower &params) {
    FramePower p{};
    p.n_fft = params.n_fft, p.window = params.window, p.hop = params.hop;
    p.rows = params.rows, p.ring = params.ring;
    p.chunk = std::gcd(p.hop, p.window);
    k.params.require((p.n_fft & (p.n_fft - 1)) == 0, "'n_fft' must be a power of two");
    k.params.require(p.window <= p.n_fft, "'window' must not exceed n_fft");
    k.params.require(p.ring >= int64_t{p.rows} * p.hop + std::max(0, p.window - p.hop),
                     "'ring' must hold rows*hop samples and the window before them");
    k.params.require(p.ring % p.chunk == 0, "'ring' must be a multiple of gcd(hop, window)");
    p.tables = frame_tables(p.n_fft);
    p.points = p.n_fft / 2, p.bins = p.points + 1;
    p.y_shape = dense({static_cast<int>(pad(extent(p.bins))), p.rows});
    p.samples = k.input(p.a.samples, dense({p.ring}));
    p.weights = k.weight(p.a.window, dense({p.window}));
    p.table = k.weight(p.a.twiddles, dense({p.tables.size}));
    p.position = k.scalar(p.a.position, p.ring - p.rows * p.hop, p.chunk);
    return p;
}

Expr power_of(const FramePower &p, const Complex &z, const Complex &mirrored, const Expr &i) {
    const Complex mirror = {mirrored.re, -mirrored.im};
    const Complex even = z + mirror, difference = z - mirror, odd = {difference.im, -difference.re};
    const Complex x = even + odd * Complex{p.table(p.tables.split_re + i), p.table(p.tables.split_im + i)};
    return 0.25f * (x.re * x.re + x.im * x.im);
}

static void build_frame_power(KernelBuilder &k, const contract::FramePower &params) {
    const FramePower p = declare_frame_power(k, params);
    const int window = p.window, hop = p.hop, ring = p.ring, chunk = p.chunk, points = p.points;

    // THE ALGORITHM n_fft real samples are n_fft/2 complex ones (even, odd), whose transform Z is
    // split into the spectra of the even and odd samples.
    Var i("i"), r("r");
    Func frame("frame"), y("power");
    RDom w(0, chunk, 0, window / chunk, "w");
    const Expr at = w.y * chunk + w.x; // a chunk never straddles the end of the ring
    frame(i, r) = 0.0f;
    frame(at, r) =
        p.samples(wrapped(p.position + (r + 1) * hop - window + w.y * chunk, ring) + w.x) * p.weights(at);
    RowTransform z(p.n_fft, p.table, r,
                   [&](const Expr &n) { return Complex{frame(2 * n, r), frame(2 * n + 1, r)}; });
    y(i, r) = k.epilogue(select(i < p.bins, power_of(p, z.at(i), z.at(points - i), i), 0.0f), {i, r},
                         p.y_shape, p.bins);

    // THE SCHEDULE
    const int vec = k.target.vector_lanes;
    y.vectorize(i, std::min(vec, 16));
    frame.compute_at(y, r).bound_extent(i, p.n_fft).vectorize(i, vec);
    frame.update().allow_race_conditions().reorder(w.x, w.y, r).vectorize(w.x, dividing_vector(chunk, vec));
    store(frame, int64_t{4} * p.n_fft);
    z.compute_at(y, vec);
    k.output(y, p.a.power, p.y_shape);
}

static const Kernel<contract::FramePower> frame_power{build_frame_power, build_frame_power_on_gpu,
                                                      Fp16::inputs};

} // namespace longwave::schedules
