// Streams of compiled models on a Vulkan device: equal to the CPU's, over one saved state, many in
// one dispatch.
#include "tests/support/layer_package.h"
#include "tests/support/numbers.h"
#include "tests/support/vulkan_streams.h"
#include "tools/cli/check/streaming_check.h"
#include <longwave/generator.h>

namespace vulkan_streams_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t width = 5;
constexpr uint32_t vocabulary = 40;

Expected<compiler::Compiled> compile(const LayerPackage &package, std::vector<uint32_t> blocks) {
    compiler::Options options = vulkan_options_here();
    options.blocks = std::move(blocks);
    options.length = 256;
    return package.compile(options);
}

// Layers that remember rows (convolutions over 5 and 3 of them, SGConv over 24) between those that
// do not.
LayerPackage convolutions() {
    LayerPackage package(features_input(width));
    package.conv1d("first", width, 24, 5);
    package.plain("gelu", "act");
    package.layer_norm("norm", 24);
    package.conv1d("second", 24, 16, 3);
    package.linear("out", 16, 7);
    return package;
}

LayerPackage long_convolutions() {
    LayerPackage package(features_input(width));
    package.linear("in", width, 24);
    package.sgconv("a.conv", 24, 24, {.kernel_dim = 8});
    package.layer_norm("a.norm", 24);
    package.sgconv("b.conv", 24, 200, {.kernel_dim = 8});
    package.linear("out", 24, 7);
    return package;
}

// Its last layers have a row for every fourth of the input.
LayerPackage strided_convolutions() {
    LayerPackage package(features_input(width));
    package.conv1d("first", width, 24, 5, 4);
    package.plain("gelu", "act");
    package.conv1d("second", 24, 16, 3);
    return package;
}

void compare_entries(const LayerPackage &package, const std::vector<uint32_t> &blocks) {
    const auto made = compile(package, blocks);
    REQUIRE_MESSAGE(made, made.status().message());
    INFO(made->report);
    const Both models(made);
    REQUIRE(models.gpu.info.stream_entries == blocks.size());
    double worst = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &worst) == LW_OK);
    CHECK(worst > 0);
    const std::vector<float> x = random_numbers(192 * width, 3);
    for (uint32_t e = 0; e < blocks.size(); ++e) {
        const size_t ticks = 192 / blocks[e] * blocks[e];
        const double error =
            distance(streamed(models.gpu, x.data(), ticks, e), streamed(models.cpu, x.data(), ticks, e));
        MESSAGE("block ", blocks[e], ": ", error, " of the peak");
        CHECK(error <= 1e-5);
    }
}

// From device to device every 40 ticks, within blocks, too.
void compare_state(const LayerPackage &package) {
    const auto made = compile(package, {16, 64});
    REQUIRE_MESSAGE(made, made.status().message());
    const Both models(made);
    const std::vector<float> x = random_numbers(160 * width, 5);
    std::vector<float> expected, rows;
    cli::Stream whole = stream_of(models.cpu), here = stream_of(models.cpu), there = stream_of(models.gpu);
    for (size_t tick = 0; tick < 160; tick += 16) {
        push(whole, x.data() + tick * width, 16);
        pull(whole, expected);
    }
    const cli::Model *on = &models.gpu;
    std::vector<uint8_t> state;
    for (size_t tick = 0; tick < 160; tick += 40, on = on == &models.gpu ? &models.cpu : &models.gpu) {
        const cli::Stream &stream = on == &models.gpu ? there : here;
        if (tick > 0) {
            REQUIRE(lw_stream_load(stream.get(), state.data(), state.size()) == LW_OK);
            CHECK(saved(stream) == state);
        }
        for (size_t piece = 0; piece < 40; piece += 8) { // within a block, too
            push(stream, x.data() + (tick + piece) * width, 8);
            pull(stream, rows);
        }
        state = saved(stream);
    }
    CHECK(distance(rows, expected) <= 1e-5);

    cli::Stream copy = stream_of(models.gpu);
    REQUIRE(lw_stream_copy(copy.get(), there.get()) == LW_OK);
    CHECK(saved(copy) == saved(there));
    std::vector<float> a, b;
    for (const cli::Stream *stream : {&copy, &there}) {
        push(*stream, x.data(), 64);
        pull(*stream, stream == &copy ? a : b);
    }
    CHECK(same_bits(a, b));
    REQUIRE(lw_stream_reset(copy.get()) == LW_OK);
    CHECK(saved(copy) == saved(stream_of(models.cpu)));
}

} // namespace

TEST_CASE("vulkan streams: every stream entry gives what the CPU's gives") {
    compare_entries(convolutions(), {1, 7, 16, 64});
}

TEST_CASE("vulkan streams: long convolutions, too") { compare_entries(long_convolutions(), {1, 16, 64}); }

TEST_CASE("vulkan streams: layers that fire in some blocks alone, too") {
    compare_entries(strided_convolutions(), {1, 2, 16});
}

TEST_CASE("vulkan streams: blocks that fire other layers are other command buffers, recorded once each") {
    const Both models(compile(strided_convolutions(), {1, 2, 16}));
    const Flush last = many_have_the_bits_of_one(models.gpu, {.streams = 9, .entry = 0, .blocks = 12});
    CHECK(last.submissions == 4); // there are streams at every fourth of the way
    CHECK(last.recordings == 0);
}

TEST_CASE("vulkan streams: a state saved on one device goes on on the other, and has the same bytes there") {
    compare_state(convolutions());
}

TEST_CASE("vulkan streams: the same where spectra of past blocks are made again from the state") {
    compare_state(long_convolutions());
}

TEST_CASE("vulkan streams: a finished stream, a prompt and odd pieces give the CPU's rows") {
    const auto made = compile(convolutions(), {16, 64});
    const Both models(made);
    const std::vector<float> x = random_numbers(150 * width, 6);
    std::vector<std::vector<float>> rows(2);
    for (const bool gpu : {false, true}) {
        cli::Stream stream = stream_of(gpu ? models.gpu : models.cpu);
        REQUIRE(lw_stream_prefill(stream.get(), x.data(), 100) == LW_OK);
        pull(stream, rows[gpu]);
        for (size_t tick = 100; tick < 150; tick += 5) {
            push(stream, x.data() + tick * width, 5);
            if (tick % 15 == 0) pull(stream, rows[gpu]);
        }
        REQUIRE(lw_stream_finish(stream.get()) == LW_OK);
        pull(stream, rows[gpu]);
    }
    CHECK(distance(rows[1], rows[0]) <= 1e-5);
}

TEST_CASE("vulkan streams: many streams at ticks of their own have the bits of one, in as many dispatches") {
    const uint32_t n = wanted_streams(64);
    const auto made = compile(convolutions(), {1, 16}), longer = compile(long_convolutions(), {1, 16});
    const Both models(made), long_models(longer);
    const auto dispatches = [](const Both &both, uint32_t streams, uint32_t entry) {
        return many_have_the_bits_of_one(both.gpu, {.streams = streams, .entry = entry}).dispatches;
    };
    const uint64_t one = dispatches(models, 1, 1);
    CHECK(one >= 1);
    CHECK(dispatches(models, n, 1) == one);
    MESSAGE(n, " streams: ", one, " dispatches a block");
    CHECK(dispatches(models, 5, 0) == dispatches(models, 2, 0));
    CHECK(dispatches(long_models, 9, 1) == dispatches(long_models, 1, 1));
}

TEST_CASE(
    "vulkan streams: a window slides over a stream of a model that looks ahead, with the bits of its runs") {
    LayerPackage package(features_input(width));
    package.linear("in", width, 24);
    package.sgconv("conv", 24, 20, {.kernel_dim = 8, .two_sided = true});
    package.conv1d("near", 24, 16, 5);
    package.linear("out", 16, 7);
    compiler::Options options = vulkan_options_here();
    SUBCASE("points in shared memory") { options.window = 48, options.hop = 24; }
    SUBCASE("points in registers") { options.window = 192, options.hop = 96; }
    const uint32_t rows = 3 * options.window;
    const Both models(package.compile(options));
    double worst = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &worst) == LW_OK);
    CHECK(worst > 0);
    const auto proof = cli::check_stream(models.gpu);
    REQUIRE(proof);
    CHECK(proof->window == options.window);
    CHECK(proof->holds());
    const std::vector<float> x = random_numbers(rows * width, 3);
    const std::vector<float> there = streamed(models.gpu, x.data(), rows),
                             here = streamed(models.cpu, x.data(), rows);
    CHECK(distance(there, here) <= 1e-5);
    const uint64_t one = many_have_the_bits_of_one(models.gpu, {.streams = 1}).dispatches;
    CHECK(many_have_the_bits_of_one(models.gpu, {.streams = 9}).dispatches == one);
    MESSAGE(one, " dispatches a hop");

    cli::Stream a = stream_of(models.cpu), b = stream_of(models.gpu); // one record
    push(a, x.data(), 60);
    const std::vector<uint8_t> state = saved(a);
    REQUIRE(lw_stream_load(b.get(), state.data(), state.size()) == LW_OK);
    CHECK(saved(b) == state);
}

TEST_CASE("vulkan streams: a generator over a GPU's stream writes what it writes on the CPU") {
    LayerPackage package(tokens_input(vocabulary));
    package.embedding("words", vocabulary, 24);
    package.conv1d("conv", 24, 24, 4);
    package.plain("gelu", "act");
    package.layer_norm("norm", 24);
    package.linear("head", 24, vocabulary);
    const auto made = compile(package, {1, 16});
    const Both models(made);
    std::vector<std::vector<int32_t>> written(2);
    for (const bool gpu : {false, true}) {
        cli::Stream stream = stream_of(gpu ? models.gpu : models.cpu, 0, LW_I32);
        lw_generator *generator = nullptr;
        REQUIRE(lw_generator_create(stream.get(), nullptr, &generator) == LW_OK);
        std::vector<int32_t> prompt;
        for (int32_t i = 0; i < 37; ++i) prompt.push_back(i * 7 % static_cast<int32_t>(vocabulary));
        REQUIRE(lw_generator_prompt(generator, prompt.data(), prompt.size()) == LW_OK);
        for (int i = 0; i < 30; ++i) {
            lw_generator_token token{};
            token.struct_size = sizeof token;
            REQUIRE(lw_generator_next(generator, &token) == LW_OK);
            written[gpu].push_back(token.id);
        }
        lw_generator_destroy(generator);
    }
    CHECK(written[0] == written[1]);
}

} // namespace vulkan_streams_test
