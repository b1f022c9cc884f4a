#include "schedules/transforms/gpu_sequence_sums.h"
#include "schedules/halide/threads.h"
#include "schedules/transforms/gpu_butterflies.h"
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int bytes_of_sum_point = 8, terms_of_sum = 128;
constexpr int longest_direct = 46340; // the product of two indices is an int32

Complex conjugate_of(const Complex &a) { return {a.re, a.im.defined() ? -a.im : Expr(0.0f)}; }

} // namespace

SequenceSums::SequenceSums(KernelBuilder &k, int length, int width, const ImageParam &table)
    : k_(k), length_(length), shape_(real_shape(extent(length))),
      roots_(shared_roots(extent(length), static_cast<uint64_t>(k.target.shared_bytes))), table_(table),
      part_("part"), sum_("sum") {
    const int64_t bytes = int64_t{shape_.points} * bytes_of_sum_point;
    wide_ = k.asks_channel_major() ? 1 : std::min(width, sector_channels);
    if (roots_.size == 0) {
        k.params.require(length <= longest_direct,
                         "'length' " + std::to_string(length) + " fits no shared memory on " + k.target.name +
                             ", and sums over all samples are for at most " + std::to_string(longest_direct));
        return;
    }
    while (wide_ * bytes > k.target.shared_bytes) wide_ /= 2;
    const auto of_points = [this](size_t pass, int m, const Expr &offset) {
        const auto [first, apart] = roots_.passes[pass];
        const Expr at = first + 2 * (m - 1) * apart + offset;
        return Complex{table_(at), table_(at + apart)};
    };
    transform_.emplace("points", shape_.radices, wide_, loop_threads(k.target), k.target.shared_bytes,
                       of_points);
}

// Where passes would fit no memory the table ends with the middle of an even length.
Complex SequenceSums::root(const Expr &index) const {
    const auto entry = [&](const Expr &at) {
        return Complex{table_(shape_.roots + 2 * at), table_(shape_.roots + 2 * at + 1)};
    };
    if (shape_.dense || length_ % 2) return entry(index);
    const Expr behind = index > shape_.points;
    const Complex value = entry(select(behind, max(index - shape_.points, 0), min(index, shape_.points)));
    return {select(behind, -value.re, value.re), select(behind, -value.im, value.im)};
}

Complex SequenceSums::split_root(const Expr &index) const {
    return {table_(roots_.split + index), table_(roots_.split + shape_.points + 1 + index)};
}

SequenceSums::Bins SequenceSums::forward(const Samples &x) {
    if (!transform_) return direct_forward(x);
    const int points = shape_.points;
    if (length_ % 2) {
        transform_->define([&](const Expr &lane, const Expr &t) { return Complex{x(lane, t), Expr(0.0f)}; });
        return [this](const Expr &lane, const Expr &k) { return conjugate_of(transform_->bin(lane, k)); };
    }
    // X(k) = conj(E + w^k·O) with E = (Z(k) + conj Z(−k))/2, O = (Z(k) − conj Z(−k))/2i, Z with
    // exp(+).
    if (k_.asks_channel_major()) transform_->define_from_rows(x);
    else
        transform_->define(
            [&](const Expr &lane, const Expr &m) { return Complex{x(lane, 2 * m), x(lane, 2 * m + 1)}; });
    return [this, points](const Expr &lane, const Expr &k) {
        const Complex a = transform_->bin(lane, k % points),
                      b = conjugate_of(transform_->bin(lane, (points - k) % points)), sum = a + b,
                      apart = a - b;
        const Complex bin = sum + Complex{apart.im, -apart.re} * split_root(k);
        return Complex{0.5f * bin.re, -0.5f * bin.im};
    };
}

SequenceSums::Samples SequenceSums::inverse(const Bins &h) {
    const auto bin = [h, this](const Expr &lane, const Expr &k) {
        const Complex value = h(lane, k);
        const Expr real_only = length_ % 2 ? k == 0 : k == 0 || k == length_ / 2;
        return Complex{value.re, select(real_only, 0.0f, value.im)};
    };
    if (!transform_) return direct_inverse(bin);
    const int points = shape_.points;
    if (length_ % 2) {
        transform_->define([&](const Expr &lane, const Expr &k) {
            const Complex a = bin(lane, clamp(min(k, length_ - k), 0, length_ / 2));
            return Complex{a.re, select(2 * k > length_, -a.im, a.im)};
        });
        return [this](const Expr &lane, const Expr &t) { return transform_->bin(lane, t).re; };
    }
    // Z(k) = (H(k) + conj H(M − k)) + i·w^k·(H(k) − conj H(M − k)) holds even samples and i times
    // odd ones.
    transform_->define([&](const Expr &lane, const Expr &k) {
        const Complex a = bin(lane, k), b = conjugate_of(bin(lane, points - k));
        return (a + b) + times_i((a - b) * split_root(k));
    });
    return [this](const Expr &lane, const Expr &t) {
        const Complex pair = transform_->bin(lane, t / 2);
        return select(t % 2 == 0, pair.re, pair.im);
    };
}

// Sums of `terms_of_sum` terms each, then of these: rounding does not grow with the length.
SequenceSums::Bins SequenceSums::direct_forward(const Samples &x) {
    Var v("v"), k("k"), g("g");
    RDom t(0, terms_of_sum, "t"), of(0, (length_ + terms_of_sum - 1) / terms_of_sum, "of");
    const Expr at = g * terms_of_sum + t, inside = min(at, length_ - 1);
    const Complex w = root(k * inside % length_);
    const Expr sample = select(at < length_, x(v, inside), 0.0f);
    part_(v, k, g) = Tuple(0.0f, 0.0f);
    part_(v, k, g) = Tuple(part_(v, k, g)[0] + sample * w.re, part_(v, k, g)[1] - sample * w.im);
    sum_(v, k) = Tuple(0.0f, 0.0f);
    sum_(v, k) = Tuple(sum_(v, k)[0] + part_(v, k, of)[0], sum_(v, k)[1] + part_(v, k, of)[1]);
    return [this](const Expr &lane, const Expr &b) { return Complex{sum_(lane, b)[0], sum_(lane, b)[1]}; };
}

SequenceSums::Samples SequenceSums::direct_inverse(const Bins &h) {
    Var v("v"), t("t"), g("g");
    const int pairs = (length_ - 1) / 2;
    RDom k(0, terms_of_sum, "k"), of(0, std::max(1, (pairs + terms_of_sum - 1) / terms_of_sum), "of");
    const Expr at = g * terms_of_sum + k + 1, inside = clamp(at, 0, length_ / 2);
    const Complex w = root(inside * t % length_), bin = h(v, inside);
    part_(v, t, g) = 0.0f;
    part_(v, t, g) += select(at <= pairs, 2.0f * (bin.re * w.re - bin.im * w.im), 0.0f);
    const Expr first = h(v, 0).re;
    if (length_ % 2) {
        sum_(v, t) = first;
    } else {
        const Expr middle = h(v, length_ / 2).re;
        sum_(v, t) = first + select(t % 2 == 0, middle, -middle);
    }
    sum_(v, t) += part_(v, t, of);
    return [this](const Expr &lane, const Expr &s) { return Expr(sum_(lane, s)); };
}

void SequenceSums::schedule(Func y, const Var &lane, const Var &row, const std::vector<Var> &inner,
                            int rows) {
    Var block("block"), channel("channel"), line("line"), of_line("of_line");
    y.split(lane, block, channel, wide_)
        .split(row, of_line, line, std::min(power_of_two_above(rows), loop_threads(k_.target) / wide_),
               TailStrategy::GuardWithIf);
    std::vector<VarOrRVar> order(inner.begin(), inner.end());
    if (transform_) {
        order.insert(order.end(), {of_line, channel, line, block});
        y.reorder(order).gpu_blocks(block);
        threads_over(y, channel, line, wide_);
        transform_->compute_at(y, block);
    } else {
        // A result a thread: drivers may bound how many iterations of loops it takes.
        order.insert(order.end(), {channel, line, block, of_line});
        y.reorder(order).gpu_blocks(block, of_line).gpu_threads(channel, line);
        sum_.compute_at(y, channel).store_in(MemoryType::Register);
        part_.compute_at(sum_, sum_.rvars()[0]).store_in(MemoryType::Register);
    }
}

using namespace Halide;

namespace {

constexpr int bytes_of_shared_point = 8;

// Where bin k lies: its digits from the other end.
int reversed(int k, const std::vector<int> &radices, int points) {
    int position = 0, apart = points;
    for (const int radix : radices) apart /= radix, position += k % radix * apart, k /= radix;
    return position;
}

} // namespace

SharedTransform::SharedTransform(const std::string &name, std::vector<int> radices, int wide, int threads,
                                 int shared_bytes, Root root)
    : points(std::accumulate(radices.begin(), radices.end(), 1, std::multiplies<>())), values(name),
      radices_(std::move(radices)), wide_(wide), threads_(threads), root_(std::move(root)) {
    auto accesses = SharedPlaces::passes(points, radices_, threads / wide);
    const auto bin = [this](int k) { return reversed(k % points, radices_, points); };
    accesses.push_back({bin, std::min(points, threads / wide)});
    places_ = SharedPlaces(points, wide, accesses, shared_bytes / (bytes_of_shared_point * wide));
}

void SharedTransform::define(const Sample &sample) {
    values(lane_, part_, point_) = undef<float>();
    if (radices_.empty()) {
        define_points(values, {places_(Expr(0))}, {sample(lane_, 0)});
        values.update(0).gpu_threads(lane_);
    }
    passes(sample);
}

void SharedTransform::define_from_rows(const Row &row) {
    if (radices_.empty())
        return define(
            [&](const Expr &lane, const Expr &n) { return Complex{row(lane, 2 * n), row(lane, 2 * n + 1)}; });
    values(lane_, part_, point_) = undef<float>();
    const int side = std::min(power_of_two_above(2 * points), threads_ / wide_),
              iterations = (2 * points + side - 1) / side;
    RDom t(0, iterations, 0, side, "t");
    if (iterations * side > 2 * points) t.where(t.x * side + t.y < 2 * points);
    const Expr at = min(t.x * side + t.y, 2 * points - 1);
    values(lane_, at % 2, places_(at / 2)) = row(lane_, at);
    values.update().allow_race_conditions().reorder(t.x, lane_, t.y);
    threads_over(values.update(), lane_, t.y, wide_);
    passes({});
}

void SharedTransform::passes(const Sample &sample) {
    int blocks = 1;
    for (size_t number = 0; number < radices_.size(); number++) {
        pass(number, blocks, sample);
        blocks *= radices_[number];
    }
}

// A block becomes `radix` blocks, m of them at the frequencies radix·k' + m. No `sample`: the points
// are there.
void SharedTransform::pass(size_t number, int blocks, const Sample &sample) {
    const int radix = radices_[number];
    const Butterflies b(points, blocks, radix, threads_ / wide_);
    std::vector<Complex> x;
    const std::vector<Expr> places = b.places(places_);
    for (size_t i = 0; i < b.at.size(); i++)
        x.push_back(blocks == 1 && sample ? sample(lane_, b.at[i]) : read_buffer(values)(places[i]));
    x = dft(x);
    for (int m = 1; m < radix && blocks * radix < points; m++)
        x[static_cast<size_t>(m)] = x[static_cast<size_t>(m)] * root_(number, m, b.offset);
    b.store(values, places_, x, wide_);
}

Expr SharedTransform::place(const Expr &k) const {
    Expr position = 0, rest = k;
    int apart = points;
    for (const int radix : radices_) {
        apart /= radix;
        position += rest % radix * apart;
        rest = rest / radix;
    }
    return position;
}

Complex SharedTransform::bin(const Expr &lane, const Expr &k) const {
    const Expr at = places_(place(k));
    return {values(lane, 0, at), values(lane, 1, at)};
}

void SharedTransform::compute_at(const Func &f, const Var &block) {
    share(values, LoopLevel(f, block), wide_, places_.count());
}

} // namespace longwave::schedules
