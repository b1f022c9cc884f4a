// Dyadic convolutions: the plan in float64, and the kernel as a stream, against the convolution
// with the taps.
#include "schedules/contract/dyadic_plan.h"
#include "tests/kernels/check.h"
#include <algorithm>
#include <cstring>
#include <random>

namespace dyadic_test {

using namespace longwave::test;
using longwave::schedules::dyadic_plan;
using longwave::schedules::DyadicPlan;
using longwave::schedules::DyadicShape;

namespace {

// What one kernel of one channel is made of: w[scale][j], d[j].
using Weight = std::function<double(int scale, int j)>;
using Direct = std::function<double(int j)>;

std::vector<double> taps_of(const DyadicShape &shape, const Weight &w, const Direct &d) {
    std::vector<double> taps;
    for (int i = 0; i < shape.scales; i++) {
        const int s = 1 << (std::max(0, i - 1) + shape.init_scale);
        for (int m = 0; m < shape.kernel_dim * s && static_cast<int>(taps.size()) < shape.taps; m++) {
            const double at = shape.nearest ? m / s : std::max(0.0, (m + 0.5) / s - 0.5);
            const int j = static_cast<int>(at), next = std::min(j + 1, shape.kernel_dim - 1);
            taps.push_back((1 - (at - j)) * w(i, j) + (at - j) * w(i, next));
        }
    }
    taps.resize(static_cast<size_t>(shape.taps));
    for (int j = 0; j < shape.direct; j++) taps[static_cast<size_t>(j)] += d(j);
    return taps;
}

double convolved(const std::vector<double> &taps, const std::vector<double> &u, int t) {
    double sum = 0;
    for (size_t j = 0; j < taps.size() && j <= static_cast<size_t>(t); j++)
        sum += taps[j] * u[static_cast<size_t>(t) - j];
    return sum;
}

// ---- the plan ----

// A plan carried out in float64, with the whole past of every ring.
std::vector<double> carried_out(const DyadicPlan &plan, const Weight &w, const Direct &d,
                                const std::vector<double> &u) {
    const int length = static_cast<int>(u.size());
    std::vector<std::vector<double>> rings(plan.rings.size(), std::vector<double>(u.size()));
    const auto row = [&](int ring, int lag, int t) {
        if (lag < 0 || lag > plan.rings[static_cast<size_t>(ring)].lag)
            FAIL("ring ", ring, " is read at lag ", lag);
        return t < lag ? 0.0 : rings[static_cast<size_t>(ring)][static_cast<size_t>(t - lag)];
    };
    std::vector<double> y(u.size());
    for (int t = 0; t < length; t++) {
        const auto now = static_cast<size_t>(t);
        for (const auto &step : plan.steps)
            for (const auto &write : step) {
                double sum = write.sum.empty() ? u[now] : 0;
                for (const auto &read : write.sum) sum += read.factor * row(read.ring, read.lag, t);
                rings[static_cast<size_t>(write.ring)][now] = sum;
            }
        for (const auto &term : plan.terms)
            for (int i = 0; i < term.count; i++) {
                const double weight = term.scale < 0 ? d(term.first + i) : w(term.scale, term.first + i);
                y[now] += term.factor * weight * row(term.ring, term.lag + i * term.stride, t);
            }
    }
    return y;
}

// Largest difference of a plan from the convolution.
double plan_error(const DyadicShape &shape, int rows, std::mt19937 &random) {
    std::normal_distribution<double> normal;
    std::vector<double> weights(static_cast<size_t>(shape.scales) * shape.kernel_dim), direct(shape.direct),
        u(static_cast<size_t>(shape.taps) + 100);
    for (auto *numbers : {&weights, &direct, &u})
        for (double &x : *numbers) x = normal(random);
    const Weight w = [&](int i, int j) { return weights[static_cast<size_t>(i * shape.kernel_dim + j)]; };
    const Direct d = [&](int j) { return direct[static_cast<size_t>(j)]; };
    const DyadicPlan plan = dyadic_plan(shape, rows);
    CHECK(plan.reach >= shape.taps - 1);
    for (const auto &ring : plan.rings) {
        CHECK(ring.length >= ring.lag + longwave::schedules::dyadic_rows);
        CHECK(plan.period % ring.length == 0);
    }
    const std::vector<double> y = carried_out(plan, w, d, u), taps = taps_of(shape, w, d);
    double worst = 0;
    for (int t = 0; t < static_cast<int>(u.size()); t += 3)
        worst = std::max(worst, std::fabs(y[static_cast<size_t>(t)] - convolved(taps, u, t)));
    return worst;
}

// ---- the kernel ----

struct Stream {
    DyadicShape shape;
    int channels, copies, rows, length; // length: calls
    int begin = 0;                      // the first call's number: where in the rings a stream begins
};

int64_t period_of(const Stream &s) { return dyadic_plan(s.shape, s.rows).period_of(s.rows); }

std::string dyadic_spec(const Stream &s, const std::string &epilogue = "") {
    return spec("long_conv_dyadic",
                fmt::format(R"("channels":{},"copies":{},"rows":{},"kernel_dim":{},"scales":{},)"
                            R"("init_scale":{},"nearest":{},"taps":{},"direct":{},"period":{})",
                            s.channels, s.copies, s.rows, s.shape.kernel_dim, s.shape.scales,
                            s.shape.init_scale, int(s.shape.nearest), s.shape.taps, s.shape.direct,
                            period_of(s)),
                epilogue);
}

// Numbers that never repeat, from −1 to 1; one channel in four lies around 1 instead, so that its
// boxes grow.
double sample(int channel, int64_t t) {
    const double noise = std::sin(0.7 * static_cast<double>(t) * (1 + 0.37 * channel) + channel) *
                         std::cos(0.011 * static_cast<double>(t * t % 9973));
    return channel % 4 == 3 ? 1 + 0.1 * noise : noise;
}

// Carries a stream out from zeros; keep(t, y) sees each call's rows.
void stream(Kernel &k, const Stream &s, const std::function<void(int64_t t, const Tensor &y)> &keep) {
    k["rings"].for_each([&](const std::vector<int> &at) { k["rings"].set(at, 0); });
    k.prepare();
    Tensor &u = k["u"];
    const int64_t period = period_of(s);
    for (int64_t n = 0; n < s.length; n++) {
        u.for_each([&](const std::vector<int> &at) {
            const int channel = at[2] * u.extent(0) + at[0];
            u.set(at, channel < s.channels ? sample(channel, n * s.rows + at[1]) : 0);
        });
        k.scalar("position") = static_cast<int>((s.begin + n) * s.rows % period);
        REQUIRE(k.call_prepared() == 0);
        keep(n * s.rows, k["y"]);
    }
}

// Rings and products round about log2(taps) and log2(weights) times; first and last weights of a
// scale are differences of sums that nearly cancel, which doubles it.
constexpr double tolerance = 5e-7;

// Random weights of every channel and copy, laid down product by product. Returns the taps they
// stand for.
std::map<std::pair<int, int>, std::vector<double>> set_weights(Kernel &k, const Stream &s) {
    std::map<std::pair<int, int>, std::vector<double>> taps;
    std::mt19937 random(7);
    std::normal_distribution<double> normal;
    const int lanes = k["w"].extent(0), dim = s.shape.kernel_dim;
    const DyadicPlan plan = dyadic_plan(s.shape);
    k["w"].for_each([&](const std::vector<int> &at) { k["w"].set(at, 0); });
    for (int c = 0; c < s.channels; c++)
        for (int m = 0; m < s.copies; m++) {
            std::vector<double> weights(static_cast<size_t>(s.shape.scales) * dim), direct(s.shape.direct);
            for (auto *numbers : {&weights, &direct})
                for (double &x : *numbers) x = normal(random);
            const Weight w = [&](int i, int j) { return weights[static_cast<size_t>(i * dim + j)]; };
            const Direct d = [&](int j) { return direct[static_cast<size_t>(j)]; };
            taps[{c, m}] = taps_of(s.shape, w, d);
            int product = 0;
            for (const auto &term : plan.terms)
                for (int i = 0; i < term.count; i++)
                    k["w"].set({c % lanes, product++, m, c / lanes},
                               term.factor *
                                   (term.scale < 0 ? d(term.first + i) : w(term.scale, term.first + i)));
        }
    return taps;
}

// Relative L2 errors of the first half of a stream and of the second.
std::pair<double, double> errors(Kernel &k, const Stream &s, bool relu) {
    const int64_t half = int64_t{s.length} * s.rows / 2;
    const int lanes = k["w"].extent(0);
    std::vector<std::vector<double>> u(static_cast<size_t>(s.channels));
    const auto taps = set_weights(k, s);
    double difference[2] = {}, size[2] = {};
    stream(k, s, [&](int64_t t, const Tensor &y) {
        const Tensor &now = k["u"];
        now.for_each([&](const std::vector<int> &at) {
            const int c = at[2] * lanes + at[0];
            if (c < s.channels) u[static_cast<size_t>(c)].push_back(now.get(at));
        });
        y.for_each([&](const std::vector<int> &at) {
            if (at[0] >= s.channels) {
                if (y.get(at) != 0) FAIL("lane ", at[0], " is none");
                return;
            }
            const int64_t row = t + at[2];
            if (row % 29 != at[0] % 29 && row > 3) return; // of a long stream, some rows
            double expected =
                convolved(taps.at({at[0], at[1]}), u[static_cast<size_t>(at[0])], static_cast<int>(row));
            if (relu) expected = std::max(expected, 0.0);
            difference[row >= half] += std::pow(y.get(at) - expected, 2);
            size[row >= half] += expected * expected;
        });
    });
    return {std::sqrt(difference[0] / size[0]), std::sqrt(difference[1] / size[1])};
}

Case streamed(const Stream &s, bool relu = false) {
    return {dyadic_spec(s, relu ? R"({"op":"relu"})" : ""), [=](Kernel &k) {
                const auto [first, second] = errors(k, s, relu);
                INFO("errors ", first, " ", second);
                CHECK(first <= tolerance);
                CHECK(second <= tolerance);
            }};
}

} // namespace

TEST_CASE("dyadic_plan: rings and weighted sums are the convolution, for every size of scale and any cut") {
    std::mt19937 random(1);
    for (const int kernel_dim : {1, 2, 3, 7, 32, 64})
        for (int scales = 1; scales <= 10; scales++)
            for (const int init_scale : {0, 1, 2})
                for (const bool nearest : {false, true})
                    for (const bool cut : {false, true}) {
                        const int whole = kernel_dim << (scales - 1 + init_scale);
                        if (whole > 2100) continue;
                        const int taps = cut ? 1 + static_cast<int>(random() % whole) : whole;
                        const DyadicShape shape{kernel_dim, scales, init_scale,
                                                nearest,    taps,   std::min(taps, cut ? 5 : 1)};
                        CAPTURE(kernel_dim);
                        CAPTURE(scales);
                        CAPTURE(init_scale);
                        CAPTURE(nearest);
                        CAPTURE(taps);
                        CHECK(plan_error(shape, cut ? 1 : 64, random) <= 1e-11);
                    }
}

TEST_CASE(
    "dyadic_plan: a result is made of the rows of its reach alone, and products do not grow with taps") {
    const DyadicShape shape{64, 9, 0, false, 16384, 1};
    const DyadicPlan plan = dyadic_plan(shape);
    CHECK(plan.reach >= 16383);
    CHECK(plan.reach <= 16384 + 128);      // half a stretch behind the last tap
    CHECK(plan.products() <= 64 * 9 + 40); // one a weight, and the ends of the scales
    CHECK(plan.additions() <= 6 * 7 + 20);
    CHECK(plan.slots <= 4 * 16384);
    CHECK(longwave::schedules::dyadic_call_rows(160) == 40);
    CHECK(longwave::schedules::dyadic_call_rows(64) == 64);
    CHECK(longwave::schedules::dyadic_call_rows(97) == 1);
}

TEST_CASE("long_conv_dyadic: a stream equals the convolution, for every layout of channels and rows") {
    const DyadicShape linear{7, 5, 0, false, 112, 1}, nearest{7, 5, 0, true, 112, 1};
    run_everywhere({
        streamed({linear, 1, 1, 1, 700}),
        streamed({linear, 1, 1, 3, 300}),
        streamed({linear, 1, 1, 64, 20}, true),
        streamed({linear, 1, 16, 16, 60}),
        streamed({linear, 2, 1, 64, 20}),
        streamed({linear, 3, 2, 16, 60}),
        streamed({nearest, 3, 1, 40, 30}),
        streamed({linear, 16, 1, 1, 600}),
        streamed({linear, 16, 2, 3, 200}),
        streamed({linear, 20, 1, 16, 40}, true),
        streamed({nearest, 20, 2, 1, 400}),
        streamed({linear, 64, 1, 64, 12}),
    });
}

TEST_CASE("long_conv_dyadic: kernels of one weight a scale, stretched from the first, cut within a scale, "
          "merged with a short one") {
    run_everywhere({
        streamed({{1, 8, 0, false, 128, 1}, 1, 1, 16, 40}),
        streamed({{1, 8, 1, false, 200, 9}, 16, 1, 16, 40}),
        streamed({{2, 10, 0, false, 1000, 1}, 2, 1, 40, 60}),
        streamed({{2, 7, 1, true, 256, 3}, 1, 1, 64, 20}),
        streamed({{7, 6, 2, false, 801, 1}, 16, 1, 64, 40}),
        streamed({{32, 1, 0, false, 32, 32}, 1, 1, 16, 30}),
        streamed({{32, 1, 1, false, 50, 2}, 16, 1, 1, 300}),
        streamed({{32, 6, 0, false, 1000, 4}, 1, 1, 1, 3000}),
        streamed({{64, 5, 0, true, 777, 1}, 3, 1, 3, 1000}),
        streamed({{64, 6, 0, false, 2048, 7}, 16, 1, 64, 100}),
    });
}

TEST_CASE("long_conv_dyadic: after 200,000 rows it is as exact as in the first ones") {
    run_everywhere({
        streamed({{7, 4, 0, false, 56, 1}, 1, 1, 40, 5000}),
        streamed({{4, 5, 1, false, 100, 1}, 4, 1, 64, 3200}),
    });
}

TEST_CASE("long_conv_dyadic: the same bits wherever in its rings a stream begins") {
    std::vector<Case> cases;
    for (const auto &[channels, rows] : {std::pair{1, 1}, {2, 40}, {16, 3}, {20, 64}}) {
        Stream s{{7, 6, 0, false, 200, 3}, channels, 1, rows, 900 / rows};
        cases.push_back(
            {dyadic_spec(s), [s](Kernel &k) mutable {
                 std::vector<float> found[2];
                 set_weights(k, s);
                 for (const int begin : {0, 1237}) {
                     s.begin = begin;
                     stream(k, s, [&](int64_t, const Tensor &y) {
                         y.for_each([&](const std::vector<int> &at) {
                             found[begin > 0].push_back(static_cast<float>(y.get(at)));
                         });
                     });
                 }
                 REQUIRE(found[0].size() == found[1].size());
                 CHECK(std::memcmp(found[0].data(), found[1].data(), found[0].size() * sizeof(float)) == 0);
             }});
    }
    run_everywhere(cases);
}

} // namespace dyadic_test
