// Streams of compiled models on a Vulkan device: equal to the processor's, over one saved state, many in one dispatch.
#include "formats/package/package.h"
#include "tests/support/compiled_model.h"
#include "tools/cli/device.h"
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <doctest/doctest.h>
#include <longwave/generator.h>
#include <nlohmann/json.hpp>
#include <random>

using namespace longwave;
using namespace longwave::test;
using nlohmann::json;

namespace {

constexpr size_t width = 5;
constexpr uint32_t vocabulary = 40;

std::shared_ptr<lw_device> device() {
    static const auto found = cli::open_device("vulkan");
    if (found) return *found;
    std::printf("SKIPPED: %s\n", found.status().message().c_str());
    std::fflush(stdout);
    std::_Exit(77);
}

lw_vulkan_stats stats() {
    lw_vulkan_stats now{};
    now.struct_size = sizeof now;
    CHECK(lw_vulkan_get_stats(device().get(), &now) == LW_OK);
    return now;
}

std::vector<float> normal(size_t n, float scale, uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0, scale);
    std::vector<float> values(n);
    for (float &value : values) value = normal(random);
    return values;
}

// Layers that remember rows (convolutions over 5 and 3 of them, SGConv over 24) between those that do not.
class Package {
public:
    json layers = json::array();

    void tensor(const std::string &name, std::vector<uint64_t> shape, float scale, float mean = 0) {
        uint64_t n = 1;
        for (uint64_t extent : shape) n *= extent;
        std::vector<float> values = normal(n, scale, seed_++);
        for (float &value : values) value += mean;
        weights_[name] = {std::move(shape), std::move(values)};
    }
    void linear(const std::string &name, uint64_t in, uint64_t out) {
        layers.push_back({{"type", "linear"}, {"name", name}, {"out_features", out}});
        tensor(name + ".weight", {out, in}, 1 / std::sqrt(static_cast<float>(in)));
        tensor(name + ".bias", {out}, 0.1f);
    }
    void conv1d(const std::string &name, uint64_t in, uint64_t out, uint64_t kernel) {
        layers.push_back({{"type", "conv1d"}, {"name", name}, {"out_channels", out}, {"kernel", kernel}});
        tensor(name + ".weight", {out, in, kernel}, 1 / std::sqrt(static_cast<float>(in * kernel)));
        tensor(name + ".bias", {out}, 0.1f);
    }
    void sgconv(const std::string &name, uint64_t channels, uint32_t l_max) {
        layers.push_back(
            {{"type", "sgconv"}, {"name", name}, {"kernel_dim", 8}, {"l_max", l_max}, {"postact", "glu"}});
        for (int scale = 0; 8u << scale < 2 * l_max; ++scale)
            tensor(name + ".kernel_list." + std::to_string(scale), {1, channels, 8}, 0.3f);
        tensor(name + ".kernel_norm", {1, channels, 1}, 0, 2);
        weights_[name + ".kernel_norm_initialized"] = {{}, {1.0f}};
        tensor(name + ".multiplier", {1, channels, 1}, 0, 2);
        tensor(name + ".D", {1, channels}, 0.3f);
        tensor(name + ".output_linear.0.weight", {2 * channels, channels},
               1 / std::sqrt(static_cast<float>(channels)));
        tensor(name + ".output_linear.0.bias", {2 * channels}, 0.1f);
    }
    void layer_norm(const std::string &name, uint64_t features) {
        layers.push_back({{"type", "layer_norm"}, {"name", name}});
        tensor(name + ".weight", {features}, 0.1f, 1);
        tensor(name + ".bias", {features}, 0.1f);
    }
    void plain(const std::string &type, const std::string &name) {
        layers.push_back({{"type", type}, {"name", name}});
    }

    Expected<compiler::Compiled> compile(const json &input, std::vector<uint32_t> blocks) const {
        const json model = {{"format", "longwave-model"},
                            {"version", 1},
                            {"name", "streams"},
                            {"inputs", json::array({input})},
                            {"layers", layers},
                            {"outputs", json::array({{{"name", "y"}, {"from", layers.back()["name"]}}})}};
        compiler::Options options = options_here();
        options.targets.push_back(*cli::target_of(device().get()));
        options.blocks = std::move(blocks);
        options.length = 256;
        return compiled(model.dump(), weights_, options);
    }

private:
    Tensors weights_;
    uint32_t seed_ = 1;
};

const json features = {{"name", "x"}, {"kind", "features"}, {"width", width}};
const json tokens = {{"name", "ids"}, {"kind", "tokens"}, {"vocabulary", vocabulary}};

Package convolutions() {
    Package package;
    package.conv1d("first", width, 24, 5);
    package.plain("gelu", "act");
    package.layer_norm("norm", 24);
    package.conv1d("second", 24, 16, 3);
    package.linear("out", 16, 7);
    return package;
}

Package long_convolutions() {
    Package package;
    package.linear("in", width, 24);
    package.sgconv("a.conv", 24, 24);
    package.layer_norm("a.norm", 24);
    package.sgconv("b.conv", 24, 200);
    package.linear("out", 24, 7);
    return package;
}

struct Both {
    cli::Model cpu, gpu;

    explicit Both(const Expected<compiler::Compiled> &made) : cpu(opened(made)) {
        auto there = cli::Model::open(made->artifact, device());
        REQUIRE_MESSAGE(there, there.status().message());
        gpu = *std::move(there);
    }
};

double apart(const std::vector<float> &a, const std::vector<float> &b) {
    REQUIRE(a.size() == b.size());
    double peak = 0, worst = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        peak = std::fmax(peak, std::fabs(a[i]));
        worst = std::fmax(worst, std::fabs(double{a[i]} - b[i]));
    }
    CHECK(peak > 0);
    return worst / peak;
}

cli::Stream stream_of(const cli::Model &model, uint32_t entry = 0, lw_format format = LW_F32) {
    auto made = cli::Stream::create(model, format, entry);
    REQUIRE_MESSAGE(made, made.status().message());
    return *std::move(made);
}

void push(lw_stream *stream, const float *x, size_t ticks) {
    size_t taken = 0;
    CHECK(lw_stream_push(stream, x, ticks, &taken) == LW_OK);
    CHECK(taken == ticks);
}

// The rows that come without more input.
void pull(lw_stream *stream, std::vector<float> &rows) {
    lw_output out{};
    out.struct_size = sizeof out;
    while (lw_stream_pull(stream, &out) == LW_OK) rows.insert(rows.end(), out.data, out.data + out.width);
}

std::vector<uint8_t> saved(const lw_stream *stream) {
    size_t n = 0;
    REQUIRE(lw_stream_save(stream, nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> bytes(n);
    REQUIRE(lw_stream_save(stream, bytes.data(), n, &n) == LW_OK);
    return bytes;
}

void compare_entries(const Package &package, const std::vector<uint32_t> &blocks) {
    const auto made = package.compile(features, blocks);
    REQUIRE_MESSAGE(made, made.status().message());
    INFO(made->report);
    const Both models(made);
    REQUIRE(models.gpu.info.n_stream_entries == blocks.size());
    double worst = 0;
    CHECK(lw_model_verify(models.gpu.handle.get(), &worst) == LW_OK);
    CHECK(worst > 0);
    const std::vector<float> x = normal(192 * width, 1, 3);
    for (uint32_t e = 0; e < blocks.size(); ++e) {
        const size_t ticks = 192 / blocks[e] * blocks[e];
        const double error =
            apart(streamed(models.cpu, x.data(), ticks, e), streamed(models.gpu, x.data(), ticks, e));
        MESSAGE("block ", blocks[e], ": ", error, " of the peak");
        CHECK(error <= 1e-5);
    }
}

// `n` streams of one model, pushed to in pieces that leave them at ticks of their own, flushed together: rows with the
// bits of streams alone. Returns the dispatches of a flush in which all of them have a block.
uint64_t many(const Both &models, uint32_t n, uint32_t entry, uint32_t block) {
    constexpr size_t ticks = 64;
    std::vector<cli::Stream> streams;
    std::vector<std::vector<float>> x, rows(n);
    std::vector<size_t> done(n);
    for (uint32_t s = 0; s < n; ++s) {
        x.push_back(normal((ticks + 5 * block) * width, 1, 100 + s));
        streams.push_back(stream_of(models.gpu, entry));
        done[s] = s % 5 * block; // some are further
        push(streams[s].get(), x[s].data(), done[s]);
        pull(streams[s].get(), rows[s]);
    }
    uint64_t dispatches = 0;
    for (size_t tick = 0; tick < ticks; tick += block) {
        for (uint32_t s = 0; s < n; ++s) {
            push(streams[s].get(), x[s].data() + done[s] * width, block);
            done[s] += block;
        }
        const uint64_t before = stats().dispatches;
        REQUIRE(lw_device_flush(device().get()) == LW_OK);
        dispatches = stats().dispatches - before;
        for (uint32_t s = 0; s < n; ++s) pull(streams[s].get(), rows[s]);
        CHECK(stats().dispatches - before == dispatches); // nothing was left to pull
    }
    cli::Stream alone = stream_of(models.gpu, entry);
    for (uint32_t s = 0; s < n; ++s) {
        std::vector<float> expected;
        REQUIRE(lw_stream_reset(alone.get()) == LW_OK);
        for (size_t tick = 0; tick < done[s]; tick += block) {
            push(alone.get(), x[s].data() + tick * width, block);
            pull(alone.get(), expected);
        }
        CHECK(same_bits(rows[s], expected));
    }
    return dispatches;
}

// From device to device every 40 ticks, within blocks, too.
void compare_state(const Package &package) {
    const auto made = package.compile(features, {16, 64});
    REQUIRE_MESSAGE(made, made.status().message());
    const Both models(made);
    const std::vector<float> x = normal(160 * width, 1, 5);
    std::vector<float> expected, rows;
    cli::Stream whole = stream_of(models.cpu), here = stream_of(models.cpu), there = stream_of(models.gpu);
    for (size_t tick = 0; tick < 160; tick += 16) {
        push(whole.get(), x.data() + tick * width, 16);
        pull(whole.get(), expected);
    }
    const cli::Model *on = &models.gpu;
    std::vector<uint8_t> state;
    for (size_t tick = 0; tick < 160; tick += 40, on = on == &models.gpu ? &models.cpu : &models.gpu) {
        lw_stream *stream = on == &models.gpu ? there.get() : here.get();
        if (tick > 0) {
            REQUIRE(lw_stream_load(stream, state.data(), state.size()) == LW_OK);
            CHECK(saved(stream) == state);
        }
        for (size_t piece = 0; piece < 40; piece += 8) { // within a block, too
            push(stream, x.data() + (tick + piece) * width, 8);
            pull(stream, rows);
        }
        state = saved(stream);
    }
    CHECK(apart(expected, rows) <= 1e-5);

    cli::Stream copy = stream_of(models.gpu);
    REQUIRE(lw_stream_copy(copy.get(), there.get()) == LW_OK);
    CHECK(saved(copy.get()) == saved(there.get()));
    std::vector<float> a, b;
    for (lw_stream *stream : {copy.get(), there.get()}) {
        push(stream, x.data(), 64);
        pull(stream, stream == copy.get() ? a : b);
    }
    CHECK(same_bits(a, b));
    REQUIRE(lw_stream_reset(copy.get()) == LW_OK);
    CHECK(saved(copy.get()) == saved(stream_of(models.cpu).get()));
}

} // namespace

TEST_CASE("vulkan streams: every stream entry gives what the processor's gives") {
    compare_entries(convolutions(), {1, 7, 16, 64});
}

TEST_CASE("vulkan streams: long convolutions, too") { compare_entries(long_convolutions(), {1, 16, 64}); }

TEST_CASE("vulkan streams: a state saved on one device goes on on the other, and has the same bytes there") {
    compare_state(convolutions());
}

TEST_CASE("vulkan streams: the same where spectra of past blocks are made again from the state") {
    compare_state(long_convolutions());
}

TEST_CASE("vulkan streams: a finished stream, a prompt and odd pieces give the processor's rows") {
    const auto made = convolutions().compile(features, {16, 64});
    const Both models(made);
    const std::vector<float> x = normal(150 * width, 1, 6);
    std::vector<std::vector<float>> rows(2);
    for (const bool gpu : {false, true}) {
        cli::Stream stream = stream_of(gpu ? models.gpu : models.cpu);
        REQUIRE(lw_stream_prefill(stream.get(), x.data(), 100) == LW_OK);
        pull(stream.get(), rows[gpu]);
        for (size_t tick = 100; tick < 150; tick += 5) {
            push(stream.get(), x.data() + tick * width, 5);
            if (tick % 15 == 0) pull(stream.get(), rows[gpu]);
        }
        REQUIRE(lw_stream_finish(stream.get()) == LW_OK);
        pull(stream.get(), rows[gpu]);
    }
    CHECK(apart(rows[0], rows[1]) <= 1e-5);
}

TEST_CASE("vulkan streams: many streams at ticks of their own have the bits of one, in as many dispatches") {
    const char *wanted = std::getenv("LONGWAVE_TEST_STREAMS");
    const uint32_t n = wanted ? static_cast<uint32_t>(std::atoi(wanted)) : 64;
    const auto made = convolutions().compile(features, {1, 16});
    const Both models(made);
    const uint64_t one = many(models, 1, 1, 16);
    CHECK(one > 3);
    CHECK(many(models, n, 1, 16) == one);
    MESSAGE(n, " streams: ", one, " dispatches a block");
    CHECK(many(models, 5, 0, 1) == many(models, 2, 0, 1));
    const auto longer = long_convolutions().compile(features, {1, 16});
    const Both long_models(longer);
    CHECK(many(long_models, 9, 1, 16) == many(long_models, 1, 1, 16));
}

TEST_CASE(
    "vulkan streams: the keyword model listens as on the processor, 16 of it in as many dispatches as one") {
    auto package = package::read("examples/kws/model");
    REQUIRE_MESSAGE(package, package.status().message());
    compiler::Options options = options_here();
    options.targets.push_back(*cli::target_of(device().get()));
    const auto made = compiler::compile(*std::move(package), options);
    REQUIRE_MESSAGE(made, made.status().message());
    INFO(made->report);
    const Both models(made);
    REQUIRE(models.gpu.info.has_stream == 1);
    const std::vector<float> x = normal(16000, 0.1f, 8);
    for (const uint32_t output : {0u, 1u}) {
        std::vector<std::vector<float>> rows(2);
        for (const bool gpu : {false, true}) {
            cli::Stream stream = stream_of(gpu ? models.gpu : models.cpu);
            const Status status = stream.push(x.data(), x.size(), [&](const cli::StreamRow &row) {
                if (row.index == output) rows[gpu].insert(rows[gpu].end(), row.data, row.data + row.width);
            });
            REQUIRE_MESSAGE(status, status.message());
        }
        const double error = apart(rows[0], rows[1]);
        MESSAGE("output ", output, ": ", error, " of the peak");
        CHECK(error <= 1e-5);
    }
    uint64_t dispatches[2];
    const uint32_t block = models.gpu.info.stream_block;
    for (const uint32_t n : {1u, 16u}) {
        std::vector<cli::Stream> streams;
        for (uint32_t s = 0; s < n; ++s) {
            streams.push_back(stream_of(models.gpu));
            push(streams[s].get(), x.data() + 100 * s, block);
        }
        const uint64_t before = stats().dispatches;
        REQUIRE(lw_device_flush(device().get()) == LW_OK);
        dispatches[n > 1] = stats().dispatches - before;
    }
    MESSAGE(dispatches[0], " dispatches a block");
    CHECK(dispatches[0] == dispatches[1]);
}

TEST_CASE("vulkan streams: a generator over a GPU's stream writes what it writes on the processor") {
    Package package;
    package.layers.push_back(
        {{"type", "embedding"}, {"name", "words"}, {"vocabulary", vocabulary}, {"width", 24}});
    package.tensor("words.weight", {vocabulary, 24}, 1);
    package.conv1d("conv", 24, 24, 4);
    package.plain("gelu", "act");
    package.layer_norm("norm", 24);
    package.linear("head", 24, vocabulary);
    const auto made = package.compile(tokens, {1, 16});
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
            lw_token token{};
            token.struct_size = sizeof token;
            REQUIRE(lw_generator_next(generator, &token) == LW_OK);
            written[gpu].push_back(token.id);
        }
        lw_generator_destroy(generator);
    }
    CHECK(written[0] == written[1]);
}
