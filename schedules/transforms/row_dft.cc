// row_dft, row_inverse_dft: the discrete Fourier transform of each row, and the way back. A spectrum has the
// real parts of all bins and then the imaginary ones.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/halide/registry.h"
#include "schedules/transforms/row_transform.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

struct RowDft {
    int n_fft, points, bins, rows;
    ImageParam table;
};

RowDft declare(KernelBuilder &k, int n_fft, int rows) {
    RowDft p{};
    p.n_fft = n_fft, p.rows = rows;
    k.params.require((p.n_fft & (p.n_fft - 1)) == 0, "'n_fft' must be a power of two");
    p.points = p.n_fft / 2, p.bins = p.points + 1;
    return p;
}

void declare_table(KernelBuilder &k, RowDft &p, const contract::Names::Weight &twiddles) {
    p.table = k.weight(twiddles, dense({frame_tables(p.n_fft).size}));
}

Shape row_of(int width, int rows) { return dense({static_cast<int>(pad(extent(width))), rows}); }

// Samples behind `in` are zero. Output o is number `first` + o of the spectrum, or number `which(o)`,
// whatever that holds inside of it.
void build_forward(KernelBuilder &k, const contract::RowDft &params) {
    const auto names = contract::names_of<contract::RowDft>();
    RowDft p = declare(k, params.n_fft, params.rows);
    const int in = params.in, out = params.out, first = params.first, vec = k.target.vector_lanes;
    const bool windowed = params.window;
    k.params.require(in <= p.n_fft, "'in' must be at most 'n_fft'");
    k.params.require(out <= 2 * p.bins, "'out' must be at most 'n_fft' + 2");
    k.params.require(first <= 2 * p.bins - out, "'first' must be at most 'n_fft' + 2 - 'out'");
    const ImageParam x = k.input(names.x, row_of(in, p.rows));
    declare_table(k, p, names.twiddles);
    const Shape shape = row_of(out, p.rows);
    ImageParam which, window;
    if (first < 0) which = k.weight(names.which, dense({static_cast<int>(pad(extent(out)))}), Int(32));
    if (windowed) window = k.weight(names.window, dense({in}));

    // THE ALGORITHM X(k) = conj(E + w·O), with E = (Z(k) + conj Z(−k))/2 and O = (Z(k) − conj Z(−k))/2i of
    // the transform Z of samples 2n and i times samples 2n + 1, with exp(+).
    Var i("i"), o("o"), r("r");
    Func samples("samples"), spectrum("parts"), y("y");
    const auto value = [&](const Expr &at) { return windowed ? x(at, r) * window(at) : x(at, r); };
    samples(i, r) = in == p.n_fft ? value(i) : select(i < in, value(min(i, in - 1)), 0.0f);
    const bool copied = in < p.n_fft || windowed;
    const auto sample = [&](const Expr &at) { return copied ? Expr(samples(at, r)) : Expr(x(at, r)); };
    RowTransform z(p.n_fft, p.table, r,
                   [&](const Expr &n) { return Complex{sample(2 * n), sample(2 * n + 1)}; });
    const auto bin = [&](const Expr &at) {
        const Complex a = z.at(at), mirrored = z.at(p.points - at), b = {mirrored.re, -mirrored.im},
                      sum = a + b, apart = a - b;
        const Complex twice = sum + Complex{apart.im, -apart.re} * z.root(at);
        return Complex{0.5f * twice.re, -0.5f * twice.im};
    };
    RDom k1(0, p.points, "k1"); // whole vectors; the last bin comes behind them
    spectrum(o, r) = undef<float>();
    spectrum(k1, r) = bin(k1).re;
    spectrum(p.bins + k1, r) = bin(k1).im;
    spectrum(p.points, r) = bin(p.points).re;
    spectrum(p.bins + p.points, r) = bin(p.points).im;
    const Expr number = first < 0 ? clamp(which(o), 0, 2 * p.bins - 1) : o + first;
    y(o, r) = k.epilogue(select(o < out, spectrum(number, r), 0.0f), {o, r}, shape, out);

    // THE SCHEDULE
    y.vectorize(o, std::min(vec, 16));
    if (copied) {
        samples.compute_at(y, r).bound_extent(i, p.n_fft).vectorize(i, vec);
        store(samples, int64_t{4} * p.n_fft);
    }
    z.compute_at(y, vec);
    const int room = 2 * p.bins + static_cast<int>(lanes); // the last vector of y reads behind the end
    spectrum.compute_at(y, r).bound_extent(o, room);
    for (int n = 0; n < 2; n++) spectrum.update(n).allow_race_conditions().vectorize(k1, vec);
    for (int n = 2; n < 4; n++) spectrum.update(n).unscheduled();
    store(spectrum, int64_t{4} * room);
    k.output(y, names.y, shape);
}

// Sample o times scale(o).
void build_inverse(KernelBuilder &k, const contract::RowInverseDft &params) {
    const auto names = contract::names_of<contract::RowInverseDft>();
    RowDft p = declare(k, params.n_fft, params.rows);
    const int vec = k.target.vector_lanes;
    const ImageParam x = k.input(names.x, row_of(2 * p.bins, p.rows));
    declare_table(k, p, names.twiddles);
    const ImageParam scale = k.weight(names.scale, dense({p.n_fft}));
    const Shape shape = row_of(p.n_fft, p.rows);

    // THE ALGORITHM Z(k) = (H(k) + conj H(−k)) + i·w^k·(H(k) − conj H(−k)) becomes samples 2n and i times
    // samples 2n + 1. The imaginary parts of the first and the last bin do not count.
    Var i("i"), o("o"), r("r");
    Func packed("packed"), y("y");
    const auto bin = [&](const Expr &at) {
        return Complex{x(at, r), select(at > 0 && at < p.points, x(p.bins + at, r), 0.0f)};
    };
    const auto root = [&](const Expr &at) {
        const FrameTables tables = frame_tables(p.n_fft);
        return Complex{p.table(tables.split_re + at), p.table(tables.split_im + at)};
    };
    const Complex a = bin(i), mirrored = bin(p.points - i), b = {mirrored.re, -mirrored.im},
                  point = (a + b) + times_i((a - b) * root(i));
    packed(i, r) = Tuple(point.re, point.im);
    RowTransform z(p.n_fft, p.table, r,
                   [&](const Expr &n) { return Complex{packed(n, r)[0], packed(n, r)[1]}; });
    const Complex pair = z.at(o / 2);
    y(o, r) = k.epilogue(scale(o) * select(o % 2 == 0, pair.re, pair.im), {o, r}, shape, p.n_fft);

    // THE SCHEDULE
    y.vectorize(o, std::min(vec, 16));
    packed.compute_at(y, r).bound_extent(i, p.points).vectorize(i, std::min(vec, p.points));
    store(packed, int64_t{8} * p.points);
    z.compute_at(y, vec);
    k.output(y, names.y, shape);
}

const Kernel<contract::RowDft> row_dft{build_forward};
const Kernel<contract::RowInverseDft> row_inverse_dft{build_inverse};

} // namespace

} // namespace longwave::schedules
