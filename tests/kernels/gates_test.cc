// lstm and gru with gates that keep the state for thousands of rows. What one row changes is then a few last
// digits of the state. Its mean over many states must be right, or the state would fade at another rate.
#include "tests/kernels/check.h"

namespace gates_test {

using namespace longwave::test;

namespace {

constexpr int units = 128, calls = 64;

// The mean of what is left less what should be, of states from 1 to 2 (gru: 0.5 to 1).
double mean_error(Kernel &k, const char *state, float keep) {
    const double forgotten = 1 / (1 + std::exp(double{keep}));
    const bool lstm = *state == 'c';
    double error = 0;
    for (int call = 0; call < calls; call++) {
        const auto begin = [&](int i) {
            return (lstm ? 1.0f : 0.5f) * (1.0f + static_cast<float>(call * units + i) / (calls * units));
        };
        k["h"].for_each([&](const std::vector<int> &at) { k["h"].set(at, 0); });
        k[state].for_each([&](const std::vector<int> &at) { k[state].set(at, begin(at[0])); });
        // Gate 1 keeps, the others are half open. Any values come in, so that sums round either way.
        k["x"].for_each([&](const std::vector<int> &at) {
            const int gate = at[0] / units;
            k["x"].set(at, gate == 1 ? keep : gate == 2 ? 0.01 * std::sin(1.7 * at[0] + call) : 0);
        });
        REQUIRE(k.call() == 0);
        for (int i = 0; i < units; i++) {
            const double in = std::tanh(k["x"].get({2 * units + i, 0})) * (lstm ? 0.5 : forgotten);
            error += (k[state].get({i}) - (1 - forgotten) * begin(i) - in) / (calls * units);
        }
    }
    return error;
}

Case keeps(const std::string &name) {
    return {spec(name, fmt::format(R"("units":{})", units)), [=](Kernel &k) {
                k["w"].for_each([&](const std::vector<int> &at) { k["w"].set(at, 0); });
                if (name == "gru")
                    k["bias"].for_each([&](const std::vector<int> &at) { k["bias"].set(at, 0); });
                // A gru adds nothing but what it forgets, which must be many last digits of the state.
                std::vector<float> gates = {7.1f, 8.6f, 11.3f, 12.5f};
                if (name == "lstm") gates.insert(gates.end(), {13.2f, 15.7f, 16.4f, 17.9f, 40.0f});
                for (const float keep : gates) {
                    const double error = mean_error(k, name == "lstm" ? "c" : "h", keep);
                    INFO(name, ", gate at ", keep, ": mean error ", error);
                    // A rounding of float32 is up to 6e-8 of these states; the mean of 8,192 is 100 times
                    // less. A weight near 1 that is rounded to float32 is up to 3e-8 wrong in every row.
                    CHECK(std::fabs(error) <= 3e-9);
                }
            }};
}

} // namespace

TEST_CASE("gates: a state that is kept fades at its own rate") {
    run_everywhere({keeps("lstm"), keeps("gru")});
}

} // namespace gates_test
