#include "schedules/gpu/shared_transform.h"
#include "schedules/gpu/threads.h"
#include <numeric>

namespace longwave::schedules {

using namespace Halide;

SharedTransform::SharedTransform(const std::string &name, std::vector<int> radices, int wide, int threads,
                                 Root root)
    : points(std::accumulate(radices.begin(), radices.end(), 1, std::multiplies<>())), values(name),
      radices_(std::move(radices)), wide_(wide), threads_(threads), root_(std::move(root)) {}

void SharedTransform::define(const Sample &sample) {
    values(lane_, point_) = Tuple(undef<float>(), undef<float>());
    if (radices_.empty()) {
        const Complex only = sample(lane_, 0);
        values(lane_, 0) = Tuple(only.re, only.im.defined() ? only.im : Expr(0.0f));
        values.update(0).gpu_threads(lane_);
    }
    for (size_t level = 0; level < radices_.size(); level++) pass(level, sample);
}

// A block of `size` points becomes `radix` blocks, m of them at the frequencies radix·k' + m.
void SharedTransform::pass(size_t level, const Sample &sample) {
    int size = points;
    for (size_t s = 0; s < level; s++) size /= radices_[s];
    const int radix = radices_[level], apart = size / radix, groups = points / radix;
    const int side = std::min(power_of_two_above(groups), std::max(1, threads_ / wide_)),
              turns = (groups + side - 1) / side;
    RDom d(0, turns, 0, side, Internal::unique_name(values.name() + "_pass"));
    const Expr any = d.x * side + d.y;
    if (turns * side > groups) d.where(any < groups);
    const Expr g = min(any, groups - 1); // in sight of the bounds
    const Expr j = level == 0 ? g : g % apart, first = level == 0 ? g : g / apart * size + j;
    std::vector<Expr> at;
    std::vector<Complex> x;
    for (int i = 0; i < radix; i++) {
        at.push_back(first + i * apart);
        x.push_back(level == 0 ? sample(lane_, at.back())
                               : Complex{values(lane_, at.back())[0], values(lane_, at.back())[1]});
    }
    x = dft(x);
    for (int m = 1; m < radix && apart > 1; m++)
        x[static_cast<size_t>(m)] = x[static_cast<size_t>(m)] * root_(j * (m * (points / size)));
    values(lane_, scatter(at)) = Tuple(gather(real_parts(x)), gather(imaginary_parts(x)));
    values.update(static_cast<int>(level))
        .allow_race_conditions()
        .reorder(d.x, lane_, d.y)
        .gpu_threads(lane_, d.y);
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
    const Expr at = place(k);
    return {values(lane, at)[0], values(lane, at)[1]};
}

void SharedTransform::compute_at(const Func &f, const Var &block) {
    values.compute_at(f, block).store_in(MemoryType::GPUShared);
    values.bound_extent(lane_, wide_).bound_extent(point_, points);
}

} // namespace longwave::schedules
