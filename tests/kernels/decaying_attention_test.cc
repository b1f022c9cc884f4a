// The kernels of LightNet's attention against float64 recurrences written from the definition:
// weights of rows, then the matrix that decays by them, steps and chunks on the same memory.
#include "tests/kernels/lines.h"
#include <algorithm>
#include <random>

namespace decaying_attention_test {

using namespace longwave::test;

namespace {

template <class T> uint8_t *bytes(std::vector<T> &values) {
    return reinterpret_cast<uint8_t *>(values.data());
}

struct Shape {
    int heads, dk, dv, parts;
    std::vector<int> rows; // lengths of the calls that are mixed; the first is 1, the step
};

// What keys are: anything of ±150, falling and rising; or one value, for which C is a plain mean.
enum class Keys { wide, constant };

class Attention {
public:
    // Inputs repeat themselves after `period` rows, of which the last outputs are kept.
    Attention(const Shape &shape, int length, int period, Keys keys)
        : s_(shape), length_(length), period_(period), key_(shape.heads * shape.dk, period),
          w_(key_.width, period), rotated_(key_.width * shape.parts, period), q_(rotated_.width, period),
          v_(shape.heads * shape.dv, period), o_(v_.width, period) {
        std::mt19937 random(static_cast<uint32_t>(period));
        std::normal_distribution<float> normal;
        for (int t = 0; t < period; t++) {
            const float reach = 150.0f * static_cast<float>(t) / static_cast<float>(period);
            for (int i = 0; i < key_.width; i++)
                key_.at(t, i) = keys == Keys::constant ? 0.7f
                                : random() % 2         ? 0
                                : random() % 64        ? normal(random)
                                                       : std::clamp(reach * normal(random), -150.0f, 150.0f);
            for (int i = 0; i < q_.width; i++) q_.at(t, i) = normal(random);
            for (int i = 0; i < v_.width; i++) v_.at(t, i) = keys == Keys::constant ? 1.0f : normal(random);
            for (int i = 0; i < o_.lanes(); i++) o_.at(t, i) = NAN;
        }
    }

    // kernels[i] computes s_.rows[i] rows of the attention, kernels[n + i] their weights.
    void run(std::vector<Kernel> &kernels) {
        const size_t choices = s_.rows.size(), state = size_t(s_.parts) * s_.dk * size_t(v_.lanes());
        std::vector<float> high(state, 0.0f), low(state, 0.0f);
        std::vector<double> z(size_t(key_.lanes()), 0.0), count(1, 0.0);
        std::mt19937 random(5);
        for (int t = 0; t < length_;) {
            size_t choice = random() % choices;
            const int at = t % period_;
            if (at + s_.rows[choice] > period_ || t + s_.rows[choice] > length_) choice = 0;
            call(kernels[choices + choice],
                 {{"k", key_.place(at)}, {"w", w_.place(at)}, {"z", bytes(z)}, {"count", bytes(count)}});
            for (int r = t; r < t + s_.rows[choice]; r++) rotate(r);
            std::map<std::string, uint8_t *> places = {{"q", q_.place(at)},     {"w", w_.place(at)},
                                                       {"v", v_.place(at)},     {"o", o_.place(at)},
                                                       {"S_high", bytes(high)}, {"S_low", bytes(low)}};
            if (s_.parts > 1) places["k"] = rotated_.place(at);
            call(kernels[choice], places);
            t += s_.rows[choice];
        }
    }

    // Largest error of o from row `first` on, relative to the root of its mean square.
    double error(int first) {
        const size_t rows = size_t(s_.parts) * s_.dk;
        std::vector<double> state(size_t(s_.heads) * rows * s_.dv), z(size_t(key_.width), -INFINITY),
            weight(z.size());
        double largest = 0, square = 0;
        for (int t = 0; t < length_; t++) {
            for (int i = 0; i < key_.width; i++) {
                const double k = key_.at(t % period_, i), top = std::max(z[size_t(i)], k);
                z[size_t(i)] = top + std::log(std::exp(z[size_t(i)] - top) + std::exp(k - top));
                weight[size_t(i)] = std::exp(k - z[size_t(i)]);
            }
            for (int lane = 0; lane < v_.width; lane++) {
                const int head = lane / s_.dv;
                const double v = v_.at(t % period_, lane);
                double sum = 0, *c = &state[size_t(head) * rows * s_.dv + size_t(lane % s_.dv)];
                for (int part = 0; part < s_.parts; part++)
                    for (int i = 0; i < s_.dk; i++, c += s_.dv) {
                        const int of = head * s_.dk + i;
                        *c += weight[size_t(of)] * (angle(t, of, part) * v - *c);
                        sum += q_.at(t % period_, head * int(rows) + part * s_.dk + i) * *c;
                    }
                square += sum * sum;
                if (t >= first) largest = std::max(largest, std::fabs(o_.at(t % period_, lane) - sum));
            }
            for (int lane = v_.width; t < period_ && lane < o_.lanes(); lane++)
                if (o_.at(t, lane) != 0) FAIL("row ", t, ": lane ", lane, " is none");
        }
        return largest / std::sqrt(square / (double(length_) * v_.width));
    }

private:
    static void call(Kernel &kernel, const std::map<std::string, uint8_t *> &places) {
        kernel.prepare(places);
        REQUIRE(kernel.call_prepared() == 0);
    }
    double angle(int t, int of, int part) const {
        if (s_.parts == 1) return 1;
        const double phase = t * 0.37 / (1 + of);
        return part ? std::sin(phase) : std::cos(phase);
    }
    void rotate(int t) {
        for (int i = 0; i < rotated_.width; i++) {
            const int head = i / (s_.parts * s_.dk), at = i % (s_.parts * s_.dk),
                      of = head * s_.dk + at % s_.dk;
            rotated_.at(t % period_, i) =
                static_cast<float>(w_.at(t % period_, of) * angle(t, of, at / s_.dk));
        }
    }

    const Shape s_;
    const int length_, period_;
    Lines key_, w_, rotated_, q_, v_, o_;
};

void check(const std::vector<Shape> &shapes, int length, std::initializer_list<Keys> kinds, int period = 0) {
    if (gpu_under_test()) return; // kernels of CPUs
    for (const longwave::targets::Target &target : longwave::targets::all()) {
        if (target.by_name || !host_runs(target)) continue;
        for (const Shape &shape : shapes) {
            const std::string params = fmt::format(R"("heads":{},"dk":{},"dv":{},"parts":{})", shape.heads,
                                                   shape.dk, shape.dv, shape.parts);
            std::vector<std::string> specs;
            for (const int rows : shape.rows)
                specs.push_back(rows == 1 ? spec("decaying_attention_step", params)
                                          : spec("decaying_attention_chunk",
                                                 params + fmt::format(R"(,"rows":{})", rows)));
            for (const int rows : shape.rows)
                specs.push_back(spec("cumulative_softmax", fmt::format(R"("channels":{},"rows":{})",
                                                                       shape.heads * shape.dk, rows)));
            auto kernels = load_kernels(specs, target, find_kgen());
            REQUIRE_MESSAGE(kernels, kernels.status().message());
            for (const Keys keys : kinds) {
                Attention attention(shape, length, period ? period : length, keys);
                attention.run(*kernels);
                const double error = attention.error(length > 10000 ? length - 1000 : 0);
                INFO(target.name, " ", specs[0],
                     keys == Keys::wide ? " wide keys: " : " constant keys: ", error);
                // Sums of dk products in float32, the largest of some 10,000 of them: 4e-6 is what
                // a reference implementation of the same form was measured at; C itself is within
                // 1e-7.
                CHECK(error <= 4e-6);
            }
        }
    }
}

} // namespace

TEST_CASE("decaying_attention: steps and chunks in any order are the recurrence, with keys of ±150") {
    check({{1, 16, 16, 1, {1, 16}},
           {2, 32, 64, 1, {1, 16, 33}},
           {3, 8, 12, 1, {1, 2, 7}},
           {2, 24, 128, 2, {1, 8}},
           {4, 40, 40, 1, {1, 16}},
           {2, 12, 24, 2, {1, 5}},
           {3, 5, 7, 2, {1, 16}},
           {1, 5, 1, 1, {1, 13}}},
          700, {Keys::wide, Keys::constant});
}

TEST_CASE(
    "decaying_attention: after 100,000 rows outputs are as exact as after a thousand, and means stay means") {
    check({{1, 16, 16, 1, {1, 16}}, {1, 3, 2, 2, {1, 64}}}, 100000, {Keys::wide, Keys::constant});
}

TEST_CASE("decaying_attention: ten million rows do not drift" * doctest::skip()) {
    check({{1, 4, 4, 1, {1, 16}}}, 10000000, {Keys::wide, Keys::constant}, 4096);
}

TEST_CASE(
    "cumulative_softmax: sums that begin with 1, and masked rows, which weigh nothing and add nothing") {
    std::vector<Case> cases;
    for (const int channels : {1, 5, 32})
        for (const int start : {0, 1})
            for (const int masked : {0, 1})
                cases.push_back(
                    {spec("cumulative_softmax", fmt::format(R"("channels":{},"rows":40,"start":{},"mask":{})",
                                                            channels, start, masked) +
                                                    (start ? "" : counts_param())),
                     [=](Kernel &k) {
                         Tensor &key = k["k"];
                         zero_padding(key, channels, padded(channels));
                         key.for_each([&](const std::vector<int> &at) { key.set(at, 39 * key.get(at)); });
                         const auto counts = [&](int t) { return !masked || k["mask"].get({0, t}) != 0; };
                         if (masked)
                             for (int t = 0; t < 40; t++) k["mask"].set({0, t}, t > 3 && t % 5 != 0);
                         const auto z = [&](int channel, int until) {
                             double top = start ? 0 : -INFINITY, sum = start;
                             for (int t = 0; t <= until; t++) {
                                 if (!counts(t)) continue;
                                 const double next = std::max(top, key.get({channel, t}));
                                 sum = sum * std::exp(top - next) + std::exp(key.get({channel, t}) - next),
                                 top = next;
                             }
                             return top + std::log(sum);
                         };
                         k["z"].for_each([&](const std::vector<int> &at) { k["z"].set(at, 0); });
                         if (!start) rows_before(k, 0, 40);
                         compare(
                             k, "w",
                             [&](const std::vector<int> &at) {
                                 if (at[0] >= channels || !counts(at[1])) return 0.0;
                                 return std::exp(key.get(at) - z(at[0], at[1]));
                             },
                             limit(1, 2));
                         for (int channel = 0; channel < channels; channel++)
                             CHECK(std::fabs(k["z"].get({channel, 0}) - z(channel, 39)) < 1e-6);
                     }});
    run_everywhere(cases);
}

} // namespace decaying_attention_test
