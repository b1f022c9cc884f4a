// One wrong tap, at any lag, in a file whose golden vectors are right: the check of `compile` and
// `verify` report it, in offline runs and in streams. The mutant is the same model with one other
// number. Its weights replace those of the sound file, and the hashes are renewed.
#include "formats/artifact/hash.h"
#include "formats/artifact/header.h"
#include "formats/artifact/plan_generated.h"
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include "tools/cli/check/artifact_check.h"
#include "tools/cli/commands/command.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace far_taps_test {

using namespace longwave;
using namespace longwave::test;
using nlohmann::json;

namespace {

constexpr uint64_t width = 2, taps = 2500;

const fb::Segment &weights_of(const std::vector<uint8_t> &file, artifact::Header &header) {
    std::memcpy(&header, file.data(), sizeof header);
    for (const fb::Segment *segment : *fb::GetPlan(file.data() + header.plan_offset)->segments())
        if (segment->kind() == fb::SegmentKind::weights) return *segment;
    FAIL("no weights");
    std::abort();
}

// The file with the weights of another one, as if they had always been there.
std::vector<uint8_t> with_weights(std::vector<uint8_t> file, const std::vector<uint8_t> &other) {
    artifact::Header header, ignored;
    const fb::Segment &to = weights_of(file, header), &from = weights_of(other, ignored);
    REQUIRE(to.size() == from.size());
    uint8_t *bytes = file.data() + to.offset();
    REQUIRE(std::memcmp(bytes, other.data() + from.offset(), to.size()) != 0);
    std::memcpy(bytes, other.data() + from.offset(), to.size());
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(bytes, to.size(), digest);
    std::memcpy(const_cast<uint8_t *>(to.hash()->data()), digest, sizeof digest);
    artifact::root_hash(header, file.data() + header.plan_offset, header.root);
    std::memcpy(file.data(), &header, sizeof header);
    return file;
}

Status verify(const std::vector<uint8_t> &file) {
    char path[] = "/tmp/longwave-far-taps-XXXXXX";
    close(mkstemp(path));
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char *>(file.data()), static_cast<std::streamsize>(file.size()));
    cli::CommandLine program("", "longwave");
    const cli::Command command = cli::add_verify(program);
    std::string words[] = {"longwave", "verify", path};
    char *arguments[] = {words[0].data(), words[1].data(), words[2].data()};
    REQUIRE_FALSE(program.parse(3, arguments));
    const Status status = command.run();
    unlink(path);
    return status;
}

struct Place {
    std::string tensor;
    uint64_t at; // element
    float by;    // what is added to it
};

struct Subject {
    json layers;
    Tensors weights = {};
    std::string convolution = {}; // algorithm; empty: the planner's choice
    bool streams = true;

    Expected<compiler::Compiled> compile(bool stream, const Place *mutant = nullptr) const {
        Tensors changed = weights;
        if (mutant) {
            package::Tensor &tensor = changed.at(mutant->tensor);
            std::vector<float> values(tensor.data.begin(), tensor.data.end());
            values.at(mutant->at) += mutant->by;
            tensor.data = std::move(values);
        }
        const json model = {
            {"format", "longwave-model"},
            {"version", 1},
            {"name", "far"},
            {"inputs", json::array({{{"name", "x"}, {"kind", "features"}, {"width", width}}})},
            {"layers", layers},
            {"outputs", json::array({{{"name", "y"}, {"from", layers.back()["name"]}}})}};
        compiler::Options options = options_here();
        options.stream = stream ? compiler::StreamMode::required : compiler::StreamMode::none;
        options.offline = !stream;
        if (stream) options.blocks = {32};
        if (stream) options.convolution = convolution;
        return compiled(model.dump(), std::move(changed), options);
    }
};

void every_mutant_is_reported(const Subject &subject, const std::vector<Place> &places) {
    for (const bool stream : {false, true}) {
        if (stream && !subject.streams) continue;
        const auto sound = subject.compile(stream);
        REQUIRE_MESSAGE(sound, sound.status().message());
        const auto report = nlohmann::ordered_json::parse(sound->report);
        for (const auto &entry : report["entries"])
            if (entry.contains("lags")) CHECK(entry["lags"]["exercised"] == entry["lags"]["longest"]);
        const auto held = cli::check_artifact(sound->artifact, report, 1);
        REQUIRE_MESSAGE(held, held.status().message());
        CHECK(held->hold());
        CHECK(verify(sound->artifact));
        for (const Place &place : places) {
            CAPTURE(stream);
            CAPTURE(place.tensor);
            CAPTURE(place.at);
            const auto other = subject.compile(stream, &place);
            REQUIRE_MESSAGE(other, other.status().message());
            const auto mutant = with_weights(sound->artifact, other->artifact);
            CHECK(cli::check_artifact(mutant, report, 1).status().fault() == Fault::check);
            CHECK(verify(mutant).fault() == Fault::check);
        }
    }
}

package::Tensor random_tensor(std::vector<uint64_t> shape, uint32_t seed, float scale, float mean = 0) {
    uint64_t n = 1;
    for (const uint64_t extent : shape) n *= extent;
    std::vector<float> values = random_numbers(n, seed, scale);
    for (float &value : values) value += mean;
    return {std::move(shape), std::move(values)};
}

const float size_of_tap = 1.7f / std::sqrt(static_cast<float>(taps)), wrong = 0.05f * size_of_tap;

// Of the last channel, in a tensor [..., taps].
std::vector<Place> far_places(const std::string &tensor, uint64_t rows, uint64_t n) {
    std::vector<Place> places;
    for (const uint64_t lag : {uint64_t{0}, uint64_t{1023}, uint64_t{1024}, n / 2, n - 1})
        places.push_back({tensor, (rows - 1) * n + lag, wrong});
    return places;
}

// Of this model of one layer.
json one(json layer) { return json::array({std::move(layer)}); }

// A layer of one filter per channel, without a bias: its weights are [width, 1, taps], the oldest
// lag first.
json filter_layer(const std::string &name, uint64_t kernel) {
    const json branch = {{"kind", "conv1d"}, {"kernel", kernel}, {"bias", false}};
    return {{"type", "branches"}, {"name", name}, {"prefix", name}, {"branches", json::array({branch})}};
}

const json identity = json::array({{{"kind", "identity"}}});

} // namespace

TEST_CASE("far taps: of a short_long layer") {
    Subject subject{one({{"type", "short_long"},
                         {"name", "c"},
                         {"short_branches", identity},
                         {"short_mode", "serial_linear"}}),
                    {{"c.long.k0", random_tensor({width, taps}, 1, size_of_tap)}}};
    every_mutant_is_reported(subject, far_places("c.long.k0", width, taps));
    subject.convolution = "partitioned";
    every_mutant_is_reported(subject, far_places("c.long.k0", width, taps));
}

TEST_CASE("far taps: of a two-sided short_long layer, in both directions") {
    const Subject subject{one({{"type", "short_long"},
                               {"name", "c"},
                               {"causal", false},
                               {"short_branches", identity},
                               {"short_mode", "serial_linear"}}),
                          {{"c.long.k0", random_tensor({width, taps}, 2, size_of_tap)},
                           {"c.long.k1", random_tensor({width, taps}, 3, size_of_tap)}},
                          "",
                          false};
    every_mutant_is_reported(subject, far_places("c.long.k0", width, taps));
    every_mutant_is_reported(subject, far_places("c.long.k1", width, taps));
}

TEST_CASE("far taps: of a conv1d layer") {
    const Subject subject{
        one({{"type", "conv1d"}, {"name", "c"}, {"out_channels", 2}, {"kernel", taps}, {"bias", false}}),
        {{"c.weight", random_tensor({2, width, taps}, 4, size_of_tap)}}};
    every_mutant_is_reported(subject, far_places("c.weight", 2 * width, taps));
}

TEST_CASE("far taps: of the scales of an sgconv layer, as spectra and as dyadic pieces") {
    constexpr uint64_t dim = 32, scales = 7; // 32 · 2^6 = 2048 taps
    Subject subject{
        one({{"type", "sgconv"}, {"name", "c"}, {"kernel_dim", dim}, {"l_max", 2048}, {"linear", true}}), {}};
    for (uint64_t i = 0; i < scales; i++)
        subject.weights["c.kernel_list." + std::to_string(i)] =
            random_tensor({1, width, dim}, 5 + static_cast<uint32_t>(i), 1);
    subject.weights["c.kernel_norm"] = {{1, width, 1}, std::vector<float>(width, 30.f)};
    subject.weights["c.kernel_norm_initialized"] = {{}, {1.f}};
    subject.weights["c.multiplier"] = {{1, width, 1}, std::vector<float>(width, 1.f)};
    subject.weights["c.D"] = random_tensor({1, width}, 20, 1);
    std::vector<Place> places;
    for (uint64_t i = 0; i < scales; i++)
        places.push_back({"c.kernel_list." + std::to_string(i), 2 * dim - 1, 0.1f});
    every_mutant_is_reported(subject, places);
    subject.convolution = "dyadic";
    every_mutant_is_reported(subject, places);
}

TEST_CASE("far taps: of a CHELA block") {
    Subject subject{
        one({{"type", "chela"}, {"name", "c"}, {"norm", "none"}, {"heads", 1}, {"short_branches", identity}}),
        {{"c.long.k0", random_tensor({width, taps}, 30, size_of_tap)},
         {"c.gamma", random_tensor({2, width}, 31, 0.3f, 1)},
         {"c.beta", random_tensor({2, width}, 32, 0.1f)}}};
    for (const char *name : {"v_proj", "g_proj", "o_gate"}) {
        subject.weights[std::string("c.") + name + ".weight"] = random_tensor({width, width}, 33, 1);
        subject.weights[std::string("c.") + name + ".bias"] = random_tensor({width}, 34, 0.2f);
    }
    every_mutant_is_reported(subject, far_places("c.long.k0", width, taps));
}

// A room's response begins with silence, and so do the outputs: a short golden vector is all zeros,
// while a transform rounds relative to the loudest tap.
TEST_CASE("far taps: of a filter that begins with silence") {
    std::vector<float> response = random_numbers(width * taps, 40, size_of_tap);
    for (uint64_t channel = 1; channel <= width; channel++)
        std::fill_n(&response[channel * taps - 1000], 1000, 0.f);
    every_mutant_is_reported(
        {one(filter_layer("c", taps)), {{"c.0.conv.weight", {{width, 1, taps}, std::move(response)}}}},
        far_places("c.0.conv.weight", width, taps));
}

// Their product begins at 1e-17 of its peak.
TEST_CASE("far taps: of 24 filters in series, which become one") {
    Subject subject{json::array(), {}};
    constexpr uint64_t kernel = 100;
    for (uint32_t i = 0; i < 24; i++) {
        const std::string name = "l" + std::to_string(i);
        subject.layers.push_back(filter_layer(name, kernel));
        subject.weights[name + ".0.conv.weight"] = random_tensor({width, 1, kernel}, 50 + i, 0.17f);
    }
    every_mutant_is_reported(subject,
                             {{"l0.0.conv.weight", 0, 0.1f}, {"l23.0.conv.weight", kernel - 1, 0.1f}});
}

} // namespace far_taps_test
