// Streams of models with few channels: in blocks that fill a vector their histories lie channel by channel.
// The rows are those of an offline run up to the order of float32 sums of at most 30 products. However the
// input is cut, one entry gives the same bits. A saved state has the same form as that of a file whose
// histories lie row by row, and each file goes on with the states of the other.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <memory>
#include <random>

namespace narrow_streams_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t most_rows = 4100;
constexpr double limit = 2e-6;

// Two residual layers as in amplifier models: a dilated convolution with the input mixed in, a product back
// to 3 channels. Then two convolutions without a dilation, of which the last has one channel.
const char *const package = R"({"format": "longwave-model", "version": 2, "name": "narrow", "length": 4100,
    "inputs": [{"name": "x", "kind": "features", "width": 1}],
    "graph": [
      {"name": "in", "op": "conv2d", "inputs": ["x", {"tensor": "in"}], "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}},
      {"name": "mix", "op": "conv2d", "inputs": ["x", {"tensor": "mix"}], "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}},
      {"name": "a/conv", "op": "conv2d", "inputs": ["in", {"tensor": "dilated"}, {"tensor": "bias3"}],
       "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0, "dilation": 7}},
      {"name": "a/mixed", "op": "add", "inputs": ["a/conv", "mix"]},
      {"name": "a/tanh", "op": "tanh", "inputs": ["a/mixed"]},
      {"name": "a/back", "op": "conv2d", "inputs": ["a/tanh", {"tensor": "back"}, {"tensor": "bias3"}], "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0}},
      {"name": "a/sum", "op": "add", "inputs": ["a/back", "in"]},
      {"name": "b/conv", "op": "conv2d", "inputs": ["a/sum", {"tensor": "wide"}, {"tensor": "bias5"}],
       "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0, "dilation": 2}},
      {"name": "b/sigmoid", "op": "sigmoid", "inputs": ["b/conv"]},
      {"name": "c/conv", "op": "conv2d", "inputs": ["b/sigmoid", {"tensor": "same"}, {"tensor": "bias5"}], "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0}},
      {"name": "c/relu", "op": "relu", "inputs": ["c/conv"]},
      {"name": "head", "op": "conv2d", "inputs": ["c/relu", {"tensor": "head"}], "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 0, "frequency": 0}}],
    "outputs": [{"name": "y", "from": "head"}, {"name": "inside", "from": "a/sum"}]})";

// Where two layers remember the sum, its ring has rows. What is added to it lies channel by channel
// elsewhere.
std::string with_two_readers() {
    const std::string
        other =
            R"({"name": "also", "op": "conv2d", "inputs": ["a/sum", {"tensor": "dilated"}, {"tensor": "bias3"}],
       "attributes": {"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0, "dilation": 3}},
      )",
        output = R"({"name": "also", "from": "also"}, )";
    std::string text = package;
    text.insert(text.find(R"({"name": "b/conv")"), other);
    return text.insert(text.find(R"({"name": "inside")"), output);
}

compiler::Compiled model(const std::vector<uint32_t> &blocks, const std::string &text = package) {
    Tensors all;
    const auto add = [&](const char *key, std::vector<uint64_t> shape, int seed) {
        uint64_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        all[key] = {shape, random_numbers(n, seed, 0.5)};
    };
    add("in", {3, 1, 1, 1}, 1);
    add("mix", {3, 1, 1, 1}, 2);
    add("dilated", {3, 3, 4, 1}, 3);
    add("back", {3, 3, 1, 1}, 4);
    add("wide", {5, 3, 6, 1}, 5);
    add("same", {5, 5, 2, 1}, 6);
    add("head", {1, 5, 4, 1}, 7);
    add("bias3", {3}, 8);
    add("bias5", {5}, 9);
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    auto made = compiled(text, std::move(all), options);
    REQUIRE_MESSAGE(made, made.status().message());
    return *std::move(made);
}

struct Place {
    const Model *model;
    uint32_t entry;
};

// In pieces of up to `most` rows; now and then another stream, at one of these places, goes on with the saved
// state.
Rows in_pieces(const std::vector<Place> &places, const std::vector<float> &x, size_t most, uint32_t seed) {
    Rows rows;
    std::mt19937 random(seed);
    const auto fresh = [&] {
        const Place &place = places[random() % places.size()];
        return std::make_unique<Stream>(*place.model, LW_F32, 8192, place.entry);
    };
    auto stream = fresh();
    for (size_t at = 0; at < x.size();) {
        const size_t n = std::min<size_t>(x.size() - at, 1 + random() % most);
        push_rows(*stream, &x[at], n, 1, &rows);
        at += n;
        if (random() % 3) continue;
        auto next = fresh();
        const std::vector<uint8_t> bytes = save(*stream);
        REQUIRE(lw_stream_load(*next, bytes.data(), bytes.size()) == LW_OK);
        stream = std::move(next);
    }
    REQUIRE(lw_stream_finish(*stream) == LW_OK);
    pull_all(*stream, &rows);
    return rows;
}

// A state, and the rows up to it.
struct Saved {
    std::vector<uint8_t> state;
    Rows rows;
};

Saved saved_after(const Model &model, const std::vector<float> &x) {
    Stream stream(model, LW_F32, 8192);
    Saved saved;
    push_rows(stream, x.data(), x.size(), 1, &saved.rows);
    saved.state = save(stream);
    return saved;
}

// Histories that lie channel by channel: those of 3 and 5 channels have as many rows of slots.
size_t by_channel(const Model &model) {
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    size_t found = 0;
    for (uint32_t i = 0; i < info.state_fields; i++) {
        lw_state_field field{};
        field.struct_size = sizeof field;
        REQUIRE(lw_model_state_field(model, i, &field) == LW_OK);
        found += field.n_dims == 2 && (field.dims[0] == 3 || field.dims[0] == 5);
    }
    return found;
}

} // namespace

TEST_CASE("narrow streams: the rows of an offline run, however the input is cut") {
    const compiler::Compiled first = model({1, 16, 48}), odd = model({441}), large = model({4096}),
                             rows_alone = model({4});
    const Model blocks(first.artifact), of_441(odd.artifact), of_4096(large.artifact),
        by_row(rows_alone.artifact);
    CHECK(first.artifact[10] == 12); // the minor version of the format
    CHECK(by_channel(blocks) == 4);
    CHECK(by_channel(of_441) == 4);
    CHECK(by_channel(of_4096) == 4);
    CHECK(by_channel(by_row) == 0);

    const cli::Model offline_model = opened(first);
    const std::vector<float> all = random_numbers(most_rows, 10, 1);
    for (const size_t rows : {1, 2, 47, 48, 49, 97, 500, 4100}) {
        CAPTURE(rows);
        const std::vector<float> x(all.begin(), all.begin() + static_cast<ptrdiff_t>(rows));
        const Outputs offline = outputs_of_run(offline_model, sequence_of(x, 1));
        const auto check = [&](const Rows &found) {
            for (const uint32_t output : {0u, 1u}) {
                CAPTURE(output);
                REQUIRE(found.at(output).size() == rows * (output == 0 ? 1 : 3));
                const std::vector<double> expected(offline[output].begin(), offline[output].end());
                CHECK(distance(found.at(output), expected) < limit);
            }
        };
        std::vector<Place> places;
        for (const uint32_t entry : {0u, 1u, 2u}) {
            places.push_back({&blocks, entry});
            const Rows straight = in_pieces({places.back()}, x, rows, 0);
            check(straight);
            for (uint32_t seed = 1; seed < 5; seed++)
                CHECK(in_pieces({places.back()}, x, 20 * seed, seed) == straight);
        }
        for (const Place &place : {Place{&by_row, 0}, Place{&of_441, 0}, Place{&of_4096, 0}}) {
            const Rows straight = in_pieces({place}, x, rows, 0);
            check(straight);
            CHECK(in_pieces({place}, x, 700, 1) == straight);
        }
        // All entries of a file in turns.
        for (uint32_t seed = 0; seed < 5; seed++) check(in_pieces(places, x, 10 + 30 * seed, seed));
    }
}

TEST_CASE("narrow streams: a sum that two layers remember has rows, and its operands follow it") {
    const compiler::Compiled made = model({16, 48}, with_two_readers());
    const Model two(made.artifact);
    CHECK(by_channel(two) == 3);
    const cli::Model offline_model = opened(made);
    const std::vector<float> x = random_numbers(500, 13, 1);
    const Outputs offline = outputs_of_run(offline_model, sequence_of(x, 1));
    const Rows found = in_pieces({{&two, 0}, {&two, 1}}, x, 70, 1);
    for (const uint32_t output : {0u, 1u, 2u}) {
        CAPTURE(output);
        const std::vector<double> expected(offline[output].begin(), offline[output].end());
        CHECK(distance(found.at(output), expected) < limit);
    }
}

TEST_CASE("narrow streams: a saved state does not show how its histories lie") {
    const compiler::Compiled channels = model({16, 48}), row_by_row = model({4});
    const Model by_channel(channels.artifact), by_row(row_by_row.artifact);
    for (const size_t rows : {0, 16, 48, 96, 192, 480}) { // whole blocks of both: nothing waits
        CAPTURE(rows);
        const std::vector<float> x = random_numbers(rows, 11, 1);
        Saved one = saved_after(by_channel, x), other = saved_after(by_row, x);
        REQUIRE(one.state.size() == other.state.size());
        if (rows == 0) CHECK(one.state == other.state);
        // The same bytes again where nothing has run in between.
        Stream stream(by_row, LW_F32, 8192), back(by_channel, LW_F32, 8192);
        REQUIRE(lw_stream_load(stream, one.state.data(), one.state.size()) == LW_OK);
        CHECK(save(stream) == one.state);
        REQUIRE(lw_stream_load(back, other.state.data(), other.state.size()) == LW_OK);
        CHECK(save(back) == other.state);
        // Each goes on with the state of the other.
        const std::vector<float> more = random_numbers(480, 12, 1);
        push_rows(stream, more.data(), more.size(), 1, &one.rows);
        push_rows(back, more.data(), more.size(), 1, &other.rows);
        const std::vector<double> expected(one.rows.at(0).begin(), one.rows.at(0).end());
        CHECK(distance(other.rows.at(0), expected) < limit);
    }
}

} // namespace narrow_streams_test
