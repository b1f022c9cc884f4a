// gated_scan against the recurrence in float64: factors of either sign, zeros and ones, sums and maxima, and
// a state from rows before.
#include "tests/kernels/check.h"

namespace gated_scan_test {

using namespace longwave::test;

void check(bool maximum) {
    std::vector<Case> cases;
    for (const int channels : {1, 5, 16, 48, 70, 200})
        for (const int rows : {1, 37})
            cases.push_back(
                {spec("gated_scan", fmt::format(R"("channels":{},"rows":{}{})", channels, rows,
                                                maximum ? R"(,"maximum":true)" : "")),
                 [=](Kernel &k) {
                     for (const char *name : {"a", "b"}) zero_padding(k[name], channels, padded(channels));
                     k["a"].for_each([&](const std::vector<int> &at) {
                         const int which = (at[0] + 3 * at[1]) % 7;
                         if (at[0] < channels && which < 2) k["a"].set(at, which);
                     });
                     k["h"].for_each([&](const std::vector<int> &at) {
                         k["h"].set(at, at[0] < channels ? 0.25 * at[0] - 1 : 0);
                     });
                     const auto h = [&](int channel, int until) {
                         double now = 0.25 * channel - 1;
                         for (int t = 0; t <= until; t++) {
                             const double a = k["a"].get({channel, t}), b = k["b"].get({channel, t});
                             now = maximum ? std::max(now + a, b) : a * now + b;
                         }
                         return now;
                     };
                     compare(
                         k, "y",
                         [&](const std::vector<int> &at) { return at[0] < channels ? h(at[0], at[1]) : 0.0; },
                         limit(8));
                     for (int channel = 0; channel < channels; channel++)
                         CHECK(k["h"].get({channel, 0}) == k["y"].get({channel, rows - 1}));
                 }});
    run_everywhere(cases);
}

TEST_CASE("gated_scan: h_t = a_t h_(t-1) + b_t, from what the state holds") { check(false); }
TEST_CASE("gated_scan: h_t = max(h_(t-1) + a_t, b_t), from what the state holds") { check(true); }

} // namespace gated_scan_test
