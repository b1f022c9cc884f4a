// softmax_attention on a gpu: a workgroup for each query and head. Its threads take keys side by side for scores, then
// features by slices of the keys for their average; scores and weights of all keys in sight lie in shared memory.
#include "schedules/softmax_attention.h"
#include "schedules/gpu/threads.h"
#include "schedules/registry.h"
#include <cmath>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int most_across = 64, slices = 4, bytes_of_key = 8;

class AttentionOfQueries : SoftmaxAttention {
public:
    explicit AttentionOfQueries(KernelBuilder &k)
        : SoftmaxAttention(k), keys_(in_ring() ? window_ : ring_),
          across_(std::min(power_of_two_above(dv_), most_across)) {
        // Beside the weights: sums that threads have begun.
        const int room = (k.target.shared_bytes - 4 * slices * dv_ - 1024) / bytes_of_key;
        k.params.require(keys_ <= room,
                         "a query sees at most " + std::to_string(room) + " keys on " + k.target.name);
    }

    void build() {
        // THE ALGORITHM
        const int width = heads_ * dv_, padded = physical(width);
        Var c("c"), t("t"), s("s");
        Func dot("dot"), score("score"), weight("weight"), own("own"), begun("begun"), y("y");
        RDom i(0, dk_, "i"), n(0, (keys_ + slices - 1) / slices, "n");
        dot(n_, h_, t) = 0.0f;
        dot(n_, h_, t) += product(i, n_, h_, t);
        const Expr there = kv_(present_, row(n_, t)) > 0.5f, age = lag_of(n_, t);
        score(n_, h_, t) =
            select(whole_ ? there && age >= 0 && age < window_ : there, dot(n_, h_, t), nothing);
        const int threads = std::min(most_across, power_of_two_above(keys_));
        const auto at_key = [&](const Expr &lane, const std::vector<Expr> &at) {
            return Expr(score(lane, at[0], at[1]));
        };
        Fold peak = Fold::largest("peak", {h_, t}, keys_, threads, at_key);
        weight(n_, h_, t) = select(score(n_, h_, t) > nothing / 2, exp(score(n_, h_, t) - peak({h_, t})), 0.0f);
        Fold total = Fold::sum("total", {h_, t}, keys_, threads,
                               [&](const Expr &lane, const std::vector<Expr> &at) {
                                   return Expr(weight(lane, at[0], at[1]));
                               });
        const Expr key = n * slices + s, inside = min(key, keys_ - 1);
        own(d_, s, h_, t) = 0.0f;
        own(d_, s, h_, t) += select(key < keys_, weight(inside, h_, t), 0.0f) * value(d_, inside, h_, t);
        begun(d_, s, h_, t) = own(d_, s, h_, t);
        Expr sum = begun(c % dv_, 0, c / dv_, t);
        for (int slice = 1; slice < slices; slice++) sum += begun(c % dv_, slice, c / dv_, t);
        const Expr average = sum / max(total({c / dv_, t}), 1e-30f);
        y(c, t) = padded > width ? select(c < width, average, 0.0f) : average;

        // THE SCHEDULE
        Var feature("feature"), beside("beside"), lane("lane"), of_lane("of_lane"), slice("slice");
        y.split(c, h_, feature, dv_, TailStrategy::GuardWithIf)
            .split(feature, of_lane, lane, across_, TailStrategy::GuardWithIf)
            .reorder(of_lane, lane, h_, t)
            .gpu_blocks(h_, t)
            .gpu_threads(lane);
        const auto shared = [&](Func f) {
            f.compute_at(y, h_).store_in(MemoryType::GPUShared).bound_extent(n_, keys_);
            f.split(n_, beside, lane, threads, TailStrategy::GuardWithIf)
                .split(beside, of_lane, slice, slices, TailStrategy::GuardWithIf)
                .reorder(of_lane, lane, slice)
                .gpu_threads(lane, slice);
        };
        shared(score);
        shared(weight);
        dot.compute_at(score, of_lane).store_in(MemoryType::Register);
        peak.compute_at(y, h_, {1}, 1);
        total.compute_at(y, h_, {1}, 1);
        begun.compute_at(y, h_).store_in(MemoryType::GPUShared).bound_extent(d_, dv_).bound_extent(s, slices);
        begun.split(d_, of_lane, lane, across_, TailStrategy::GuardWithIf).reorder(of_lane, lane, s);
        begun.gpu_threads(lane, s);
        own.compute_at(begun, of_lane).store_in(MemoryType::Register);
        k_.output(y, dense({padded, rows_}));
    }

private:
    Expr head(const Expr &h) const { return min(h, heads_ - 1); } // padding has none
    Expr row(const Expr &n, const Expr &t) const {
        return in_ring() ? wrapped(position_ + t + n - (window_ - 1), ring_) : n;
    }
    Expr lag_of(const Expr &n, const Expr &t) const {
        return whole_ ? position_ + t - n : Expr(window_ - 1) - n;
    }
    Expr product(const Expr &i, const Expr &n, const Expr &h, const Expr &t) const {
        const float scale = 1.0f / std::sqrt(static_cast<float>(dk_));
        const Expr of = head(h), q = q_(of * dk_ + i, t), key = kv_(of * dk_ + i, row(n, t));
        if (!relative_) return q * scale * key;
        const Expr lag = clamp(lag_of(n, t), 0, window_ - 1),
                   r = queries_ > 1 ? r_(lag + attention_margin, i, of) : r_(i, of, lag);
        return (q + content_(i, of)) * scale * key + (q + position_bias_(i, of)) * scale * r;
    }
    Expr value(const Expr &d, const Expr &n, const Expr &h, const Expr &t) const {
        return kv_(heads_ * dk_ + head(h) * dv_ + d, row(n, t));
    }

    const int keys_, across_; // keys that a query may see; threads along its features
};

void softmax_attention_on_gpu(KernelBuilder &k) { AttentionOfQueries(k).build(); }

const GpuSchedule softmax_attention_of_gpu{"softmax_attention", softmax_attention_on_gpu};

} // namespace

} // namespace longwave::schedules
