// Streams that wait for later rows: convolutions that look ahead, behind each other, with
// residuals, a stride and ops that keep older rows. However the input is cut, and whichever entry
// goes on with a saved state, the rows have the same bits. They are those of an offline run up to
// the order of float32 sums of at most 40 products.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <memory>
#include <random>

namespace late_streams_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 5, most_rows = 96;
constexpr double limit = 1e-6;
const std::vector<uint32_t> blocks{2, 8, 32};

const char *const package = R"({"format": "longwave-model", "version": 2, "name": "late", "length": 96,
    "inputs": [{"name": "x", "kind": "features", "width": 5}],
    "graph": [
      {"name": "a/conv", "op": "conv2d", "inputs": ["x", {"tensor": "dense"}, {"tensor": "bias"}],
       "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0, "ahead": 3}},
      {"name": "a/sigmoid", "op": "sigmoid", "inputs": ["a/conv"]},
      {"name": "b/conv", "op": "centred_conv", "inputs": ["a/sigmoid", {"tensor": "centred"}, {"tensor": "bias"}],
       "attributes": {"bias": 1}},
      {"name": "b/affine", "op": "affine", "inputs": ["b/conv", {"tensor": "scale"}, {"tensor": "bias"}]},
      {"name": "b/sigmoid", "op": "sigmoid", "inputs": ["b/affine"]},
      {"name": "c/add", "op": "add", "inputs": ["b/sigmoid", "x"]},
      {"name": "d/long", "op": "long_conv", "inputs": ["c/add", {"tensor": "taps"}, {"tensor": "D"}],
       "attributes": {"channels": 1, "two_sided": 0}},
      {"name": "d/sigmoid", "op": "sigmoid", "inputs": ["d/long"]},
      {"name": "g/long", "op": "long_conv", "inputs": ["d/sigmoid", {"tensor": "both"}, {"tensor": "D"}],
       "attributes": {"channels": 1, "two_sided": 1, "ahead": 4}},
      {"name": "g/sigmoid", "op": "sigmoid", "inputs": ["g/long"]},
      {"name": "e/conv", "op": "conv2d", "inputs": ["g/sigmoid", {"tensor": "dense"}, {"tensor": "bias"}],
       "attributes": {"stride_t": 2, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0, "ahead": 1}},
      {"name": "e/sigmoid", "op": "sigmoid", "inputs": ["e/conv"]},
      {"name": "f/conv", "op": "centred_conv", "inputs": ["e/sigmoid", {"tensor": "centred"}, {"tensor": "bias"}],
       "attributes": {"bias": 1}},
      {"name": "f/add", "op": "add", "inputs": ["e/sigmoid", "f/conv"]}],
    "outputs": [{"name": "y", "from": "f/add"}, {"name": "early", "from": "c/add"}]})";

const compiler::Compiled &model() {
    static const auto made = [] {
        Tensors all;
        const auto add = [&](const char *key, std::vector<uint64_t> shape, int seed) {
            uint64_t n = 1;
            for (const uint64_t extent : shape) n *= extent;
            all[key] = {shape, random_numbers(n, seed, 0.5)};
        };
        add("dense", {width, width, 6, 1}, 1);
        add("centred", {width, 7}, 2);
        add("bias", {width}, 3);
        add("scale", {width}, 4);
        add("taps", {1, width, 40}, 5);
        add("D", {1, width}, 6);
        std::vector<float> both = random_numbers(2 * width * 20, 7, 0.5);
        for (size_t h = width; h < 2 * width; h++) std::fill_n(&both[h * 20 + 4], 16, 0.f); // 4 taps ahead
        all["both"] = {{2, width, 20}, both};
        compiler::Options options = options_here();
        options.stream = compiler::StreamMode::required;
        options.blocks = blocks;
        return compiled(package, std::move(all), options);
    }();
    REQUIRE_MESSAGE(made, made.status().message());
    return *made;
}

std::vector<float> samples(size_t rows) { return random_numbers(rows * width, 9, 1); }

// In pieces of up to `most` rows; now and then another stream, of one of these entries, goes on
// with the saved state.
Rows in_pieces(const Model &model, const std::vector<float> &x, size_t most, uint32_t seed,
               std::vector<uint32_t> entries) {
    Rows rows;
    std::mt19937 random(seed);
    const auto entry = [&] { return entries[random() % entries.size()]; };
    auto stream = std::make_unique<Stream>(model, LW_F32, 1024, entry());
    for (size_t at = 0; at < x.size();) {
        const size_t n = std::min(x.size() / width - at / width, 1 + random() % most);
        push_rows(*stream, &x[at], n, width, &rows);
        at += n * width;
        if (random() % 3) continue;
        auto next = std::make_unique<Stream>(model, LW_F32, 1024, entry());
        const std::vector<uint8_t> bytes = save(*stream);
        REQUIRE(lw_stream_load(*next, bytes.data(), bytes.size()) == LW_OK);
        stream = std::move(next);
    }
    REQUIRE(lw_stream_finish(*stream) == LW_OK);
    pull_all(*stream, &rows);
    return rows;
}

} // namespace

TEST_CASE("late streams: any cut gives the bits of one piece, and every entry the rows of an offline run") {
    const Model one(model().artifact);
    const cli::Model offline_model = opened(model());
    for (const size_t rows : {1, 2, 3, 5, 8, 17, 31, 32, 33, 64, 95, 96}) {
        CAPTURE(rows);
        const std::vector<float> x = samples(rows);
        const Outputs offline = outputs_of_run(offline_model, sequence_of(x, width));
        const auto check = [&](Rows found) {
            for (const uint32_t output : {0u, 1u}) {
                CAPTURE(output);
                REQUIRE(found[output].size() == rows / (output == 0 ? 2 : 1) * width);
                if (found[output].empty()) continue;
                const std::vector<double> expected(offline[output].begin(), offline[output].end());
                CHECK(distance(found[output], expected) < limit);
            }
        };
        for (uint32_t entry = 0; entry < blocks.size(); entry++) {
            const Rows straight = in_pieces(one, x, rows, 0, {entry});
            check(straight);
            for (uint32_t seed = 1; seed < 6; seed++)
                CHECK(in_pieces(one, x, 6 * seed, seed, {entry}) == straight);
        }
        for (uint32_t seed = 0; seed < 6; seed++) check(in_pieces(one, x, 1 + 6 * seed, seed, {0, 1, 2}));
    }
}

TEST_CASE("late streams: the file says how late its rows come, and which readers it needs") {
    CHECK(model().artifact[10] == 6); // the minor version of the format
    // 3 + 3 + 4 rows, then 1 and 1 to fit the stride of 2, then 3 rows of 2 ticks
    const Model one(model().artifact);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(one, &info) == LW_OK);
    CHECK(info.stream_delay == 10 + 2 + 6);
}

} // namespace late_streams_test
