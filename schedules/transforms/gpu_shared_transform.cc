#include "schedules/transforms/gpu_shared_transform.h"
#include "schedules/transforms/gpu_butterflies.h"
#include <numeric>

namespace longwave::schedules {

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
              turns = (2 * points + side - 1) / side;
    RDom t(0, turns, 0, side, "t");
    if (turns * side > 2 * points) t.where(t.x * side + t.y < 2 * points);
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
