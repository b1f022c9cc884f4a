// softmax_attention against its definition in float64: windows that wrap, keys that are not there,
// whole sequences, positions by their lags.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"

namespace softmax_attention_test {

using namespace longwave::test;

namespace {

struct Shape {
    int heads, dk, dv, rows, window, ring, position;
    bool relative, whole = false; // whole: `position` is the first row of a sequence that fills the ring
    int key_heads = 0;            // 0: heads

    int groups() const { return key_heads ? key_heads : heads; }
    int key_head(int head) const { return head / (heads / groups()); }
};

class Definition {
public:
    Definition(Kernel &k, const Shape &shape) : kv_(k["kv"]), q_(k["q"]), s_(shape) {
        if (!shape.relative) return;
        r_ = &k["r"], content_bias_ = &k["content_bias"], position_bias_ = &k["position_bias"];
    }

    double operator()(int lane, int row) {
        if (lane >= s_.heads * s_.dv) return 0;
        const int h = lane / s_.dv,
                  first = s_.whole    ? std::max(-s_.position, row - (s_.window - 1))
                          : s_.window ? row - (s_.window - 1)
                                      : 0,
                  last = s_.window ? std::min(row, s_.ring - 1 - s_.position * s_.whole) : s_.ring - 1;
        if (h != head_ || row != row_) weigh(h, row, first, last);
        double sum = 0;
        for (int n = first; n <= last; n++)
            if (weights_[size_t(n - first)] > 0)
                sum += weights_[size_t(n - first)] *
                       key(s_.groups() * s_.dk + s_.key_head(h) * s_.dv + lane % s_.dv, n);
        return sum;
    }

private:
    void weigh(int h, int row, int first, int last) {
        head_ = h;
        row_ = row;
        weights_.clear();
        double top = -INFINITY, total = 0;
        for (int n = first; n <= last; n++) {
            weights_.push_back(score(h, row, n));
            top = std::max(top, weights_.back());
        }
        for (double &weight : weights_) {
            weight = top == -INFINITY ? 0 : std::exp(weight - top);
            total += weight;
        }
        for (double &weight : weights_) weight /= std::max(total, 1e-300);
    }
    double key(int c, int n) const {
        const int at = s_.window ? (s_.position + n + s_.ring) % s_.ring : n;
        return kv_.get({c, at});
    }
    double score(int h, int row, int n) const {
        if (key(s_.groups() * (s_.dk + s_.dv), n) == 0) return -INFINITY;
        double sum = 0;
        for (int d = 0; d < s_.dk; d++) {
            const double q = q_.get({h * s_.dk + d, row}), k = key(s_.key_head(h) * s_.dk + d, n);
            if (!s_.relative) sum += q * k;
            else
                sum += (q + content_bias_->get({d, h})) * k +
                       (q + position_bias_->get({d, h})) * of_lag(h, d, row - n);
        }
        return sum / std::sqrt(s_.dk);
    }
    double of_lag(int h, int d, int lag) const {
        using namespace longwave::schedules;
        return attention_over_queries(static_cast<uint32_t>(s_.rows))
                   ? r_->get({lag + attention_margin, d, h})
                   : r_->get({d, h, lag});
    }

    const Tensor &kv_, &q_, *r_ = nullptr, *content_bias_ = nullptr, *position_bias_ = nullptr;
    const Shape s_;
    int head_ = -1, row_ = -1;
    std::vector<double> weights_; // of the keys that the row sees
};

// Every `absent`-th key row is not there, and those before row `begin` neither. Of a ring `filled` rows have
// been written, the call's among them; 0: all.
struct Keys {
    int absent = 0, begin = 0, filled = 0;
};

// A CPU reads no block of keys before those that have been written. A block has at most so many.
constexpr int longest_block = 256;

Case attention(const Shape &shape, const std::vector<Keys> &kinds = {{}}) {
    return {spec("softmax_attention",
                 fmt::format(R"("heads":{},"dk":{},"dv":{},"rows":{},"window":{},"ring":{}{})", shape.heads,
                             shape.dk, shape.dv, shape.rows, shape.window, shape.ring,
                             shape.relative ? R"(,"relative":1)" : "") +
                     (shape.key_heads ? fmt::format(R"(,"key_heads":{})", shape.key_heads) : "") +
                     (shape.whole ? R"(,"whole":1)" : "")),
            [=](Kernel &k) {
                Shape s = shape;
                Tensor &kv = k["kv"];
                const int flag = s.groups() * (s.dk + s.dv);
                kv.for_each([&](const std::vector<int> &at) { // scores that tell keys apart
                    kv.set(at, at[0] > flag ? 0 : 3 * kv.get(at));
                });
                for (const Keys &keys : kinds) {
                    kv.for_each([&](const std::vector<int> &at) {
                        const int age =
                            s.window && !s.whole ? (at[1] - s.position + 2 * s.ring) % s.ring : at[1];
                        const int before = (s.rows - 1 - age + s.ring) % s.ring; // the newest row
                        const bool there = !(keys.absent && age % keys.absent == 0) && age >= keys.begin &&
                                           !(keys.filled && before >= keys.filled);
                        if (at[0] == flag) kv.set(at, there);
                        if (at[0] < flag && keys.filled && before >= keys.filled + longest_block &&
                            !gpu_under_test())
                            kv.set(at, std::nan(""));
                    });
                    if (s.window) k.scalar("position") = s.position;
                    if (s.window && !s.whole) k.scalar("filled") = keys.filled ? keys.filled : s.ring;
                    Definition expected(k, s);
                    // A weight is as exact as its score: |score| units in the last place, and a
                    // sum.
                    compare(k, "y", [&](const std::vector<int> &at) { return expected(at[0], at[1]); }, 2e-6);
                    s.position = s.whole ? s.ring - s.rows : 0;
                }
            }};
}

} // namespace

TEST_CASE("softmax_attention: a window of keys in a ring, for any number of queries") {
    std::vector<Case> cases;
    struct Heads {
        int rows, heads, key_heads;
    };
    for (const auto &[rows, heads, key_heads] :
         std::vector<Heads>{{1, 16, 4}, {3, 3, 1}, {8, 3, 3}, {50, 4, 2}, {64, 2, 2}})
        for (const int window : {1, 3, 13, 70}) {
            const int ring = 3 * rows + window - 1;
            cases.push_back(
                attention({heads, 16, 16, rows, window, ring, 2 * rows, false, false, key_heads}, {{}, {3}}));
        }
    cases.push_back(attention({2, 64, 64, 64, 192, 256, 0, false}));
    cases.push_back(attention({2, 64, 64, 1, 192, 192, 100, false}));
    cases.push_back(attention({3, 20, 7, 16, 9, 48, 16, false})); // widths that fill no vector
    cases.push_back(attention({3, 20, 7, 5, 9, 50, 15, false}));
    cases.push_back(attention({1, 1, 1, 1, 4, 8, 3, false}));
    cases.push_back(attention({1, 5, 1, 8, 4, 16, 8, false}));
    // Many blocks of keys, some of which have no row yet.
    cases.push_back(
        attention({16, 8, 8, 1, 4096, 4100, 77, false, false, 4}, {{}, {0, 4000}, {0, 0, 300}, {0, 0, 1}}));
    cases.push_back(
        attention({3, 3, 2, 7, 1025, 1045, 14, false, false, 1}, {{}, {0, 900}, {0, 0, 300}, {0, 0, 7}}));
    if (!few_on_a_gpu()) {
        cases.push_back(
            attention({3, 3, 2, 64, 1025, 1152, 64, false, false, 1}, {{}, {0, 900}, {0, 0, 64}}));
        cases.push_back(attention({4, 16, 16, 441, 70, 951, 441, false, false, 1}));
        cases.push_back(attention({4, 16, 16, 2, 70, 80, 2, false, false, 1}, {{}, {5}}));
        cases.push_back(attention({2, 2048, 2048, 1, 3, 8, 2, false, false, 1}));
        // Sums of 5 MB: each head takes in all blocks before the next one begins.
        cases.push_back(attention({4, 8, 2048, 160, 300, 640, 160, false, false, 2}));
    }
    run_everywhere(cases);
}

TEST_CASE("softmax_attention: over a whole sequence, whose end may come early") {
    run_everywhere(
        {attention({2, 16, 16, 64, 0, 100, 0, false}), attention({2, 16, 16, 7, 0, 7, 0, false}),
         attention({1, 32, 32, 16, 0, 700, 0, false}, {{}, {0, 300}}),     // several chunks of keys
         attention({6, 8, 8, 8, 0, 16, 0, false, false, 3}, {{2}, {1}})}); // nothing to attend to: zeros
}

TEST_CASE("softmax_attention: up to each row of a whole sequence") {
    std::vector<Case> cases;
    for (const bool relative : {false, true})
        for (const int rows : {8, 33, 64})
            for (const int ring : {64, 333}) // 64 rows from position 21 on: some behind the end
                cases.push_back(
                    attention({4, 16, 16, rows, ring, ring, ring / 3, relative, true, ring == 64 ? 2 : 4},
                              {{}, {5}, {0, 50}}));
    cases.push_back(attention({3, 20, 7, 66, 500, 500, 440, false, true}));
    cases.push_back(attention({1, 16, 16, 16, 9000, 9000, 8000, false, true})); // no part of it in the frame
    run_everywhere(cases);
}

TEST_CASE("softmax_attention: lags have a say of their own") {
    std::vector<Case> cases;
    for (const int rows : {1, 6, 8, 32, 64})
        for (const int window : {1, 5, 96})
            cases.push_back(attention(
                {2, 16, 16, rows, window, 2 * rows + window - 1, rows, true, false, window == 5 ? 1 : 2},
                {{}, {7}}));
    cases.push_back(attention({1, 64, 64, 64, 193, 256, 0, true}));
    run_everywhere(cases);
}

TEST_CASE("random: softmax_attention over a whole sequence") {
    Random("softmax_attention").run([](Random &r) {
        // The kernel for complete sequences takes at least 8 rows.
        const int rows = r.between(8, 70), keys = rows + r.between(0, 300), width = 8 * r.between(1, 8);
        return attention(
            {r.between(1, 4), width, width, rows, keys, keys, r.between(0, keys - 1), false, true},
            {{}, {r.between(2, 9)}});
    });
}

} // namespace softmax_attention_test
