// Text through the C interface: prompts, draws, stops, saved states; its model is a bigram
// (tiny_text.h).
#include "tests/support/text_session.h"
#include "tests/support/tiny_text.h"
#include <cmath>
#include <doctest/doctest.h>
#include <random>
#include <string>

namespace generator_test {

using namespace longwave::test;

namespace {

Bigram noisy(uint32_t vocabulary, std::vector<uint32_t> blocks) {
    Bigram bigram{vocabulary, std::vector<float>(size_t{vocabulary} * vocabulary), std::move(blocks)};
    std::mt19937 generator(vocabulary);
    std::normal_distribution<float> normal(0, 2);
    for (float &logit : bigram.table) logit = normal(generator);
    return bigram;
}

lw_generator_options sampling() {
    lw_generator_options options{};
    options.seed = 42;
    options.temperature = 1;
    options.top_k = 30;
    options.top_p = 0.95f;
    options.repetition_penalty = 1.3f;
    options.repetition_window = 20;
    return options;
}

} // namespace

TEST_CASE("generator: the likeliest id follows, after prompts of any length") {
    const Model model(bigram_model(alphabet()));
    for (const size_t n : {1, 2, 7, 8, 9, 63, 64, 65, 200}) {
        Generator generator(model);
        generator.prompt(std::string(n - 1, 'q') + "w");
        CHECK(generator.text(6) == "xyzabc");
        const lw_generator_token token = generator.next();
        CHECK(token.position == n + 6);
        CHECK(token.log_probability == 0); // nobody asked
        generator.prompt("k");
        CHECK(generator.text(3) == "lmn");
    }
}

TEST_CASE("generator: the log-probability is the model's own") {
    const Bigram bigram = alphabet();
    const Model model(bigram_model(bigram));
    lw_generator_options options{};
    options.log_probabilities = 1;
    options.temperature = 0.3f;
    Generator generator(model, options);
    generator.prompt("a");
    for (int32_t last = 'a', i = 0; i < 50; ++i) {
        const lw_generator_token token = generator.next();
        const double logit = bigram.table[static_cast<size_t>(last * 256 + token.id)];
        CHECK(token.log_probability == doctest::Approx(logit - std::log(std::exp(3.0) + 255)));
        last = token.id;
    }
}

TEST_CASE("generator: a seed and the positions decide every draw") {
    const Model model(bigram_model(noisy(256, {1, 64})));
    Generator first(model, sampling());
    first.prompt("once upon a time");
    const std::string text = first.text(300);
    Generator again(model, sampling());
    again.prompt("once upon a time");
    CHECK(again.text(300) == text);
    REQUIRE(lw_generator_reset(again) == LW_OK);
    again.prompt("once upon a time");
    CHECK(again.text(300) == text);
    lw_generator_options other = sampling();
    other.seed = 43;
    Generator different(model, other);
    different.prompt("once upon a time");
    CHECK(different.text(300) != text);
}

TEST_CASE("generator: the penalty sees the newest ids only, prompts included") {
    const Model model(bigram_model(alphabet()));
    lw_generator_options options{};
    options.repetition_penalty = 100;
    options.repetition_window = 3;
    Generator generator(model, options);
    generator.prompt("bxxa"); // "b" lies just outside of the window
    CHECK(generator.text(1) == "b");
    options.repetition_window = 4;
    Generator wider(model, options);
    wider.prompt("bxxa");
    // 3 / 100 is still above the 0 of all others.
    CHECK(wider.text(1) == "b");
    const lw_logit_bias bias[] = {{'q', 0.5f}};
    options.biases = bias;
    options.n_biases = 1;
    Generator biased(model, options);
    biased.prompt("bxxa");
    CHECK(biased.text(1) == "q");
}

TEST_CASE("generator: a stop sequence ends it, and what may belong to one is held back") {
    const Model model(bigram_model(alphabet()));
    const std::vector<int32_t> efg = {'e', 'f', 'g'}, cde = {'c', 'd', 'z'}, hi = {'h', 'i'};
    const lw_stop_sequence stops[] = {{hi.data(), 2}, {cde.data(), 3}, {efg.data(), 3}};
    lw_generator_options options{};
    options.stops = stops;
    options.n_stops = 3;
    Generator generator(model, options);
    generator.prompt("ef"); // a stop sequence begins behind the prompt: this "g" ends none
    lw_generator_token token = generator.next();
    CHECK(token.id == 'g');
    CHECK(token.held == 0);
    token = generator.next();
    CHECK(token.held == 1); // h
    token = generator.next();
    CHECK(token.stop == 1);
    CHECK(token.held == 2);
    CHECK(generator.end() == LW_END);
    CHECK(generator.end() == LW_END);
    // The same after it was saved, and a prompt goes on.
    Generator loaded(model, options);
    const std::vector<uint8_t> saved = generator.save();
    REQUIRE(lw_generator_load(loaded, saved.data(), saved.size()) == LW_OK);
    CHECK(loaded.end() == LW_END);
    loaded.prompt("b");
    for (const uint32_t expected : {1, 2, 1, 2}) { // c, d: not z but e, f
        token = loaded.next();
        CHECK(token.stop == 0);
        CHECK(token.held == expected);
    }
    token = loaded.next();
    CHECK(token.id == 'g');
    CHECK(token.stop == 3);
    CHECK(token.held == 3);
}

TEST_CASE(
    "generator: saved in the middle of a stop sequence and of a window, it goes on as if it had not been") {
    for (const std::vector<uint32_t> &blocks : {std::vector<uint32_t>{1}, {1, 64}}) {
        const Model model(bigram_model(noisy(256, blocks)));
        lw_generator_options options = sampling();
        std::string text;
        {
            Generator whole(model, options);
            whole.prompt("it was");
            text = whole.text(400);
        }
        // What it will write at 150 … 153 is made the stop sequence.
        const std::vector<int32_t> ids(text.begin() + 150, text.begin() + 154);
        std::vector<int32_t> stop;
        for (const int32_t id : ids) stop.push_back(id & 255);
        const lw_stop_sequence stops[] = {{stop.data(), 4}};
        options.stops = stops;
        options.n_stops = 1;
        for (const size_t cut : {0, 1, 19, 20, 100, 151, 153}) {
            Generator before(model, options), after(model, options);
            before.prompt("it was");
            CHECK(before.text(cut) == text.substr(0, cut));
            const std::vector<uint8_t> saved = before.save();
            after.prompt("something else");
            REQUIRE(lw_generator_load(after, saved.data(), saved.size()) == LW_OK);
            CHECK(after.save() == saved);
            CHECK(after.text(154 - cut) == text.substr(cut, 154 - cut));
            CHECK(after.end() == LW_END);
        }
        CHECK(text.find(text.substr(150, 4)) == 150);
    }
}

TEST_CASE("generator: recent tells what was written since the prompt") {
    const Model model(bigram_model(alphabet()));
    lw_generator_options options{};
    options.recent = 5;
    Generator generator(model, options);
    int32_t ids[10];
    size_t n = 99;
    REQUIRE(lw_generator_recent(generator, ids, 10, &n) == LW_OK);
    CHECK(n == 0);
    generator.prompt("abc");
    REQUIRE(lw_generator_recent(generator, ids, 10, &n) == LW_OK);
    CHECK(n == 0);
    generator.text(3);
    REQUIRE(lw_generator_recent(generator, ids, 10, &n) == LW_OK);
    CHECK(std::string(ids, ids + n) == "def");
    REQUIRE(lw_generator_recent(generator, ids, 2, &n) == LW_OK);
    CHECK(std::string(ids, ids + n) == "ef");
    generator.text(10);
    REQUIRE(lw_generator_recent(generator, ids, 10, &n) == LW_OK);
    CHECK(std::string(ids, ids + n) == "lmnop");
}

TEST_CASE("generator: states of streams in other blocks, with input that waits, are taken up") {
    const Model model(bigram_model(alphabet()));
    lw_stream_options options{};
    options.struct_size = sizeof options;
    options.format = LW_I32;
    options.queue = 128;
    options.block = 64;
    lw_stream *reader = nullptr;
    REQUIRE(lw_stream_create(model, &options, &reader) == LW_OK);
    std::vector<int32_t> ids(100, 'q'); // 64 rows wait, and 36 ids
    ids.back() = 'm';
    size_t taken = 0;
    REQUIRE(lw_stream_push(reader, ids.data(), ids.size(), &taken) == LW_OK);
    REQUIRE(taken == 100);
    const std::vector<uint8_t> state = save(reader);
    lw_stream_destroy(reader);
    options.block = 1;
    lw_stream *stream = nullptr;
    lw_generator *generator = nullptr;
    REQUIRE(lw_stream_create(model, &options, &stream) == LW_OK);
    REQUIRE(lw_generator_create(stream, nullptr, &generator) == LW_OK);
    REQUIRE(lw_stream_load(stream, state.data(), state.size()) == LW_OK);
    lw_generator_token token{};
    token.struct_size = sizeof token;
    REQUIRE(lw_generator_next(generator, &token) == LW_OK);
    CHECK(token.id == 'n');
    CHECK(token.position == 100);
    lw_generator_destroy(generator);
    lw_stream_destroy(stream);
}

TEST_CASE("generator: the state stays as large as it was, and a token takes one block of the same calls") {
    const Model model(bigram_model(noisy(256, {1, 64})));
    Generator generator(model, sampling());
    generator.prompt(std::string(100, 'x'));
    const size_t bytes = generator.save().size();
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    for (const uint64_t tokens : {10, 1000, 100000}) {
        REQUIRE(lw_stream_get_stats(generator.stream, &stats) == LW_OK);
        const uint64_t blocks = stats.blocks;
        generator.text(tokens);
        REQUIRE(lw_stream_get_stats(generator.stream, &stats) == LW_OK);
        CHECK(stats.blocks - blocks == tokens);
        CHECK(generator.save().size() == bytes);
    }
    lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
    REQUIRE(lw_model_stream_entry(model, 0, &entry) == LW_OK);
    CHECK(entry.period == 1); // no block differs from another
}

} // namespace generator_test
