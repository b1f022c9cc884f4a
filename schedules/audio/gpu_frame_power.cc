// frame_power on a GPU: a workgroup for each frame, whose complex points it transforms in shared
// memory. As on a CPU the points are a matrix n = columns·n1 + n2, k = k1 + rows·k2: transforms
// along n1, a twist, transforms along n2. Neighbouring threads have neighbouring n2 at first and
// neighbouring k1 then, so they read the same root or neighbouring ones.
#include "schedules/audio/frame_power.h"
#include "schedules/halide/threads.h"
#include "schedules/transforms/gpu_butterflies.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int bytes_of_frame_point = 8;

std::vector<int> fours_and_two(int points) {
    std::vector<int> radices;
    for (int rest = points; rest > 1; rest /= radices.back()) radices.push_back(rest % 4 == 0 ? 4 : 2);
    return radices;
}

// Digits from the other end, of an int or an Expr.
template <class Number> Number reversed(Number k, const std::vector<int> &radices, int points) {
    Number position = 0;
    int apart = points;
    for (const int radix : radices) {
        apart /= radix;
        position = position + k % radix * apart;
        k = k / radix;
    }
    return position;
}

class FrameTransform {
public:
    FrameTransform(const FramePower &p, int threads, int shared_bytes)
        : p_(p), shape_(frame_shape(p.n_fft)), threads_(threads), row_radices_(fours_and_two(shape_.rows)),
          column_radices_(fours_and_two(shape_.columns)) {
        const int most = shared_bytes / bytes_of_frame_point;
        places_ = SharedPlaces(p.points, 1, accesses(), most);
        // Sample 2n is the real part of point n, and 2n + 1 its imaginary one: half of the banks
        // apart, so that they are stored at once.
        room_ = places_.count() + 16 <= most ? places_.count() + 16 : places_.count();
    }

    // windowed(row, i): sample i of a frame, times the window.
    void define(const std::function<Expr(const Expr &row, const Expr &i)> &windowed) {
        points_(row_, part_, place_) = undef<float>();
        const Butterflies samples(2 * p_.points, 1, 1, threads_);
        const Expr i = samples.at[0];
        points_(row_, i % 2, places_(i / 2)) = windowed(row_, i);
        points_.update(0)
            .allow_race_conditions()
            .reorder(samples.d.x, row_, samples.d.y)
            .gpu_threads(row_, samples.d.y);
        int blocks = 1;
        for (const int radix : row_radices_) along_rows(radix, blocks), blocks *= radix;
        blocks = 1;
        for (const int radix : column_radices_) along_columns(radix, blocks), blocks *= radix;
    }

    Complex bin(const Expr &row, const Expr &k) const {
        const Expr at = places_(reversed(k % shape_.rows, row_radices_, shape_.rows) * shape_.columns +
                                reversed(k / shape_.rows, column_radices_, shape_.columns));
        return {points_(row, 0, at), points_(row, 1, at)};
    }

    void compute_at(const Func &f, const Var &block) { share(points_, LoopLevel(f, block), 1, room_); }

private:
    // exp(2πi·index/points). The table has the first half of the roots of n_fft.
    Complex root(const Expr &index) const {
        const Expr at = 2 * index, behind = at > p_.points,
                   inside = select(behind, max(at - p_.points, 0), min(at, p_.points));
        const Complex value = {p_.table(p_.tables.split_re + inside), p_.table(p_.tables.split_im + inside)};
        return {select(behind, -value.re, value.re), select(behind, -value.im, value.im)};
    }

    void along_rows(int radix, int blocks) {
        const Butterflies b(p_.points, blocks, radix, threads_);
        std::vector<Complex> x = dft(read(b));
        const Expr n1 = b.offset / shape_.columns;
        for (int m = 1; m < radix && blocks * radix < shape_.rows; m++)
            x[static_cast<size_t>(m)] = x[static_cast<size_t>(m)] * root(n1 * (m * blocks * shape_.columns));
        b.store(points_, places_, x);
    }

    // Butterfly g: k1 = g mod rows, and number g / rows within that column.
    void along_columns(int radix, int blocks) {
        const int apart = shape_.columns / blocks / radix;
        Expr k1, offset;
        const Butterflies b(p_.points / radix, radix, apart, threads_, [&](const Expr &g) {
            k1 = g % shape_.rows;
            const Expr within = g / shape_.rows;
            offset = within % apart;
            return reversed(k1, row_radices_, shape_.rows) * shape_.columns +
                   within / apart * (radix * apart) + offset;
        });
        std::vector<Complex> x = read(b);
        for (int i = 0; blocks == 1 && i < radix; i++) {
            const Expr entry = (offset + i * apart) * shape_.rows + k1;
            x[static_cast<size_t>(i)] =
                x[static_cast<size_t>(i)] *
                Complex{p_.table(p_.tables.between_re + entry), p_.table(p_.tables.between_im + entry)};
        }
        x = dft(x);
        for (int m = 1; m < radix && blocks * radix < shape_.columns; m++)
            x[static_cast<size_t>(m)] = x[static_cast<size_t>(m)] * root(offset * (m * blocks * shape_.rows));
        b.store(points_, places_, x);
    }

    std::vector<Complex> read(const Butterflies &b) const {
        std::vector<Complex> x;
        for (const Expr &place : b.places(places_)) x.push_back(read_buffer(points_)(place));
        return x;
    }

    std::vector<SharedPlaces::Access> accesses() const {
        // The passes along n1 are the first ones of a whole transform.
        auto all = SharedPlaces::passes(p_.points, row_radices_, threads_);
        int blocks = 1;
        for (const int radix : column_radices_) {
            const int apart = shape_.columns / blocks / radix;
            for (int i = 0; i < radix; i++)
                all.push_back({[=, this](int g) {
                                   const int within = g / shape_.rows;
                                   return reversed(g % shape_.rows, row_radices_, shape_.rows) *
                                              shape_.columns +
                                          within / apart * radix * apart + within % apart + i * apart;
                               },
                               std::min(p_.points / radix, threads_)});
            blocks *= radix;
        }
        for (const int direction : {1, -1})
            all.push_back({[=, this](int n) {
                               const int k = (direction * n + p_.points) % p_.points;
                               return reversed(k % shape_.rows, row_radices_, shape_.rows) * shape_.columns +
                                      reversed(k / shape_.rows, column_radices_, shape_.columns);
                           },
                           std::min(p_.points, threads_)});
        return all;
    }

    const FramePower &p_;
    const FrameShape shape_;
    const int threads_;
    const std::vector<int> row_radices_, column_radices_;
    SharedPlaces places_;
    int room_ = 0; // positions of each part
    Var row_{"row"}, part_{"part"}, place_{"place"};
    Func points_{"points"};
};

} // namespace

void build_frame_power_on_gpu(KernelBuilder &k, const contract::FramePower &params) {
    const FramePower p = declare_frame_power(k, params);

    // THE ALGORITHM
    Var i("i"), r("r");
    FrameTransform transform(p, loop_threads(k.target), k.target.shared_bytes);
    transform.define([&](const Expr &row, const Expr &n) -> Expr {
        const Expr at = min(n, p.window - 1);
        const Expr sample = p.samples(wrapped(p.position + (row + 1) * p.hop - p.window + at, p.ring));
        return p.window == p.n_fft ? sample * p.weights(n)
                                   : select(n < p.window, sample * p.weights(at), 0.0f);
    });
    const Expr bin = min(i, p.points); // the first stands for the one behind the last
    const Expr power =
        power_of(p, transform.bin(r, bin % p.points), transform.bin(r, (p.points - bin) % p.points), bin);
    Func y("power");
    y(i, r) = k.epilogue(select(i < p.bins, power, 0.0f), {i, r}, p.y_shape, p.bins);

    // THE SCHEDULE
    Var block("block"), row("row"), lane("lane"), of_lane("of_lane");
    y.split(r, block, row, 1)
        .split(i, of_lane, lane, std::min(loop_threads(k.target), power_of_two_above(p.points)),
               TailStrategy::GuardWithIf)
        .reorder(of_lane, row, lane, block)
        .gpu_threads(row, lane);
    blocks_along(y, block, p.rows, k);
    transform.compute_at(y, block);
    k.output(y, p.a.power, p.y_shape);
}

} // namespace longwave::schedules
