// Matrices that are stored by their bands, against float64 sums.
#include "tests/kernels/check.h"
#include <algorithm>

namespace banded_linear_test {

using namespace longwave::test;

namespace {

struct Banded {
    int in, out, rows, band;
    bool bias = false;
};

// `first(o)`: where the band of output o begins, as the weight says and not as the kernel clamps it.
Case banded(const Banded &p, const std::function<int(int)> &first, const std::string &epilogue = "",
            double (*after)(double) = nullptr) {
    const std::string params = fmt::format(R"("in":{},"out":{},"rows":{},"band":{},"bias":{})", p.in, p.out,
                                           p.rows, p.band, int(p.bias));
    return {spec("banded_linear", params, epilogue), [=](Kernel &k) {
                for (int o = 0; o < p.out; o++) k["first"].set({o}, first(o));
                if (p.bias) zero_padding(k["bias"], p.out, padded(p.out));
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= p.out) return 0.0;
                        const int from = std::clamp(first(at[0]), 0, p.in - p.band);
                        double sum = p.bias ? k["bias"].get({at[0]}) : 0;
                        for (int i = 0; i < p.band; i++)
                            sum += k["w"].get({i, at[0]}) * k["x"].get({from + i, at[1]});
                        return after ? after(sum) : sum;
                    },
                    limit(p.band, after ? 1 : 0));
            }};
}

} // namespace

TEST_CASE("banded_linear: rows, outputs and bands of any number agree with float64 sums") {
    run_everywhere({
        banded({272, 40, 2, 40}, [](int o) { return 6 * o; }),
        banded({272, 40, 100, 40, true}, [](int o) { return 232 - 5 * o; }),
        banded(
            {64, 17, 3, 8, true}, [](int o) { return o % 7; }, R"({"op":"silu"})",
            [](double x) { return x * logistic(x); }),
        banded({32, 2, 1, 8}, [](int) { return 24; }),
        banded({2048, 2048, 1, 8}, [](int o) { return std::min(o, 2040); }),
    });
}

TEST_CASE("banded_linear: a band that begins outside of the row is moved inside") {
    run_everywhere({banded({48, 16, 2, 16}, [](int o) { return o % 2 ? 1 << 30 : -(1 << 30); })});
}

} // namespace banded_linear_test
