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
    int blocks = 1;
    for (const int radix : radices_) {
        pass(radix, blocks, sample);
        blocks *= radix;
    }
}

// A block becomes `radix` blocks, m of them at the frequencies radix·k' + m.
void SharedTransform::pass(int radix, int blocks, const Sample &sample) {
    const Butterflies b(points, blocks, radix, threads_ / wide_);
    std::vector<Complex> x;
    const std::vector<Expr> places = b.places(places_);
    for (size_t i = 0; i < b.at.size(); i++)
        x.push_back(blocks == 1 ? sample(lane_, b.at[i]) : read_buffer(values)(places[i]));
    x = dft(x);
    for (int m = 1; m < radix && blocks * radix < points; m++)
        x[static_cast<size_t>(m)] = x[static_cast<size_t>(m)] * root_(b.offset * (m * blocks));
    b.store(values, places_, x);
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
