#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <array>

namespace linear_test {

using namespace longwave::test;

namespace {

struct Linear {
    int in, out, rows;
    bool bias = false, glu = false;
    int in_row = 0; // 0: no gap between rows
};

// Where weight i of output o is, of the values (half 0) or the gates.
std::array<int, 3> weight_at(const Linear &p, int o, int half, int i) {
    const int of_panel = p.out == 1 ? 1 : 16;
    return {o % of_panel, i, o / of_panel * (p.glu ? 2 : 1) + half};
}

void zero_padding_outputs(Kernel &k, const Linear &p) {
    const int of_panel = p.out == 1 ? 1 : 16, halves = p.glu ? 2 : 1;
    k["w"].for_each([&](const std::vector<int> &at) {
        if (at[2] / halves * of_panel + at[0] >= p.out) k["w"].set(at, 0);
    });
    if (p.bias) zero_padding(k["bias"], p.out, padded(p.out));
}

std::string linear_spec(const Linear &p, const std::string &epilogue = "") {
    const std::string gap = p.in_row ? fmt::format(R"("in_row":{},)", p.in_row) : "";
    return spec("linear",
                fmt::format(R"({}"in":{},"out":{},"rows":{},"bias":{},"glu":{})", gap, p.in, p.out, p.rows,
                            int(p.bias), int(p.glu)),
                epilogue);
}

double sum_of(Kernel &k, const Linear &p, int o, int half, int r) {
    double sum = p.bias ? k["bias"].get({o + half * padded(p.out)}) : 0;
    const Tensor &w = k["w"], &x = k["x"];
    for (int i = 0; i < p.in; i++) sum += w.get(weight_at(p, o, half, i)) * x.get({i, r});
    return sum;
}

Case linear(const Linear &p, const std::string &epilogue = "", double functions = 0,
            double (*after)(double) = nullptr) {
    return {linear_spec(p, epilogue), [=](Kernel &k) {
                zero_padding_outputs(k, p);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= p.out) return 0.0;
                        const double sum = sum_of(k, p, at[0], 0, at[1]);
                        const double value = p.glu ? sum * logistic(sum_of(k, p, at[0], 1, at[1])) : sum;
                        return after ? after(value) : value;
                    },
                    limit(p.in, functions + p.glu) *
                        (p.out * p.rows < 8 ? 4 : 1)); // few sums: one may cancel
            }};
}

} // namespace

TEST_CASE("linear: one row, odd rows, odd widths, gates and every activation agree with float64 sums") {
    run_everywhere({
        linear({16, 1, 1, true, false}),
        linear({40, 1, 5, false, true}),
        linear({1, 16, 3, true, false}),
        linear({16, 3, 2, true, false}, R"({"op":"relu"})", 0, [](double x) { return std::max(x, 0.0); }),
        linear({16, 6, 33, false, false}, R"({"op":"sigmoid"})", 1, logistic),
        linear({96, 97, 5, true, true}),
        linear({96, 96, 1, true, false}, R"({"op":"gelu"})", 1,
               [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }),
        linear({272, 40, 1, false, false}, R"({"op":"silu"})", 1, [](double x) { return x * logistic(x); }),
        linear({96, 192, 33, false, false}),
    });
}

TEST_CASE("linear: any number of rows, inputs and outputs, whatever divides them") {
    std::vector<Case> cases;
    const int widths[] = {1, 3, 17, 64, 96, 250, 513}, counts[] = {1, 2, 3, 4, 5, 7, 12, 13, 50, 97};
    // On a device: each width on both sides, and counts of rows for both of its kernels.
    const bool few = few_on_a_gpu();
    int choice = 0; // half of the pairs of widths; rows, bias and gates go round beside them
    for (int in : widths)
        for (int out : widths) {
            if (choice++ % 2 || (few && choice % 10 != 1 && choice % 10 != 7)) continue;
            cases.push_back(linear({in, out, counts[choice % 10], choice % 4 == 1, choice % 3 == 0}));
        }
    for (int rows : counts)
        if (!few || rows == 1 || rows == 4 || rows == 7 || rows == 50)
            cases.push_back(linear({64, 96, rows, true, rows % 2 == 1}));
    run_everywhere(cases);
}

TEST_CASE("linear: weights larger than the caches are walked in blocks of rows, the last of them shorter") {
    run_everywhere({linear({1024, 208, 97, true, false}), linear({1024, 96, 230, false, true}),
                    linear({4096, 40, 50, true, false}), linear({513, 320, 13, true, false})});
}

TEST_CASE("linear: with advice a row is that without, or stays as it was") {
    if (gpu_under_test()) return; // advice is for CPUs
    const Linear p{40, 97, 1, true, false};
    std::string advised = linear_spec(p, "");
    advised.insert(advised.find("\"bias\""), "\"advice\":2,\"wanted\":1,");
    run_everywhere({{advised, [=](Kernel &k) {
                         zero_padding_outputs(k, p);
                         const auto call = [&](float wanted) {
                             k["advice"].set({0, 0}, 1 - wanted);
                             k["advice"].set({1, 0}, wanted);
                             REQUIRE(k.call() == 0);
                         };
                         std::vector<double> before;
                         for (int o = 0; o < p.out; o++) before.push_back(k["y"].get({o, 0}));
                         call(0);
                         for (int o = 0; o < p.out; o++)
                             CHECK(k["y"].get({o, 0}) == before[static_cast<size_t>(o)]);
                         call(1);
                         for (int o = 0; o < p.out; o++)
                             CHECK(k["y"].get({o, 0}) ==
                                   doctest::Approx(sum_of(k, p, o, 0, 0)).epsilon(1e-5));
                     }}});
}

TEST_CASE("linear: lanes between the rows are not read") {
    run_everywhere({linear({17, 20, 5, true, false, 32}), linear({3, 1, 4, true, false, 16}),
                    linear({250, 64, 50, false, true, 256})});
}

TEST_CASE("linear: a block-diagonal matrix, whose blocks read one another's neighbours") {
    struct Diagonal {
        int in, out, rows, blocks, first;
    };
    std::vector<Case> cases;
    for (const Diagonal p :
         {Diagonal{24, 64, 5, 4, 0}, Diagonal{96, 3 * 176, 50, 3, 40}, Diagonal{17, 32, 1, 2, 3},
          Diagonal{384, 2 * 384, 13, 2, 0}, Diagonal{600, 2 * 48, 97, 2, 7}})
        cases.push_back(
            {spec("linear", fmt::format(R"("in":{},"out":{},"rows":{},"blocks":{},"first":{},"bias":1)", p.in,
                                        p.out, p.rows, p.blocks, p.first)),
             [=](Kernel &k) {
                 const Linear one{p.in, p.out, p.rows};
                 const Tensor &w = k["w"], &x = k["x"];
                 compare(
                     k, "y",
                     [&](const std::vector<int> &at) {
                         const int begin = p.first + at[0] / (p.out / p.blocks) * p.in;
                         double sum = k["bias"].get({at[0]});
                         for (int i = 0; i < p.in; i++)
                             sum += w.get(weight_at(one, at[0], 0, i)) * x.get({begin + i, at[1]});
                         return sum;
                     },
                     limit(p.in));
             }});
    run_everywhere(cases);
}

TEST_CASE("linear: the epilogue's operands are those of the row and of the element, in order") {
    const std::string epilogue = R"({"op":"affine"},{"op":"add"},{"op":"mul"})";
    std::vector<Case> cases;
    for (const Linear p : {Linear{16, 20, 3}, Linear{64, 250, 50}, Linear{33, 97, 13}, Linear{16, 1, 3}})
        cases.push_back({linear_spec(p, epilogue), [=](Kernel &k) {
                             zero_padding_outputs(k, p);
                             for (const char *name : {"scale_0", "shift_0", "add_1", "mul_2"})
                                 zero_padding(k[name], p.out, padded(p.out));
                             compare(
                                 k, "y",
                                 [&](const std::vector<int> &at) {
                                     if (at[0] >= p.out) return 0.0;
                                     return (sum_of(k, p, at[0], 0, at[1]) * k["scale_0"].get({at[0]}) +
                                             k["shift_0"].get({at[0]}) + k["add_1"].get(at)) *
                                            k["mul_2"].get(at);
                                 },
                                 limit(p.in + 4) * (p.out * p.rows < 8 ? 4 : 1));
                         }});
    run_everywhere(cases);
}

TEST_CASE("panels: every weight has a place of its own, and no panel begins a whole number of pages on") {
    for (const longwave::schedules::Panels p :
         {longwave::schedules::Panels{1024, 50, 2}, longwave::schedules::Panels{17, 16, 1},
          longwave::schedules::Panels{64, 1, 2}, longwave::schedules::Panels{1, 3, 1}}) {
        std::vector<int> taken(p.size());
        for (uint32_t o = 0; o < p.out; o++)
            for (uint32_t half = 0; half < p.halves; half++)
                for (uint32_t i = 0; i < p.in; i++) {
                    const size_t at = p.at(o, half, i);
                    if (at >= p.size()) FAIL("weight ", i, " of output ", o, " lies behind the end");
                    if (++taken[at] != 1)
                        FAIL_CHECK("weight ", i, " of output ", o, " has no place of its own");
                }
        CHECK(p.stride() % 1024 != 0);
    }
}

TEST_CASE("random: linear") {
    Random("linear").run([](Random &r) {
        const Activation &a = r.activation();
        const int in = r.size(600), out = r.size(600);
        return linear({in, out, r.rows(70), r.flip(), r.flip()}, a.epilogue, a.functions, a.value);
    });
}

TEST_CASE("random: linear with gaps between the rows") {
    Random("linear rows").run([](Random &r) {
        const int in = r.size(300);
        return linear({in, r.size(200), r.rows(40), r.flip(), false, padded(in) + 16 * r.between(1, 3)});
    });
}

} // namespace linear_test
