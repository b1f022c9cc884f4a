// Kernels over a vocabulary: embedding, log-softmax, and the clusters that it may leave out.
#include "schedules/contract/panels.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <cstring>
#include <numeric>

namespace vocabulary_test {

using namespace longwave::test;

namespace {

// Logits up to ±20. `tails`: sizes, each with a class.
Case log_softmax(int words, std::vector<int> tails, int rows) {
    const std::string params =
        fmt::format(R"("words":{},"rows":{},"tails":[{}])", words, rows, fmt::join(tails, ","));
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

TEST_CASE("log_softmax: more rows than a dimension of a GPU's grid has workgroups") {
    if (gpu_under_test()) run_everywhere({log_softmax(5, {3}, 65601)});
}

TEST_CASE("log_softmax: one row, or a head with tails; what the padding holds does not count") {
    run_everywhere({log_softmax(12, {}, 1), log_softmax(97, {}, 3), log_softmax(5, {3}, 2),
                    log_softmax(20, {16, 33}, 5), log_softmax(1, {1, 2, 40}, 2)});
}

TEST_CASE("log_softmax: with advice a tail is that without, or as unlikely as can be") {
    if (gpu_under_test()) return; // advice is for CPUs
    const std::string params = R"("words":20,"rows":1,"tails":[16,33])";
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
        run_everywhere({{spec("log_softmax", params + R"(,"advised":1)"), [&](Kernel &k) {
                             k["advice"].set({0, 0}, first);
                             k["advice"].set({1, 0}, second);
                             put(k);
                             for (int c = 0; c < 69; c++) {
                                 const bool left_out = c >= 20 && (c < 36 ? first : second) == 0;
                                 const double expected = left_out ? -1e30f : all[static_cast<size_t>(c)];
                                 CHECK(k["log_probabilities"].get({c, 0}) ==
                                       doctest::Approx(expected).epsilon(1e-6));
                             }
                         }}});
    }
}

TEST_CASE("active_clusters: a margin below the likeliest word, to its last unit; with the largest one all") {
    const float unit = 0x1p-16f, nan = std::nanf("");
    const struct {
        float margin;
        float classes[2];
        double wanted[2];
    } rows[] = {{16384, {-1e9f, 4}, {1, 1}}, {0, {4, 4 - unit / 16}, {1, 0}},   {0, {5, -3}, {1, 0}},
                {1, {3, 3 - unit}, {1, 0}},  {16383, {-16000, -17000}, {1, 0}}, {0, {nan, -INFINITY}, {1, 1}},
                {3e38f, {-1e9f, 4}, {1, 1}}};
    run_everywhere({{spec("active_clusters", R"("words":37,"classes":2,"every":16384)"), [&](Kernel &k) {
                         k["words"].for_each([&](const std::vector<int> &at) {
                             k["words"].set(at, at[0] < 37 ? -at[0] : 99.f);
                         });
                         k["words"].set({23, 0}, 4);
                         for (const char *name : {"classes", "margin"})
                             k[name].for_each([&](const std::vector<int> &at) { k[name].set(at, 99); });
                         for (const auto &row : rows) {
                             INFO("margin ", row.margin, ", classes ", row.classes[0], " ", row.classes[1]);
                             for (int c = 0; c < 2; c++) {
                                 k["classes"].set({c, 0}, row.classes[c]);
                                 k["margin"].set({c, 0}, row.margin);
                             }
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
    run_everywhere(
        {{spec("embedding", R"("vocabulary":97,"width":20,"rows":5)"), [](Kernel &k) {
              const int ids[] = {0, 96, 13, 13, 50};
              for (int r = 0; r < 5; r++) k["ids"].set({r}, ids[r]);
              compare(
                  k, "y", [&](const std::vector<int> &at) { return k["table"].get({at[0], ids[at[1]]}); }, 0);
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
        const std::string text =
            R"("vocabulary":97,"width":20,"rows":5,"panels":24,"weights":")" + name + "\"";
        run_everywhere({{spec("embedding", text), [&](Kernel &k) {
                             const int ids[] = {0, 96, 13, 13, 50};
                             for (int r = 0; r < 5; r++) k["ids"].set({r}, ids[r]);
                             std::memcpy(k["w"].data(), packed.words.data(),
                                         packed.words.size() * sizeof(uint32_t));
                             if (!packed.scales.empty())
                                 std::memcpy(k["scale"].data(), packed.scales.data(),
                                             packed.scales.size() * sizeof(float));
                             compare(
                                 k, "y",
                                 [&](const std::vector<int> &at) {
                                     return at[0] < 20 ? table[size_t(ids[at[1]])][size_t(at[0])] : 0.0;
                                 },
                                 limit(1));
                         }}});
    }
}

TEST_CASE("random: log_softmax") {
    Random("log_softmax").run([](Random &r) {
        std::vector<int> tails;
        for (int n = r.between(0, 3); n > 0; n--) tails.push_back(r.size(80));
        return log_softmax(r.size(120), tails, r.size(6));
    });
}

} // namespace vocabulary_test
