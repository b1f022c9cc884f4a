// frame_power: power spectrum of overlapping windowed frames, with SIMD inside the frame so that
// one frame at a time is fast.
#include "schedules/audio/frame_power.h"
#include "schedules/halide/registry.h"
#include <functional>
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

namespace {

using Point = std::function<Complex(const Expr &lane, const Expr &n)>;

Point read(Func f, Var r) {
    return [f, r](const Expr &lane, const Expr &n) {
        const FuncRef value = f(lane, n, r);
        return Complex{value[0], value[1]};
    };
}

// A self-sorting transform along n, one Func (lane, n, r) a pass: pass with `length` points left,
// stride s, reads q + s·(p + m·k) and writes q + s·(R·p + k) for k < R, m = length/R, times
// exp(2πi·p·k/length).
std::vector<Func> transform(Point in, const std::vector<int> &radices, ImageParam table, int offset,
                            const std::string &name, Var r) {
    Var lane("lane"), n("n");
    std::vector<Func> passes;
    int length = 1, stride = 1;
    for (int radix : radices) length *= radix;
    for (int radix : radices) {
        const int m = length / radix;
        RDom d(0, stride, 0, m, name + "_d" + std::to_string(stride));
        std::vector<Complex> x(radix);
        std::vector<Expr> where(radix);
        for (int k = 0; k < radix; k++) {
            x[k] = in(lane, d.x + stride * (d.y + m * k));
            where[k] = d.x + stride * (d.y * radix + k);
        }
        x = dft(x);
        for (int k = 1; k < radix && m > 1; k++) {
            const Expr at = offset + 2 * (d.y * (radix - 1) + k - 1);
            x[k] = x[k] * Complex{table(at), table(at + 1)};
        }
        Func pass(name + std::to_string(stride));
        pass(lane, n, r) = Tuple(undef<float>(), undef<float>());
        pass(lane, scatter(where), r) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
        pass.update().reorder(lane, d.x, d.y, r);
        passes.push_back(pass);
        in = read(pass, r);
        offset += 2 * m * (radix - 1);
        length = m, stride *= radix;
    }
    return passes;
}

} // namespace

FramePower declare_frame_power(KernelBuilder &k) {
    FramePower p{};
    p.n_fft = k.params.integer("n_fft", 64, 4096), p.window = k.params.integer("window", 1, 4096);
    p.hop = k.params.integer("hop", 1, 1 << 16);
    p.rows = k.params.integer("rows", 1, 1 << 20), p.ring = k.params.integer("ring", 1, 1 << 28);
    p.chunk = std::gcd(p.hop, p.window);
    k.params.require((p.n_fft & (p.n_fft - 1)) == 0, "'n_fft' must be a power of two");
    k.params.require(p.window <= p.n_fft, "'window' must not exceed n_fft");
    k.params.require(p.ring >= int64_t{p.rows} * p.hop + std::max(0, p.window - p.hop),
                     "'ring' must hold rows*hop samples and the window before them");
    k.params.require(p.ring % p.chunk == 0, "'ring' must be a multiple of gcd(hop, window)");
    p.tables = frame_tables(p.n_fft);
    p.points = p.n_fft / 2, p.bins = p.points + 1;
    p.y_shape = dense({static_cast<int>(pad(extent(p.bins))), p.rows});
    p.samples = k.input("samples", dense({p.ring}));
    p.weights = k.weight("window", dense({p.window}));
    p.table = k.weight("twiddles", dense({p.tables.size}));
    p.position = k.scalar("position", p.ring - p.rows * p.hop, p.chunk);
    return p;
}

Expr power_of(const FramePower &p, const Complex &z, const Complex &mirrored, const Expr &i) {
    const Complex mirror = {mirrored.re, -mirrored.im};
    const Complex even = z + mirror, difference = z - mirror, odd = {difference.im, -difference.re};
    const Complex x = even + odd * Complex{p.table(p.tables.split_re + i), p.table(p.tables.split_im + i)};
    return 0.25f * (x.re * x.re + x.im * x.im);
}

static void build_frame_power(KernelBuilder &k) {
    const FramePower p = declare_frame_power(k);
    const FrameShape shape = frame_shape(p.n_fft);
    const FrameTables &tables = p.tables;
    const int window = p.window, hop = p.hop, ring = p.ring, chunk = p.chunk, points = p.points;
    const ImageParam &samples = p.samples, &weights = p.weights, &table = p.table;
    const Expr &position = p.position;

    // THE ALGORITHM n_fft real samples are n_fft/2 complex ones (even, odd), as a matrix n =
    // columns·n1 + n2, k = k1 + rows·k2: transforms along n1, a twist, transforms along n2, both
    // with the other index in the lanes. Then Z is split into the spectra of the even and odd
    // samples.
    Var i("i"), r("r");
    Func frame("frame"), spectrum("spectrum"), y("power");
    RDom w(0, chunk, 0, window / chunk, "w");
    const Expr at = w.y * chunk + w.x; // a chunk never straddles the end of the ring
    frame(i, r) = 0.0f;
    frame(at, r) =
        samples(wrapped(position + (r + 1) * hop - window + w.y * chunk, ring) + w.x) * weights(at);
    const Point pairs = [&](const Expr &lane, const Expr &n) {
        const Expr even = 2 * (shape.columns * n + lane);
        return Complex{frame(even, r), frame(even + 1, r)};
    };
    const std::vector<Func> along_rows = transform(pairs, shape.row_radices, table, tables.rows, "rows", r);
    const Point twisted = [&](const Expr &k1, const Expr &n2) {
        const Expr entry = n2 * shape.rows + k1;
        return read(along_rows.back(), r)(n2, k1) *
               Complex{table(tables.between_re + entry), table(tables.between_im + entry)};
    };
    const std::vector<Func> along_columns =
        transform(twisted, shape.column_radices, table, tables.columns, "columns", r);
    const Func &last = along_columns.back();
    RDom k1(0, shape.rows, 0, shape.columns, "k1");
    spectrum(i, r) = Tuple(undef<float>(), undef<float>());
    spectrum(k1.x + shape.rows * k1.y, r) = Tuple(last(k1.x, k1.y, r)[0], last(k1.x, k1.y, r)[1]);
    spectrum(points, r) = Tuple(spectrum(0, r)[0], spectrum(0, r)[1]);
    const Expr power = power_of(p, {spectrum(i, r)[0], spectrum(i, r)[1]},
                                {spectrum(points - i, r)[0], spectrum(points - i, r)[1]}, i);
    y(i, r) = k.epilogue(select(i < p.bins, power, 0.0f), {i, r}, p.y_shape, p.bins);

    // THE SCHEDULE
    const int vec = k.target.vector_lanes;
    y.vectorize(i, std::min(vec, 16));
    frame.compute_at(y, r).bound_extent(i, p.n_fft).vectorize(i, vec);
    frame.update().allow_race_conditions().reorder(w.x, w.y, r).vectorize(w.x, dividing_vector(chunk, vec));
    store(frame, int64_t{4} * p.n_fft);
    auto schedule = [&](const std::vector<Func> &passes, int lane_count, int length) {
        for (Func pass : passes) {
            const Var lane_var = pass.args()[0];
            pass.compute_at(y, r).bound_extent(lane_var, lane_count).bound_extent(pass.args()[1], length);
            pass.update().vectorize(lane_var, std::min(vec, lane_count));
            store(pass, int64_t{8} * points);
        }
    };
    schedule(along_rows, shape.columns, shape.rows);
    schedule(along_columns, shape.rows, shape.columns);
    spectrum.compute_at(y, r);
    Stage order = spectrum.update(0).allow_race_conditions();
    order.reorder(k1.x, k1.y, r).vectorize(k1.x, std::min(vec, shape.rows));
    spectrum.update(1).unscheduled();
    store(spectrum, int64_t{8} * (points + 32));
    k.output(y, p.y_shape);
}

static const Kernel frame_power{"frame_power", build_frame_power, build_frame_power_on_gpu, Fp16::inputs};

} // namespace longwave::schedules
