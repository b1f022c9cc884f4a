// softmax_attention on a gpu: a workgroup for each query and head. Its threads take keys side by
// side for scores, then features by slices of the keys for their average. Scores and weights of all
// keys in sight lie in shared memory where that holds them; else scores are computed three times,
// for the largest, the sum and, a chunk of keys at a time, the average.
#include "schedules/attention/softmax_attention.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include <cmath>
#include <optional>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int most_across = 64, slices = 4, bytes_of_key = 8, keys_of_chunk = 1024;

class AttentionOfQueries : SoftmaxAttention {
public:
    AttentionOfQueries(KernelBuilder &k, const contract::SoftmaxAttention &p)
        : SoftmaxAttention(k, p), keys_(in_ring() ? window_ : ring_),
          across_(std::min(power_of_two_above(dv_), most_across)) {
        // Beside the weights: sums that threads have begun.
        const int sums = 4 * slices * dv_ + 1024;
        k.params.require(sums + 4 * keys_of_chunk <= k.target.shared_bytes,
                         "'dv' is too large for " + k.target.name);
        stored_ = keys_ <= (k.target.shared_bytes - sums) / bytes_of_key;
    }

    void build() {
        stored_ ? average_of_stored() : average_of_chunks();
        const int width = heads_ * dv_, padded = physical(width);
        Var c("c");
        Func y("y");
        Expr sum = begun_(c % dv_, 0, c / dv_, t_);
        for (int slice = 1; slice < slices; slice++) sum += begun_(c % dv_, slice, c / dv_, t_);
        const Expr average = sum / max((*total_)({c / dv_, t_}), 1e-30f);
        y(c, t_) = padded > width ? select(c < width, average, 0.0f) : average;

        // THE SCHEDULE
        Var feature("feature");
        y.split(c, h_, feature, dv_, TailStrategy::GuardWithIf)
            .split(feature, of_lane_, lane_, across_, TailStrategy::GuardWithIf)
            .reorder(of_lane_, lane_, h_, t_)
            .gpu_blocks(h_, t_)
            .gpu_threads(lane_);
        peak_->compute_at(y, h_, {1}, 1);
        total_->compute_at(y, h_, {1}, 1);
        begun_.compute_at(y, h_)
            .store_in(MemoryType::GPUShared)
            .bound_extent(d_, dv_)
            .bound_extent(s_, slices);
        over_features(begun_);
        if (stored_) {
            for (Func *f : {&score_, &weight_}) over_keys(f->compute_at(y, h_), keys_);
        } else {
            RVar chunk = begun_.rvars()[0];
            begun_.update()
                .split(d_, of_lane_, lane_, across_, TailStrategy::GuardWithIf)
                .reorder(of_lane_, lane_, s_, chunk)
                .gpu_threads(lane_, s_);
            over_keys(weight_.compute_at(begun_, chunk), keys_of_chunk);
        }
        dot_.compute_at(stored_ ? score_ : weight_, of_lane_).store_in(MemoryType::Register);
        own_.compute_at(begun_, of_lane_).store_in(MemoryType::Register);
        k_.output(y, names_.y, dense({padded, rows_}));
    }

private:
    // THE ALGORITHM
    void average_of_stored() {
        score_(n_, h_, t_) = score_of(dot_, n_, h_, t_);
        peak_ = Fold::largest(
            "peak", {h_, t_}, keys_, threads(),
            [&](const Expr &n, const std::vector<Expr> &at) { return Expr(score_(n, at[0], at[1])); });
        weight_(n_, h_, t_) = weight_of(score_(n_, h_, t_), h_, t_);
        total_ =
            Fold::sum("total", {h_, t_}, keys_, threads(), [&](const Expr &n, const std::vector<Expr> &at) {
                return Expr(weight_(n, at[0], at[1]));
            });
        RDom n(0, (keys_ + slices - 1) / slices, "n");
        const Expr key = n * slices + s_, inside = min(key, keys_ - 1);
        own_(d_, s_, h_, t_) = 0.0f;
        own_(d_, s_, h_, t_) +=
            select(key < keys_, weight_(inside, h_, t_), 0.0f) * value(d_, inside, h_, t_);
        begun_(d_, s_, h_, t_) = own_(d_, s_, h_, t_);
    }
    void average_of_chunks() {
        Func for_peak("for_peak"), for_total("for_total");
        peak_ = Fold::largest(
            "peak", {h_, t_}, keys_, threads(),
            [&](const Expr &n, const std::vector<Expr> &at) { return score_of(for_peak, n, at[0], at[1]); });
        total_ =
            Fold::sum("total", {h_, t_}, keys_, threads(), [&](const Expr &n, const std::vector<Expr> &at) {
                return weight_of(score_of(for_total, n, at[0], at[1]), at[0], at[1]);
            });
        peak_->with_each(for_peak);
        total_->with_each(for_total);
        const Expr known = min(n_, keys_ - 1);
        weight_(n_, h_, t_) = select(n_ < keys_, weight_of(score_of(dot_, known, h_, t_), h_, t_), 0.0f);
        Var g("g");
        RDom n(0, keys_of_chunk / slices, "n"),
            chunk(0, (keys_ + keys_of_chunk - 1) / keys_of_chunk, "chunk");
        const Expr key = g * keys_of_chunk + n * slices + s_;
        own_(d_, s_, g, h_, t_) = 0.0f;
        own_(d_, s_, g, h_, t_) += weight_(key, h_, t_) * value(d_, min(key, keys_ - 1), h_, t_);
        begun_(d_, s_, h_, t_) = 0.0f;
        begun_(d_, s_, h_, t_) += own_(d_, s_, chunk, h_, t_);
    }
    // `dot` is defined by its first use.
    Expr score_of(Func &dot, const Expr &n, const Expr &h, const Expr &t) const {
        if (!dot.defined()) {
            RDom i(0, dk_, "i");
            dot(n_, h_, t_) = 0.0f;
            dot(n_, h_, t_) += product(i, n_, h_, t_);
        }
        const Expr there = kv_(present_, row(n, t)) > 0.5f, age = lag_of(n, t);
        return select(whole_ ? there && age >= 0 && age < window_ : there, dot(n, h, t), nothing);
    }
    Expr weight_of(const Expr &score, const Expr &h, const Expr &t) const {
        return select(score > nothing / 2, exp(score - (*peak_)({h, t})), 0.0f);
    }
    int threads() const { return std::min(most_across, power_of_two_above(keys_)); }

    void over_keys(Func &f, int extent) {
        Var beside("beside"), slice("slice");
        f.store_in(MemoryType::GPUShared).bound_extent(n_, extent);
        f.split(n_, beside, lane_, threads(), TailStrategy::GuardWithIf)
            .split(beside, of_lane_, slice, slices, TailStrategy::GuardWithIf)
            .reorder(of_lane_, lane_, slice)
            .gpu_threads(lane_, slice);
    }
    void over_features(Func &f) {
        f.split(d_, of_lane_, lane_, across_, TailStrategy::GuardWithIf).reorder(of_lane_, lane_, s_);
        f.gpu_threads(lane_, s_);
    }

    Expr head(const Expr &h) const { return min(h, heads_ - 1); } // padding has none
    Expr row(const Expr &n, const Expr &t) const {
        return in_ring() ? wrapped(position_ + t + n - (window_ - 1), ring_) : n;
    }
    Expr lag_of(const Expr &n, const Expr &t) const {
        return whole_ ? position_ + t - n : Expr(window_ - 1) - n;
    }
    Expr product(const Expr &i, const Expr &n, const Expr &h, const Expr &t) const {
        const float scale = 1.0f / std::sqrt(static_cast<float>(dk_));
        const Expr of = head(h), q = q_(of * dk_ + i, t), key = kv_(keys_of(of / shared_) + i, row(n, t));
        if (!relative_) return q * scale * key;
        const Expr lag = clamp(lag_of(n, t), 0, window_ - 1), r = attention_over_queries(extent(rows_))
                                                                      ? r_(lag + attention_margin, i, of)
                                                                      : r_(i, of, lag);
        return (q + content_(i, of)) * scale * key + (q + position_bias_(i, of)) * scale * r;
    }
    Expr value(const Expr &d, const Expr &n, const Expr &h, const Expr &t) const {
        return kv_(values_of(head(h) / shared_) + d, row(n, t));
    }

    const int keys_, across_; // keys that a query may see; threads along its features
    bool stored_ = true;      // their scores and weights fit into shared memory
    Var t_{"t"}, s_{"s"}, lane_{"lane"}, of_lane_{"of_lane"};
    Func dot_{"dot"}, score_{"score"}, weight_{"weight"}, own_{"own"}, begun_{"begun"};
    std::optional<Fold> peak_, total_;
};

void softmax_attention_on_gpu(KernelBuilder &k, const contract::SoftmaxAttention &p) {
    AttentionOfQueries(k, p).build();
}

const GpuSchedule<contract::SoftmaxAttention> softmax_attention_of_gpu{softmax_attention_on_gpu,
                                                                       Fp16::inputs_and_outputs};

} // namespace

} // namespace longwave::schedules
