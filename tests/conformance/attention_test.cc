// linear_attention from package to streams: a state of 8 heads of 64 x 64, advanced row by row, in chunks of
// 16, in blocks of 64 rows and as a whole run, against a float64 recurrence written from the definition. The
// limit of 1e-5 is that of the family; two floats keep the matrix within 1e-6 (the kernels' own test), the
// rest is the float32 of queries, keys, values and sums of 64 products.
#include "compiler/compile.h"
#include "formats/package/package.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/model.h"
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <random>

using namespace longwave;

namespace {

constexpr uint32_t features = 8, heads = 8, width = 64, total = heads * width;
constexpr size_t rows = 100'000, whole_rows = 2048,
                 compared = 2048; // compared: the last rows of the long streams
constexpr double limit = 1e-5;

std::vector<float> random_numbers(size_t n, uint32_t seed, double scale) {
    std::mt19937 random(seed);
    std::vector<float> values(n);
    for (float &value : values)
        value = static_cast<float>(scale * (static_cast<double>(random()) / 2147483648.0 - 1));
    return values;
}

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

double distance(const std::vector<float> &found, const std::vector<double> &expected) {
    REQUIRE(found.size() == expected.size());
    double peak = 0, error = 0;
    for (double value : expected) peak = std::max(peak, std::fabs(value));
    for (size_t i = 0; i < found.size(); i++) {
        const double difference = std::fabs(static_cast<double>(found[i]) - expected[i]);
        error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
    }
    return error / peak;
}

cli::Model compiled(const std::vector<uint32_t> &blocks) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "attention",
        "inputs": [{"name": "x", "kind": "features", "width": 8}],
        "layers": [{"type": "linear_attention", "name": "a", "heads": 8, "key_width": 512, "value_width": 512, "bias": false}],
        "outputs": [{"name": "y", "from": "a"}]})";
    std::map<std::string, package::Tensor> weights;
    for (int i = 0; i < 3; i++)
        weights[std::string("a.") + "qkv"[i] + "_proj.weight"] = {{total, features},
                                                                  std::vector<float>(projection(i))};
    const auto package = package::parse(json, std::move(weights));
    REQUIRE_MESSAGE(package, package.status().message());
    compiler::Options options;
    options.targets = {cli::host_target()};
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    options.length = whole_rows;
    options.kgen = std::string(std::getenv("LONGWAVE_BUILD")) + "/longwave-kgen";
    options.cache = std::string(std::getenv("LONGWAVE_BUILD")) + "/tests/kernels";
    const auto artifact = compiler::compile(*package, options);
    REQUIRE_MESSAGE(artifact, artifact.status().message());
    auto model = cli::Model::open(artifact->artifact);
    REQUIRE_MESSAGE(model, model.status().message());
    return *model;
}

} // namespace

TEST_CASE("linear attention: step, chunks, blocks of chunks and whole runs equal a float64 recurrence over "
          "100,000 rows") {
    const std::vector<uint32_t> blocks{1, 16, 64};
    const cli::Model model = compiled(blocks);

    SUBCASE("a whole run") {
        auto runner = cli::Runner::create(model);
        REQUIRE(runner);
        cli::Sequence in;
        in.rows = whole_rows;
        in.floats = {std::vector<float>(input().begin(), input().begin() + whole_rows * features)};
        in.ids.resize(1);
        const auto out = runner->run(in);
        REQUIRE_MESSAGE(out, out.status().message());
        const double error = distance((*out)[0], Reference().until(whole_rows, 0));
        MESSAGE("whole run: " << error);
        CHECK(error <= limit);
    }
    SUBCASE("streams of every block") {
        const std::vector<double> expected = Reference().until(rows, rows - compared);
        for (uint32_t entry = 0; entry < blocks.size(); entry++) {
            auto stream = cli::Stream::create(model, LW_F32, entry);
            REQUIRE(stream);
            std::vector<float> found;
            const cli::OnRow keep = [&](const cli::StreamRow &row) {
                if (row.row >= rows - compared) found.insert(found.end(), row.data, row.data + row.width);
            };
            REQUIRE(stream->push(input().data(), rows, keep));
            REQUIRE(stream->finish(keep));
            const double error = distance(found, expected);
            MESSAGE("block " << blocks[entry] << ": " << error);
            CHECK(error <= limit);
        }
    }
}

TEST_CASE("linear attention: the state is one copy of the matrix in two floats, whatever the blocks") {
    const cli::Model model = compiled({16, 1, 64});
    uint64_t matrix = 0;
    for (uint32_t i = 0; i < model.info.n_state_fields; i++) {
        const auto *bytes = reinterpret_cast<const uint8_t *>(model.info.state_fields);
        const auto &field =
            *reinterpret_cast<const lw_state_field *>(bytes + i * model.info.state_fields->struct_size);
        CHECK(field.kind != LW_STATE_COPY);
        if (field.kind == LW_STATE_CARRY) matrix += field.bytes;
    }
    CHECK(matrix == 2 * sizeof(float) * heads * width * width);
    for (uint32_t entry = 0; entry < model.info.n_stream_entries; entry++)
        CHECK(model.entry(entry).cache_bytes == 0);
}
