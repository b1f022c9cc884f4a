// What text generation refuses, and that nothing is lost by it.
#include "tests/support/text_session.h"
#include "tests/support/tiny_text.h"
#include <cmath>
#include <doctest/doctest.h>
#include <limits>
#include <random>

namespace generator_refusals_test {

using namespace longwave::test;

TEST_CASE("generator: logits that are not finite are a status, and nothing is read") {
    Bigram bigram = alphabet();
    bigram.gain = 3e38f;
    for (const float logit : {3.0f, -3.0f}) {
        bigram.table['c' * 256 + 'x'] = logit; // overflows behind "c"
        bigram.table['a' * 256 + 'b'] = bigram.table['b' * 256 + 'c'] = 1;
        const Model model(bigram_model(bigram));
        Generator generator(model);
        generator.prompt("a");
        CHECK(generator.text(2) == "bc");
        for (int i = 0; i < 2; ++i) {
            CHECK(generator.end() == LW_NOT_FINITE);
            CHECK(std::string(lw_last_error()).find("after 3 ids") == 0);
        }
        lw_stream_stats stats{};
        stats.struct_size = sizeof stats;
        REQUIRE(lw_stream_get_stats(generator.stream, &stats) == LW_OK);
        CHECK(stats.ticks == 3);
        CHECK(stats.poisoned == 1);
        generator.prompt("a");
        CHECK(generator.text(1) == "b");
    }
}

TEST_CASE("generator: what it cannot be made from is refused in one line") {
    const Model model(bigram_model(alphabet())), audio(audio_model()), tokens(token_model());
    lw_generator *none = nullptr;
    Stream stream(model, LW_I32);
    const auto refused = [&](const lw_model *of, lw_sample_format format, lw_status status,
                             const char *words) {
        Stream other(of, format);
        const lw_status given = lw_generator_create(other, nullptr, &none);
        const std::string line = lw_last_error();
        INFO(line);
        return given == status && line.find(words) != std::string::npos &&
               line.find('\n') == std::string::npos;
    };
    CHECK(refused(audio, LW_F32, LW_NOT_FOUND, "input audio takes no token ids"));
    CHECK(refused(tokens, LW_I32, LW_NOT_FOUND, "none of its outputs has 5 values"));
    CHECK(refused(Model(bigram_model({256, alphabet().table, {8, 1}})), LW_I32, LW_INVALID_ARGUMENT,
                  "reads 8 ids at a time"));
    Draft late = bigram_model(alphabet());
    for (auto &entry : late.plan.entries) entry->outputs[0]->delay = 2;
    CHECK(refused(Model(late), LW_I32, LW_NOT_FOUND, "output logits brings no row for each id at once"));
    CHECK(lw_generator_create(nullptr, nullptr, &none) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_create(stream, nullptr, nullptr) == LW_INVALID_ARGUMENT);

    const auto option = [&](auto edit) {
        lw_generator_options options{};
        options.struct_size = sizeof options;
        edit(options);
        return lw_generator_create(stream, &options, &none);
    };
    static const int32_t inside = 1, outside = 256, negative = -1;
    static const lw_logit_bias bad_bias = {256, 1}, infinite = {1, std::numeric_limits<float>::infinity()};
    static const lw_stop_sequence empty = {&inside, 0}, no_ids = {nullptr, 1}, beyond = {&outside, 1},
                                  below = {&negative, 1};
    CHECK(option([](auto &o) { o.struct_size = 0; }) == LW_INVALID_ARGUMENT);
    for (const float bad : {-1.0f, std::nanf(""), 1e7f}) {
        CHECK(option([&](auto &o) { o.temperature = bad; }) == LW_INVALID_ARGUMENT);
        CHECK(option([&](auto &o) { o.top_p = bad; }) == LW_INVALID_ARGUMENT);
        CHECK(option([&](auto &o) { o.min_p = bad; }) == LW_INVALID_ARGUMENT);
        CHECK(option([&](auto &o) { o.repetition_penalty = bad; }) == LW_INVALID_ARGUMENT);
    }
    CHECK(option([](auto &o) { o.repetition_window = 1u << 21; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.recent = 1u << 21; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_biases = 1; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_biases = 1, o.biases = &bad_bias; }) == LW_BAD_TOKEN);
    CHECK(option([](auto &o) { o.n_biases = 1, o.biases = &infinite; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_stops = 1; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_stops = 1, o.stops = &empty; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_stops = 1, o.stops = &no_ids; }) == LW_INVALID_ARGUMENT);
    CHECK(option([](auto &o) { o.n_stops = 1, o.stops = &beyond; }) == LW_BAD_TOKEN);
    CHECK(std::string(lw_last_error()).find("id 256 is outside the vocabulary, 0 … 255") !=
          std::string::npos);
    CHECK(option([](auto &o) { o.n_stops = 1, o.stops = &below; }) == LW_BAD_TOKEN);
    CHECK(std::string(lw_last_error()).find("id -1 is outside") != std::string::npos);
    CHECK(none == nullptr);
    lw_generator_destroy(nullptr);
}

TEST_CASE("generator: calls that cannot be are refused and change nothing") {
    const Model model(bigram_model(alphabet()));
    Generator generator(model);
    CHECK(generator.end() == LW_WRONG_STATE);
    CHECK(std::string(lw_last_error()).find("prompt") != std::string::npos);
    generator.prompt("abc");
    CHECK(lw_generator_prompt(generator, nullptr, 0) == LW_INVALID_ARGUMENT);
    CHECK(std::string(lw_last_error()) == "the prompt is empty: give at least one id");
    const int32_t ids[] = {1, 2, 300};
    CHECK(lw_generator_prompt(generator, ids, 3) == LW_BAD_TOKEN);
    CHECK(std::string(lw_last_error()) == "place 2: id 300 is outside the vocabulary, 0 … 255");
    lw_generator_token token{};
    CHECK(lw_generator_next(generator, &token) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_next(generator, nullptr) == LW_INVALID_ARGUMENT);
    size_t n = 0;
    uint8_t few[10];
    CHECK(lw_generator_save(generator, few, sizeof few, &n) == LW_TOO_SMALL);
    CHECK(n == generator.save().size());
    CHECK(generator.text(3) == "def");
    REQUIRE(lw_stream_finish(generator.stream) == LW_OK);
    CHECK(generator.end() == LW_WRONG_STATE);
    CHECK(lw_generator_prompt(generator, ids, 2) == LW_WRONG_STATE);
    CHECK(lw_generator_prompt(nullptr, ids, 2) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_recent(nullptr, nullptr, 0, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_reset(nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_save(nullptr, nullptr, 0, &n) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_load(nullptr, few, 10) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_load(generator, nullptr, 10) == LW_INVALID_ARGUMENT);
    CHECK(lw_generator_load(generator, nullptr, 0) == LW_BAD_STATE);
}

TEST_CASE("generator: any bytes are safe to load, and a state that is refused changes nothing") {
    const Model model(bigram_model(alphabet()));
    Draft other_draft = bigram_model(alphabet());
    other_draft.plan.computation.assign(32, 9);
    const Model other(other_draft);
    lw_generator_options options{};
    options.recent = 8;
    Generator generator(model, options), target(model, options), stranger(other, options);
    generator.prompt("abcdef");
    generator.text(4);
    const std::vector<uint8_t> saved = generator.save();
    target.prompt("q");
    const std::vector<uint8_t> before = target.save();
    for (size_t n = 0; n < saved.size(); ++n)
        CHECK(lw_generator_load(target, saved.data(), n) == LW_BAD_STATE);
    CHECK(lw_generator_load(stranger, saved.data(), saved.size()) == LW_BAD_STATE);
    CHECK(std::string(lw_last_error()).find("another model") != std::string::npos);
    const std::vector<uint8_t> of_stream = save(generator.stream);
    CHECK(lw_generator_load(target, of_stream.data(), of_stream.size()) == LW_BAD_STATE);
    std::mt19937 random(3);
    for (int i = 0; i < 20000; ++i) {
        std::vector<uint8_t> damaged = saved;
        const size_t at = random() % (i % 2 ? 64 : damaged.size());
        damaged[at] = static_cast<uint8_t>(random());
        lw_generator_token token{};
        token.struct_size = sizeof token;
        if (lw_generator_load(target, damaged.data(), damaged.size()) == LW_BAD_STATE) continue;
        (void)lw_generator_next(target, &token); // whatever it holds, it stays in bounds
        REQUIRE(lw_generator_load(target, before.data(), before.size()) == LW_OK);
    }
    CHECK(target.save() == before);
    REQUIRE(lw_generator_load(target, saved.data(), saved.size()) == LW_OK);
    CHECK(target.text(3) == "klm");
}

TEST_CASE("generator: its memory counts against the limit") {
    const std::vector<uint8_t> bytes = bigram_model(alphabet()).bytes();
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    lw_model_close(model);
    options.memory_limit = info.memory_bytes + info.stream_memory_bytes + 8192;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    {
        Stream stream(model, LW_I32);
        lw_generator_options wanted{};
        wanted.struct_size = sizeof wanted;
        lw_generator *generator = nullptr;
        REQUIRE(lw_generator_create(stream, &wanted, &generator) == LW_OK);
        lw_generator_destroy(generator);
        wanted.recent = 1 << 20;
        CHECK(lw_generator_create(stream, &wanted, &generator) == LW_NO_MEMORY);
        CHECK(generator == nullptr);
    }
    lw_model_close(model);
}

TEST_CASE("generator: every single bit of a saved state that is turned is noticed") {
    const Model model(bigram_model(alphabet()));
    lw_generator_options options{};
    options.recent = 8;
    Generator generator(model, options), target(model, options);
    generator.prompt("abcdef");
    generator.text(4);
    const std::vector<uint8_t> good = generator.save(), before = target.save();
    std::vector<uint8_t> bytes = good;
    size_t loaded = 0;
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
        bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        loaded += lw_generator_load(target, bytes.data(), bytes.size()) != LW_BAD_STATE;
        bytes[bit / 8] = good[bit / 8];
    }
    CHECK(loaded == 0);
    CHECK(target.save() == before);
}

TEST_CASE("generator: a state of an earlier version, without a checksum, loads and the caller can see it") {
    const Model model(bigram_model(alphabet()));
    lw_generator_options options{};
    options.recent = 8;
    Generator generator(model, options), target(model, options);
    generator.prompt("abcdef");
    const std::vector<uint8_t> good = generator.save();
    std::vector<uint8_t> old = good;
    std::fill_n(old.begin() + 24, 8, uint8_t{0}); // of its own head; its stream's has another one
    REQUIRE(lw_generator_load(target, old.data(), old.size()) == LW_OK);
    CHECK(stats_of(target.stream).unchecked_state == 1);
    CHECK(target.save() == good);
    REQUIRE(lw_generator_load(target, good.data(), good.size()) == LW_OK);
    CHECK(stats_of(target.stream).unchecked_state == 0);
}

} // namespace generator_refusals_test
