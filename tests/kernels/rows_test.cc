// Kernels that work row by row: pointwise, norm, softmax, embedding, pair_features.
#include "tests/kernels/check.h"
#include "schedules/contract/panels.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <numeric>

namespace rows_test {

using namespace longwave::test;

namespace {

Case pointwise(int width, int channels, int rows, const std::string &op, double scale, double tolerance,
               double (*f)(double)) {
    const bool padding = channels != width; // zeros after the channels of each group stay zeros
    return {
        spec("pointwise", fmt::format(R"("width":{},"channels":{},"rows":{})", width, channels, rows), op),
        [=](Kernel &k) {
            Tensor &x = k["x"];
            x.for_each([&](const std::vector<int> &at) {
                x.set(at, at[0] < channels || !padding ? scale * x.get(at) : 0);
            });
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    return padding && at[0] >= channels ? 0.0 : f(x.get(at));
                },
                tolerance);
        }};
}

Case norm(const std::string &kind, int channels, int copies, int rows, double eps) {
    const int group = padded(channels);
    return {spec("norm", fmt::format(R"("kind":"{}","channels":{},"copies":{},"rows":{},"eps":{})", kind,
                                     channels, copies, rows, eps)),
            [=](Kernel &k) {
                Tensor &x = k["x"];
                zero_padding(x, channels, group);
                const bool scalars = kind == "transposed", rms = kind == "rms";
                const std::string scale = scalars ? "m" : "weight", shift = scalars ? "s" : "bias";
                if (!scalars) zero_padding(k[scale], channels, group);
                if (!scalars && !rms) zero_padding(k[shift], channels, group);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double mean = 0, square = 0;
                        const int count = channels * copies;
                        auto valid = [&](int c) { return c % group < channels; };
                        for (int c = 0; c < group * copies; c++) mean += rms ? 0 : x.get({c, at[1]}) / count;
                        for (int c = 0; c < group * copies; c++)
                            square += valid(c) ? std::pow(x.get({c, at[1]}) - mean, 2) / count : 0;
                        const double value = (x.get(at) - mean) / std::sqrt(square + eps);
                        if (!valid(at[0])) return 0.0;
                        if (rms) return value * k["weight"].get({at[0]});
                        return scalars ? k["s"].get({0}) * (x.get(at) - mean + k["m"].get({0})) /
                                             std::sqrt(square + eps)
                                       : value * k["weight"].get({at[0]}) + k["bias"].get({at[0]});
                    },
                    limit(channels * copies, 1));
            }};
}

Case softmax(int channels, int rows) {
    return {spec("softmax", fmt::format(R"("channels":{},"rows":{})", channels, rows)), [=](Kernel &k) {
                Tensor &x = k["x"];
                x.for_each([&](const std::vector<int> &at) { x.set(at, 20 * x.get(at)); });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0;
                        for (int c = 0; c < channels; c++) sum += std::exp(x.get({c, at[1]}));
                        return at[0] < channels ? std::exp(x.get(at)) / sum : 0;
                    },
                    limit(channels, 8)); // an error of 1e-7 in an exponent of 40 is one of 4e-6 in its power
            }};
}

// Logits up to ±20. `tails`: sizes, each with a class.
Case log_softmax(int words, std::vector<int> tails, int rows) {
    std::string params = fmt::format(R"("words":{},"rows":{})", words, rows);
    for (size_t n = 0; n < tails.size(); ++n) params += fmt::format(R"(,"tail_{}":{})", n, tails[n]);
    return {spec("log_softmax", params), [=](Kernel &k) {
                const auto wide = [&](const std::string &name, int size) {
                    Tensor &x = k[name];
                    x.for_each(
                        [&](const std::vector<int> &at) { x.set(at, at[0] < size ? 20 * x.get(at) : 1e9); });
                };
                wide("words", words);
                const int classes = static_cast<int>(tails.size());
                if (classes) wide("classes", classes);
                for (int n = 0; n < classes; ++n)
                    wide("tail_" + std::to_string(n), tails[static_cast<size_t>(n)]);
                const auto sum = [&](const std::string &name, int size, int r) {
                    double all = 0;
                    for (int c = 0; c < size; ++c) all += std::exp(k[name].get({c, r}));
                    return all;
                };
                compare(
                    k, "log_probabilities",
                    [&](const std::vector<int> &at) {
                        const int r = at[1];
                        const double head =
                            std::log(sum("words", words, r) + (classes ? sum("classes", classes, r) : 0));
                        if (at[0] < words) return k["words"].get(at) - head;
                        int c = at[0] - words;
                        for (int n = 0; n < classes; c -= tails[static_cast<size_t>(n++)]) {
                            const std::string tail = "tail_" + std::to_string(n);
                            const int size = tails[static_cast<size_t>(n)];
                            if (c < size)
                                return k[tail].get({c, r}) - std::log(sum(tail, size, r)) +
                                       k["classes"].get({n, r}) - head;
                        }
                        return 0.0;
                    },
                    limit(1, 60));
            }};
}

} // namespace

TEST_CASE("pointwise: activations keep float32 accuracy, and padding lanes stay zero") {
    const double unit = 1.2e-7;
    run_everywhere({
        pointwise(32, 10, 300, R"({"op":"gelu"})", 8, 2 * unit,
                  [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }),
        pointwise(32, 10, 300, R"({"op":"silu"})", 30, 2 * unit, [](double x) { return x * logistic(x); }),
        pointwise(32, 10, 300, R"({"op":"sigmoid"})", 100, 2 * unit, logistic),
        pointwise(32, 10, 300, R"({"op":"tanh"})", 100, 2 * unit, [](double x) { return std::tanh(x); }),
        pointwise(32, 10, 301, R"({"op":"tanh"})", 1, 2 * unit, [](double x) { return std::tanh(x); }),
        pointwise(32, 10, 300, R"({"op":"softplus"})", 100, 2 * unit, softplus),
        pointwise(1, 1, 97, R"({"op":"softplus"})", 4, 2 * unit, softplus),
        pointwise(32, 10, 300, R"({"op":"gelu_tanh"})", 3, 4 * unit,
                  [](double x) {
                      return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
                  }),
        pointwise(32, 10, 300, R"({"op":"hardswish"})", 8, unit,
                  [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }),
        pointwise(32, 10, 300, R"({"op":"leaky_relu","slope":0.3})", 8, unit,
                  [](double x) { return x > 0 ? x : 0.3 * x; }),
        pointwise(32, 10, 300, R"({"op":"elu","alpha":1.5})", 90, 2 * unit,
                  [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }),
        pointwise(32, 10, 301, R"({"op":"elu","alpha":1})", 1e-3, 2 * unit,
                  [](double x) { return x > 0 ? x : std::expm1(x); }),
        pointwise(32, 10, 300, R"({"op":"clamp","low":0.5,"high":2})", 8, 0,
                  [](double x) { return std::clamp(x, 0.5, 2.0); }),
        pointwise(32, 10, 300, R"({"op":"abs"})", 8, 0, [](double x) { return std::fabs(x); }),
        pointwise(32, 10, 300, R"({"op":"square"})", 8, unit, [](double x) { return x * x; }),
        pointwise(32, 10, 300, R"({"op":"square"},{"op":"sqrt"})", 8, unit, [](double x) { return std::fabs(x); }),
        pointwise(32, 10, 300, R"({"op":"exp"})", 20, 4 * unit, [](double x) { return std::exp(x); }),
        pointwise(32, 10, 300, R"({"op":"exp"},{"op":"reciprocal"})", 20, 6 * unit,
                  [](double x) { return std::exp(-x); }),
        pointwise(97, 97, 5, R"({"op":"relu"})", 1, 0, [](double x) { return std::max(x, 0.0); }),
        pointwise(1, 1, 97, R"({"op":"sigmoid"})", 4, 2 * unit, logistic),
        pointwise(6, 6, 2, R"({"op":"relu"})", 1, 0, [](double x) { return std::max(x, 0.0); }),
        {spec("pointwise", R"("width":16,"channels":3,"rows":33)",
              R"({"op":"mul"},{"op":"log","offset":1e-6})"),
         [](Kernel &k) {
             Tensor &x = k["x"];
             x.for_each([&](const std::vector<int> &at) { k["mul_0"].set(at, x.get(at)); });
             compare(
                 k, "y",
                 [&](const std::vector<int> &at) {
                     return at[0] < 3
                                ? std::log(static_cast<double>(static_cast<float>(x.get(at) * x.get(at))) +
                                           1e-6)
                                : 0;
                 },
                 4e-7);
         }},
    });
}

TEST_CASE("norm: layer, transposed and rms over the valid lanes of each row") {
    run_everywhere({norm("layer", 97, 1, 2, 1e-5), norm("layer", 6, 3, 5, 1e-5),
                    norm("layer", 96, 1, 1, 1e-5), norm("rms", 97, 1, 2, 1e-5), norm("rms", 16, 2, 33, 1e-6),
                    norm("transposed", 97, 1, 2, 0), norm("transposed", 3, 2, 2, 0)});
}

TEST_CASE("norm: an epilogue keeps the padding of every copy zero") {
    run_everywhere({{spec("norm", R"("kind":"layer","channels":6,"copies":2,"rows":2,"eps":1e-5)",
                          R"({"op":"sigmoid"})"),
                     [](Kernel &k) {
                         for (const char *name : {"weight", "bias"})
                             k[name].for_each([&](const std::vector<int> &at) { k[name].set(at, 0); });
                         compare(
                             k, "y", [](const std::vector<int> &at) { return at[0] % 16 < 6 ? 0.5 : 0; },
                             1e-7);
                     }}});
}

TEST_CASE("norm: a row of equal values does not divide by zero") {
    run_everywhere({{spec("norm", R"("kind":"transposed","channels":16,"rows":1,"eps":0)"), [](Kernel &k) {
                         k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, 0.5); });
                         k["m"].set({0}, 0);
                         compare(
                             k, "y", [](const std::vector<int> &) { return 0.0; }, 0);
                     }}});
}

TEST_CASE("softmax: over the valid lanes, padding is zero") {
    run_everywhere({softmax(12, 1), softmax(16, 2), softmax(97, 5), softmax(1, 2)});
}

TEST_CASE("log_softmax: one row, or a head with tails; what the padding holds does not count") {
    run_everywhere({log_softmax(12, {}, 1), log_softmax(97, {}, 3), log_softmax(5, {3}, 2),
                    log_softmax(20, {16, 33}, 5), log_softmax(1, {1, 2, 40}, 2)});
}

TEST_CASE("log_softmax: with advice a tail is that without, or as unlikely as can be") {
    if (gpu_under_test()) return; // advice is for CPUs
    const std::string params = R"("words":20,"rows":1,"tail_0":16,"tail_1":33)";
    for (const auto &[first, second] : {std::pair(0.f, 1.f), std::pair(1.f, 0.f), std::pair(1.f, 1.f)}) {
        std::vector<double> all;
        const auto put = [](Kernel &k) {
            for (const char *name : {"words", "classes", "tail_0", "tail_1"})
                k[name].for_each(
                    [&](const std::vector<int> &at) { k[name].set(at, std::sin(at[0] + name[5])); });
            REQUIRE(k.call() == 0);
        };
        run_everywhere({{spec("log_softmax", params), [&](Kernel &k) {
                             put(k);
                             all.clear();
                             for (int c = 0; c < 69; c++) all.push_back(k["log_probabilities"].get({c, 0}));
                         }}});
        run_everywhere(
            {{spec("log_softmax", params + R"(,"advised":1)"), [&](Kernel &k) {
                  k["advice"].set({0, 0}, first);
                  k["advice"].set({1, 0}, second);
                  put(k);
                  for (int c = 0; c < 69; c++) {
                      const bool left_out = c >= 20 && (c < 36 ? first : second) == 0;
                      const double expected = left_out ? -1e30f : all[static_cast<size_t>(c)];
                      CHECK(k["log_probabilities"].get({c, 0}) == doctest::Approx(expected).epsilon(1e-6));
                  }
              }}});
    }
}

TEST_CASE("active_clusters: a margin below the likeliest word, to its last unit; without a margin all") {
    const float unit = 0x1p-16f, nan = std::nanf("");
    const struct {
        int margin;
        float classes[2];
        double wanted[2];
    } rows[] = {
        {0, {-1e9f, 4}, {1, 1}},        {1, {4, 4 - unit / 16}, {1, 0}},     {1, {5, -3}, {1, 0}},
        {65537, {3, 3 - unit}, {1, 0}}, {1 << 30, {-16000, -17000}, {1, 0}}, {1, {nan, -INFINITY}, {1, 1}}};
    run_everywhere({{spec("active_clusters", R"("words":37,"classes":2)"), [&](Kernel &k) {
                         k["words"].for_each([&](const std::vector<int> &at) {
                             k["words"].set(at, at[0] < 37 ? -at[0] : 99.f);
                         });
                         k["words"].set({23, 0}, 4);
                         k["classes"].for_each([&](const std::vector<int> &at) { k["classes"].set(at, 99); });
                         for (const auto &row : rows) {
                             INFO("margin ", row.margin, ", classes ", row.classes[0], " ", row.classes[1]);
                             for (int c = 0; c < 2; c++) k["classes"].set({c, 0}, row.classes[c]);
                             k.scalar("margin") = row.margin;
                             REQUIRE(k.call() == 0);
                             for (int c = 0; c < 2; c++) CHECK(k["wanted"].get({c, 0}) == row.wanted[c]);
                             CHECK(k["wanted"].get({2, 0}) == 0); // padding
                         }
                     }}});
}

TEST_CASE("embedding: a part of the vocabulary, zeros for the other ids") {
    run_everywhere({{spec("embedding", R"("vocabulary":10,"width":20,"first":30,"rows":5)"), [](Kernel &k) {
                         const int ids[] = {0, 30, 39, 40, 29};
                         for (int r = 0; r < 5; r++) k["ids"].set({r}, ids[r]);
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const int id = ids[at[1]] - 30;
                                 return id >= 0 && id < 10 ? k["table"].get({at[0], id}) : 0.0;
                             },
                             0);
                     }}});
}

TEST_CASE("embedding: rows of the table") {
    run_everywhere({{spec("embedding", R"("vocabulary":97,"width":20,"rows":5)"), [](Kernel &k) {
                         const int ids[] = {0, 96, 13, 13, 50};
                         for (int r = 0; r < 5; r++) k["ids"].set({r}, ids[r]);
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 return k["table"].get({at[0], ids[at[1]]});
                             },
                             0);
                     }}});
}

// The table of a product of 97 outputs and 20 inputs, as it lies in panels of 16 outputs.
TEST_CASE("embedding: the table of a product, in each of its formats") {
    using namespace longwave::schedules;
    for (const WeightFormat format : weight_formats) {
        const std::string name = name_of(format);
        INFO(name);
        PackedPanels packed({24, 97, 1, format});
        std::vector<uint32_t> inputs(20);
        std::iota(inputs.begin(), inputs.end(), 0u);
        std::vector<std::vector<double>> table(97, std::vector<double>(20));
        for (uint32_t id = 0; id < 97; id++) {
            for (uint32_t i = 0; i < 20; i++) table[id][i] = std::ldexp(double(id * 20 + i) - 970, -9);
            packed.set(id, 0, table[id], inputs);
            for (double &weight : table[id]) {
                const float scale = packed.scales.empty() ? 0.f : packed.scales[id];
                if (format == WeightFormat::bf16) weight = nearest_bf16(weight);
                if (format == WeightFormat::int8) weight = double{scale} * int8_steps(weight, scale);
            }
        }
        const std::string text = R"("vocabulary":97,"width":20,"rows":5,"panels":24,"weights":")" + name + "\"";
        run_everywhere({{spec("embedding", text), [&](Kernel &k) {
                             const int ids[] = {0, 96, 13, 13, 50};
                             for (int r = 0; r < 5; r++) k["ids"].set({r}, ids[r]);
                             std::memcpy(k["w"].data(), packed.words.data(), packed.words.size() * sizeof(uint32_t));
                             if (!packed.scales.empty())
                                 std::memcpy(k["scale"].data(), packed.scales.data(), packed.scales.size() * sizeof(float));
                             compare(
                                 k, "y",
                                 [&](const std::vector<int> &at) {
                                     return at[0] < 20 ? table[size_t(ids[at[1]])][size_t(at[0])] : 0.0;
                                 },
                                 limit(1));
                         }}});
    }
}

TEST_CASE("image_patches: the pixels of each patch") {
    run_everywhere({{spec("image_patches", R"("channels":20,"line":12,"side":2,"rows":18)"), [](Kernel &k) {
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const int y = at[2] / 6 * 2 + at[1] / 2, x = at[2] % 6 * 2 + at[1] % 2;
                                 return k["x"].get({at[0], y * 12 + x});
                             },
                             0);
                     }}});
}

TEST_CASE("pair_features: both, their difference and their product") {
    run_everywhere({{spec("pair_features", R"("channels":20)"), [](Kernel &k) {
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const double u = k["u"].get({at[0]}), v = k["v"].get({at[0]});
                                 return at[1] == 0 ? u : at[1] == 1 ? v : at[1] == 2 ? u - v : u * v;
                             },
                             limit(1));
                     }}});
}

TEST_CASE("random: pointwise") {
    Random("pointwise").run([](Random &r) {
        const Activation &a = activations[r.between(1, std::size(activations) - 1)];
        const int channels = r.size(400), width = r.flip() ? channels : padded(channels);
        return pointwise(width, channels, r.size(300), a.epilogue, r.between(1, 10), 4e-7, a.value);
    });
}

TEST_CASE("random: norm") {
    Random("norm").run([](Random &r) {
        const char *kind = r.one_of({"layer", "rms", "transposed"});
        return norm(kind, r.between(2, 300), r.size(4), r.size(40), 1e-5);
    });
}

TEST_CASE("random: softmax") {
    Random("softmax").run([](Random &r) { return softmax(r.size(500), r.size(30)); });
}

TEST_CASE("random: log_softmax") {
    Random("log_softmax").run([](Random &r) {
        std::vector<int> tails;
        for (int n = r.between(0, 3); n > 0; n--) tails.push_back(r.size(80));
        return log_softmax(r.size(120), tails, r.size(6));
    });
}

} // namespace rows_test
