#include "tests/schedules/check.h"

using namespace longwave::test;

namespace {

Case linear(int in, int out, int rows, bool bias, bool glu, const std::string &epilogue = "",
            double functions = 0, double (*after)(double) = nullptr) {
    const int width = padded(out);
    return {spec("linear",
                 fmt::format(R"("in":{},"out":{},"rows":{},"bias":{},"glu":{})", in, out, rows, int(bias),
                             int(glu)),
                 epilogue),
            [=](Kernel &k) {
                zero_padding(k["w"], out, width);
                if (bias) zero_padding(k["bias"], out, width);
                auto sum = [&](int o, int r) {
                    double s = bias ? k["bias"].get({o}) : 0;
                    for (int i = 0; i < in; i++) s += k["w"].get({o, i}) * k["x"].get({i, r});
                    return s;
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= out) return 0.0;
                        const double value =
                            glu ? sum(at[0], at[1]) * logistic(sum(at[0] + width, at[1])) : sum(at[0], at[1]);
                        return after ? after(value) : value;
                    },
                    limit(in, functions + glu) * (out * rows < 8 ? 4 : 1)); // of few sums one may cancel
            }};
}

} // namespace

TEST_CASE("linear: one row, odd rows, odd widths, gates and every activation agree with float64 sums") {
    run_everywhere({
        linear(16, 1, 1, true, false),
        linear(40, 1, 5, false, true),
        linear(1, 16, 3, true, false),
        linear(16, 3, 2, true, false, R"({"op":"relu"})", 0, [](double x) { return std::max(x, 0.0); }),
        linear(16, 6, 33, false, false, R"({"op":"sigmoid"})", 1, logistic),
        linear(96, 97, 5, true, true),
        linear(96, 96, 1, true, false, R"({"op":"gelu"})", 1,
               [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }),
        linear(272, 40, 1, false, false, R"({"op":"silu"})", 1, [](double x) { return x * logistic(x); }),
        linear(96, 192, 33, false, false),
    });
}

TEST_CASE("linear: the epilogue's operands are those of the row and of the element, in order") {
    const std::string epilogue = R"({"op":"affine"},{"op":"add"},{"op":"mul"})";
    run_everywhere({{spec("linear", R"("in":16,"out":20,"rows":3)", epilogue), [](Kernel &k) {
                         for (const char *name : {"w", "scale_0", "shift_0", "add_1", "mul_2"})
                             zero_padding(k[name], 20, 32);
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 double s = 0;
                                 for (int i = 0; i < 16; i++)
                                     s += k["w"].get({at[0], i}) * k["x"].get({i, at[1]});
                                 return (s * k["scale_0"].get({at[0]}) + k["shift_0"].get({at[0]}) +
                                         k["add_1"].get(at)) *
                                        k["mul_2"].get(at);
                             },
                             limit(20));
                     }}});
}
