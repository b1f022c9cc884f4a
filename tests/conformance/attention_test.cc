// linear_attention from package to streams: a state of 8 heads of 64 x 64, advanced row by row, in
// chunks of 16, in blocks of 64 rows and as a whole run, against a float64 recurrence written from
// the definition. The limit of 1e-5 is that of the family; two floats keep the matrix within 1e-6
// (the kernels' own test), the rest is the float32 of queries, keys, values and sums of 64
// products.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <doctest/doctest.h>

namespace attention_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr uint32_t features = 8, heads = 8, width = 64, total = heads * width;
constexpr size_t rows = 100'000, whole_rows = 2048,
                 compared = 2048; // compared: the last rows of the long streams
constexpr double limit = 1e-5;

const std::vector<float> &projection(int which) {
    static const std::vector<float> all[] = {random_numbers(total * features, 1, 0.6),
                                             random_numbers(total * features, 2, 0.6),
                                             random_numbers(total * features, 3, 0.6)};
    return all[which];
}

const std::vector<float> &input() {
    static const std::vector<float> x = random_numbers(rows * features, 4, 1);
    return x;
}

// Rows [first, last) of the result, from the definition.
class Reference {
public:
    std::vector<double> until(size_t last, size_t first) {
        std::vector<double> kept;
        for (; t_ < last; t_++) {
            const std::vector<double> q = projected(0), k = projected(1), v = projected(2);
            std::vector<double> o(total, 0.0);
            for (size_t h = 0; h < heads; h++)
                for (size_t i = 0; i < width; i++) {
                    double *s = &s_[(h * width + i) * width];
                    for (size_t c = 0; c < width; c++) {
                        s[c] += k[h * width + i] * v[h * width + c];
                        o[h * width + c] += q[h * width + i] * s[c];
                    }
                }
            if (t_ >= first) kept.insert(kept.end(), o.begin(), o.end());
        }
        return kept;
    }

private:
    std::vector<double> projected(int which) const {
        std::vector<double> out(total, 0.0);
        for (size_t o = 0; o < total; o++)
            for (size_t i = 0; i < features; i++)
                out[o] += static_cast<double>(projection(which)[o * features + i]) *
                          static_cast<double>(input()[t_ * features + i]);
        return out;
    }
    std::vector<double> s_ = std::vector<double>(size_t{heads} * width * width, 0.0);
    size_t t_ = 0;
};

cli::Model model_of(const std::vector<uint32_t> &blocks) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "attention",
        "inputs": [{"name": "x", "kind": "features", "width": 8}],
        "layers": [{"type": "linear_attention", "name": "a", "heads": 8, "key_width": 512, "value_width": 512, "bias": false}],
        "outputs": [{"name": "y", "from": "a"}]})";
    Tensors weights;
    for (int i = 0; i < 3; i++)
        weights[std::string("a.") + "qkv"[i] + "_proj.weight"] = {{total, features},
                                                                  std::vector<float>(projection(i))};
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    options.length = whole_rows;
    return opened(compiled(json, std::move(weights), options));
}

} // namespace

TEST_CASE("linear attention: step, chunks, blocks of chunks and whole runs equal a float64 recurrence over "
          "100,000 rows") {
    const std::vector<uint32_t> blocks{1, 16, 64};
    const cli::Model model = model_of(blocks);

    SUBCASE("a whole run") {
        const cli::Sequence in =
            sequence_of({input().begin(), input().begin() + whole_rows * features}, features);
        const double error = distance(outputs_of_run(model, in)[0], Reference().until(whole_rows, 0));
        MESSAGE("whole run: " << error);
        CHECK(error <= limit);
    }
    SUBCASE("streams of every block") {
        const std::vector<double> expected = Reference().until(rows, rows - compared);
        for (uint32_t entry = 0; entry < blocks.size(); entry++) {
            const double error =
                distance(streamed(model, input().data(), rows, entry, rows - compared), expected);
            MESSAGE("block " << blocks[entry] << ": " << error);
            CHECK(error <= limit);
        }
    }
}

TEST_CASE("linear attention: the state is one copy of the matrix in two floats, whatever the blocks") {
    const cli::Model model = model_of({16, 1, 64});
    CHECK(carried_bytes(model) == 2 * sizeof(float) * heads * width * width);
    for (uint32_t entry = 0; entry < model.info.stream_entries; entry++)
        CHECK(model.entry(entry).cache_bytes == 0);
}

} // namespace attention_test
