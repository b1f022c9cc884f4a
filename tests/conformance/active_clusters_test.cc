// Adaptive softmax in a stream that writes: tails that hold no word which the generator's options
// can choose are not computed. The same ids, and the same bits of everything that was computed;
// longwave/generator.h, likely_only.
#include "longwave/generator.h"
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cstring>
#include <doctest/doctest.h>

namespace active_clusters_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr uint32_t words = 1000, first_tail = 100, second_tail = 400, width = 32;
constexpr float left_out = -1e30f;

// Ids through a causal convolution over the last 8 of them. `lift`: how much likelier than a word
// of the head a class is; far up tails win often, far down they hardly do.
Expected<compiler::Compiled> compiled_with(float lift, const std::string &weights) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "words",
        "inputs": [{"name": "ids", "kind": "tokens", "vocabulary": 1000}],
        "layers": [{"type": "embedding", "name": "e", "vocabulary": 1000, "width": 32},
                   {"type": "conv1d", "name": "c", "out_channels": 32, "kernel": 8},
                   {"type": "tanh", "name": "t"},
                   {"type": "adaptive_softmax", "name": "s", "vocabulary": 1000, "cutoffs": "100,400",
                    "factor": 2, "bias": true}],
        "outputs": [{"name": "y", "from": "s"}]})";
    Tensors tensors;
    const auto add = [&](const std::string &name, std::vector<uint64_t> shape, double scale) {
        size_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        const uint32_t seed = static_cast<uint32_t>(tensors.size()) + 1;
        tensors[name] = {std::move(shape), random_numbers(n, seed, scale)};
    };
    add("e.weight", {words, width}, 1);
    add("c.weight", {width, width, 8}, 0.3);
    add("c.bias", {width}, 0.1);
    add("s.head.word_proj.weight", {first_tail, width}, 1);
    add("s.head.word_proj.bias", {first_tail}, 0);
    add("s.head.class_proj.weight", {2, width}, 1);
    tensors["s.head.class_proj.bias"] = {{2}, {lift, lift - 1}};
    add("s.tail.0.0.weight", {16, width}, 0.5);
    add("s.tail.0.2.weight", {second_tail - first_tail, 16}, 3);
    add("s.tail.0.2.bias", {second_tail - first_tail}, 0.1);
    add("s.tail.1.0.weight", {8, width}, 0.5);
    add("s.tail.1.2.weight", {words - second_tail, 8}, 4);
    add("s.tail.1.2.bias", {words - second_tail}, 0.1);
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = {1, 16};
    options.length = 64;
    options.weights = weights;
    return compiled(json, std::move(tensors), options);
}

// A generator, and the row behind everything that its stream has read.
struct Writer {
    lw_stream *stream = nullptr, *copy = nullptr;
    lw_generator *generator = nullptr;

    Writer(const cli::Model &model, lw_generator_options options, bool likely_only) {
        options.struct_size = sizeof options;
        options.likely_only = likely_only;
        REQUIRE(lw_stream_create(model.handle.get(), nullptr, &stream) == LW_OK);
        REQUIRE(lw_stream_create(model.handle.get(), nullptr, &copy) == LW_OK);
        REQUIRE(lw_generator_create(stream, &options, &generator) == LW_OK);
        const int32_t prompt[] = {3, 999, 141, 59, 2, 65, 358, 979, 323, 846, 26, 433, 83, 279, 502, 88, 419};
        REQUIRE(lw_generator_prompt(generator, prompt, std::size(prompt)) == LW_OK);
    }
    ~Writer() {
        lw_generator_destroy(generator);
        lw_stream_destroy(copy);
        lw_stream_destroy(stream);
    }
    Writer(const Writer &) = delete;

    std::vector<float> row() const {
        REQUIRE(lw_stream_copy(copy, stream) == LW_OK);
        lw_stream_row output{};
        output.struct_size = sizeof output;
        REQUIRE(lw_stream_pull(copy, &output) == LW_OK);
        return {output.data, output.data + output.width};
    }
    int32_t next() const {
        lw_generator_token token{};
        token.struct_size = sizeof token;
        REQUIRE_MESSAGE(lw_generator_next(generator, &token) == LW_OK, lw_last_error());
        return token.id;
    }
};

// What 500 ids were chosen from.
struct Found {
    uint32_t tails_left_out = 0, tails_chosen = 0;
};

// The same ids with and without, and in every row the bits of the whole one, or a whole tail left
// out.
Found compare(const cli::Model &model, const lw_generator_options &options) {
    const Writer all(model, options, false), likely(model, options, true);
    Found found;
    for (int n = 0; n < 500; n++) {
        const std::vector<float> whole = all.row(), part = likely.row();
        REQUIRE(whole.size() == words);
        const uint32_t edges[] = {0, first_tail, second_tail, words};
        for (int c = 0; c < 3; c++) {
            const bool left = part[edges[c]] == left_out;
            REQUIRE_FALSE((left && c == 0));
            found.tails_left_out += left;
            for (uint32_t i = edges[c]; i < edges[c + 1]; i++)
                REQUIRE(
                    part[i] ==
                    (left ? left_out : whole[i])); // finite: equal is the same bits, but for a zero's sign
        }
        const int32_t id = all.next();
        REQUIRE(likely.next() == id);
        found.tails_chosen += id >= static_cast<int32_t>(first_tail);
    }
    return found;
}

} // namespace

TEST_CASE("adaptive softmax: greedy ids are the same without the tails that cannot win, whatever wins") {
    for (const char *weights : {"float32", "int8"})
        for (const float lift : {-4.f, 1.f, 6.f}) {
            INFO(weights << ", classes lifted by " << lift);
            const cli::Model model = opened(compiled_with(lift, weights));
            const Found found = compare(model, {});
            if (lift < 0) CHECK(found.tails_left_out > 700); // of 1,000
            else CHECK(found.tails_left_out < 1000);
            if (lift > 5) CHECK(found.tails_chosen > 100); // of 500
        }
}

TEST_CASE("adaptive softmax: drawn ids are the same without tails that min-p rules out, at any temperature") {
    const cli::Model model = opened(compiled_with(1, "float32"));
    uint32_t left_out_at[3] = {}, n = 0;
    for (const float min_p : {0.9f, 0.1f, 0.001f}) {
        for (const float temperature : {0.5f, 1.f, 1.7f}) {
            lw_generator_options options{};
            options.seed = 7;
            options.temperature = temperature;
            options.min_p = min_p;
            options.top_k = temperature > 1 ? 40 : 0;
            left_out_at[n] += compare(model, options).tails_left_out;
        }
        n++;
    }
    CHECK(left_out_at[0] > left_out_at[1]);
    CHECK(left_out_at[1] > left_out_at[2]);
}

TEST_CASE("adaptive softmax: all words are computed where any of them may be chosen or counts") {
    const cli::Model model = opened(compiled_with(-4, "float32"));
    lw_generator_options base{};
    base.seed = 7;
    const lw_logit_bias bias = {500, 3};
    std::vector<lw_generator_options> list(5, base);
    list[0].temperature = 1; // no min-p
    list[1].temperature = 1, list[1].min_p = 0.5f, list[1].top_p = 0.9f;
    list[2].repetition_penalty = 1.2f;
    list[3].biases = &bias, list[3].n_biases = 1;
    list[4].log_probabilities = 1;
    for (const lw_generator_options &options : list) CHECK(compare(model, options).tails_left_out == 0);
}

TEST_CASE(
    "adaptive softmax: a row with words left out is taken by options that could not choose them alone") {
    const cli::Model model = opened(compiled_with(-4, "float32"));
    const Writer greedy(model, {}, true);
    size_t n = 0;
    REQUIRE(lw_generator_save(greedy.generator, nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> state(n);
    REQUIRE(lw_generator_save(greedy.generator, state.data(), n, &n) == LW_OK);

    const Writer again(model, {}, true);
    REQUIRE(lw_generator_load(again.generator, state.data(), n) == LW_OK);
    CHECK(again.next() == greedy.next());

    lw_generator_options drawing{};
    drawing.temperature = 1;
    const Writer other(model, drawing, true);
    REQUIRE(lw_generator_load(other.generator, state.data(), n) == LW_OK);
    lw_generator_token token{};
    token.struct_size = sizeof token;
    CHECK(lw_generator_next(other.generator, &token) == LW_WRONG_STATE);
    CHECK(std::strstr(lw_last_error(), "lack words"));
    const int32_t id = 5; // a way out
    REQUIRE(lw_generator_prompt(other.generator, &id, 1) == LW_OK);
    CHECK(other.next() >= 0);

    const Writer whole(model, drawing, false); // and its rows are for everybody
    REQUIRE(lw_generator_save(whole.generator, nullptr, 0, &n) == LW_OK);
    state.resize(n);
    REQUIRE(lw_generator_save(whole.generator, state.data(), n, &n) == LW_OK);
    REQUIRE(lw_generator_load(again.generator, state.data(), n) == LW_OK);
    CHECK(again.next() >= 0);
}

} // namespace active_clusters_test
