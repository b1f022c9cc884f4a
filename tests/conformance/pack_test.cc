// Other weights under one shape: what was compiled with weights A and packed with B, against what was
// compiled with B, byte for byte, and against float64 loops.
#include "formats/artifact/recipe.h"
#include "formats/artifact/recipe_schema.h"
#include "packer/pack.h"
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <cmath>
#include <cstring>
#include <doctest/doctest.h>
#include <fmt/format.h>

namespace pack_test {

using namespace longwave;
using namespace longwave::test;

namespace {

compiler::Options packable(const std::vector<uint32_t> &blocks) {
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    options.packable = true;
    return options;
}

// A room: `channels` sources, each heard by all microphones. Taps lie as in PyTorch.
std::string room_json(size_t channels, size_t taps) {
    return fmt::format(R"({{"format": "longwave-model", "version": 1, "name": "room",
        "inputs": [{{"name": "x", "kind": "features", "width": {0}}}],
        "layers": [{{"type": "conv1d", "name": "room", "out_channels": {0}, "kernel": {1}, "bias": false}}],
        "outputs": [{{"name": "y", "from": "room"}}]}})",
                       channels, taps);
}
Tensors room(size_t channels, size_t taps, int seed) {
    return {
        {"room.weight", {{channels, channels, taps}, random_numbers(channels * channels * taps, seed, 0.1)}}};
}

// As a capture of an amplifier: layers of few channels with holes between their taps.
constexpr size_t wide = 6;
std::string capture_json() {
    std::string nodes, x = "audio";
    for (int i = 0; i < 3; i++) {
        nodes += fmt::format(
            R"({0}{{"name": "l{1}/conv", "op": "conv2d", "inputs": ["{2}", {{"tensor": "l{1}.w"}}, {{"tensor": "l{1}.b"}}],
                "attributes": {{"stride_t": 1, "stride_f": 1, "groups": 1, "bias": 1, "frequency": 0,
                "dilation": {3}}}}},
               {{"name": "l{1}/tanh", "op": "tanh", "inputs": ["l{1}/conv"]}})",
            i ? "," : "", i, x, 1 << 2 * i);
        x = fmt::format("l{}/tanh", i);
    }
    return R"({"format": "longwave-model", "version": 2, "name": "capture", "length": 1024,
        "inputs": [{"name": "audio", "kind": "audio", "sample_rate": 16000}], "graph": [)" +
           nodes + R"(], "outputs": [{"name": "y", "from": "l2/tanh"}]})";
}
Tensors capture(int seed, bool equal_biases) {
    Tensors all;
    const auto add = [&](const std::string &key, std::vector<uint64_t> shape, int own, double size) {
        uint64_t n = 1;
        for (const uint64_t extent : shape) n *= extent;
        all[key] = {shape, random_numbers(n, seed + own, size)};
    };
    for (int i = 0; i < 3; i++) {
        add(fmt::format("l{}.w", i), {wide, i ? wide : 1, 3, 1}, 10 * i, 0.5);
        add(fmt::format("l{}.b", i), {wide}, 10 * i + 1, 0.3);
        if (equal_biases) all[fmt::format("l{}.b", i)].data = std::vector<float>(wide, 0.0f);
    }
    return all;
}

std::vector<uint8_t> bytes_of(const std::string &json, Tensors weights, const compiler::Options &options) {
    const auto made = compiled(json, std::move(weights), options);
    REQUIRE_MESSAGE(made, made.status().message());
    return made->artifact;
}

const lw_open_options consent = [] {
    lw_open_options options = LW_OPEN_OPTIONS_INIT;
    options.allow_unsigned_code = 1;
    return options;
}();

packer::Packed packed(const std::vector<uint8_t> &shape, const Tensors &weights) {
    auto made = packer::pack(shape, weights, {.open = &consent});
    REQUIRE_MESSAGE(made, made.status().message());
    return *std::move(made);
}

std::string refused(const std::vector<uint8_t> &shape, const Tensors &weights) {
    const auto made = packer::pack(shape, weights, {.open = &consent});
    REQUIRE(!made);
    return made.status().message();
}

const fb::Plan &plan_in(const std::vector<uint8_t> &file) {
    return *fb::GetPlan(file.data() + artifact::header_bytes);
}
std::vector<uint8_t> segment(const std::vector<uint8_t> &file, fb::SegmentKind kind) {
    for (const fb::Segment *of : *plan_in(file).segments())
        if (of->kind() == kind)
            return {file.begin() + static_cast<ptrdiff_t>(of->offset()),
                    file.begin() + static_cast<ptrdiff_t>(of->offset() + of->size())};
    return {};
}
std::vector<uint8_t> bytes(const flatbuffers::Vector<uint8_t> &vector) {
    return {vector.begin(), vector.end()};
}

// Everything that does not tell of golden outputs is what the compiler writes.
void check_same(const std::vector<uint8_t> &found, const std::vector<uint8_t> &expected) {
    for (const fb::SegmentKind kind : {fb::SegmentKind::weights, fb::SegmentKind::code})
        CHECK(segment(found, kind) == segment(expected, kind));
    CHECK(bytes(*plan_in(found).identity()->weights()) == bytes(*plan_in(expected).identity()->weights()));
    CHECK(bytes(*plan_in(found).identity()->model()) == bytes(*plan_in(expected).identity()->model()));
    CHECK(bytes(*plan_in(found).layout()) == bytes(*plan_in(expected).layout()));
}

void check_packed(const std::string &json, const Tensors &a, const Tensors &b, size_t width,
                  const compiler::Options &options) {
    const auto shape = bytes_of(json, a, options), expected = bytes_of(json, b, options);
    const packer::Packed made = packed(shape, b);
    CHECK(made.vectors > 0);
    CHECK(made.worst <= 1);
    check_same(made.bytes, expected);
    CHECK(segment(shape, fb::SegmentKind::weights) != segment(expected, fb::SegmentKind::weights));
    const auto open = [](const std::vector<uint8_t> &file) {
        auto model = cli::Model::open(file);
        REQUIRE_MESSAGE(model, model.status().message());
        return *std::move(model);
    };
    const cli::Model ours = open(made.bytes), theirs = open(expected);
    const std::vector<float> x = random_numbers(900 * width, 77, 0.5);
    CHECK(outputs_of_run(ours, sequence_of(x, width)) == outputs_of_run(theirs, sequence_of(x, width)));
    for (uint32_t entry = 0; entry < options.blocks.size(); entry++)
        CHECK(same_bits(streamed(ours, x.data(), 900, entry), streamed(theirs, x.data(), 900, entry)));
    // And back again.
    CHECK(segment(packed(made.bytes, a).bytes, fb::SegmentKind::weights) ==
          segment(shape, fb::SegmentKind::weights));
}

} // namespace

TEST_CASE("pack: a room of one channel, in blocks of 16 and 64") {
    check_packed(room_json(1, 700), room(1, 700, 1), room(1, 700, 2), 1, packable({16, 64}));
}

TEST_CASE("pack: two sources and two microphones") {
    check_packed(room_json(2, 300), room(2, 300, 1), room(2, 300, 2), 2, packable({32}));
}

TEST_CASE("pack: a room against float64 sums") {
    constexpr size_t taps = 300, ticks = 900;
    const auto shape = bytes_of(room_json(1, taps), room(1, taps, 1), packable({64}));
    const Tensors b = room(1, taps, 2);
    const auto model = cli::Model::open(packed(shape, b).bytes);
    REQUIRE(model);
    const std::vector<float> x = random_numbers(ticks, 5, 0.5);
    std::vector<double> expected(ticks);
    for (size_t t = 0; t < ticks; t++)
        for (size_t lag = 0; lag < taps && lag <= t; lag++)
            expected[t] += double{b.at("room.weight").data[taps - 1 - lag]} * x[t - lag];
    CHECK(distance(streamed(*model, x.data(), ticks), expected) < 2e-6); // float32 rounding of 300 products
}

TEST_CASE("pack: a stack of convolutions with dilations 1, 4 and 16") {
    check_packed(capture_json(), capture(1, false), capture(2, false), 1, packable({1, 64}));
}

TEST_CASE("pack: what is equal in the shape need not be in other weights") {
    check_packed(capture_json(), capture(1, true), capture(2, false), 1, packable({64}));
}

TEST_CASE("pack: tensors that do not fit are named") {
    const auto shape = bytes_of(capture_json(), capture(1, false), packable({64}));
    Tensors wrong = capture(2, false);
    wrong.erase("l0.w");
    wrong["l1.b"].shape = {1, wide};
    auto numbers = random_numbers(wide, 3);
    numbers[2] = NAN;
    wrong["l2.b"].data = numbers;
    wrong["more"] = {{1}, {1.0f}};
    const std::string text = refused(shape, wrong);
    for (const char *part : {"\"l0.w\" is missing", "\"l1.b\" has the shape [1, 6], expected [6]",
                             "\"l2.b\" has numbers that are not finite", "\"more\" is none of the model"})
        CHECK_MESSAGE(text.find(part) != std::string::npos, text);
}

TEST_CASE("pack: a model that was compiled without --pack is refused") {
    compiler::Options options = packable({64});
    options.packable = false;
    const auto shape = bytes_of(capture_json(), capture(1, false), options);
    CHECK(refused(shape, capture(2, false)).find("compile it with --pack") != std::string::npos);
}

TEST_CASE("pack: a shape that nobody trusts does not run") {
    const auto shape = bytes_of(capture_json(), capture(1, false), packable({64}));
    lw_status status = LW_OK;
    CHECK(!packer::pack(shape, capture(2, false), {}, &status));
    CHECK(status == LW_UNSIGNED_CODE);
}

TEST_CASE("pack: numbers that are computed from several tensors are refused with their layer") {
    const std::string json = R"({"format": "longwave-model", "version": 2, "name": "sum", "length": 64,
        "inputs": [{"name": "x", "kind": "features", "width": 8}],
        "graph": [{"name": "block/sum", "op": "add", "inputs": [{"tensor": "a"}, {"tensor": "b"}]},
                  {"name": "block/affine", "op": "affine", "inputs": ["x", "block/sum", {"tensor": "b"}]}],
        "outputs": [{"name": "y", "from": "block/affine"}]})";
    const auto made = compiled(json, {{"a", {{8}, random_numbers(8, 1)}}, {"b", {{8}, random_numbers(8, 2)}}},
                               packable({1}));
    REQUIRE(!made);
    CHECK_MESSAGE(made.status().message().find("layer block.affine") != std::string::npos,
                  made.status().message());
}

// Rule V22: any bytes of a recipe are refused, or copy inside the weights.
TEST_CASE("pack: changed recipes stay inside") {
    const auto shape = bytes_of(capture_json(), capture(1, false), packable({64}));
    const fb::Plan &plan = plan_in(shape);
    const std::vector<uint8_t> recipe = segment(shape, fb::SegmentKind::recipe);
    const Tensors weights = capture(2, false);
    std::vector<FloatArray> numbers;
    for (const auto &[name, tensor] : weights) numbers.push_back(tensor.data);
    size_t opened = 0, changed = 0;
    for (size_t at = 0; at < recipe.size(); at++)
        for (const uint8_t value :
             {uint8_t{0}, uint8_t{1}, uint8_t{0x7f}, uint8_t{0xff}, uint8_t(recipe[at] ^ 4)}) {
            std::vector<uint64_t> aligned((recipe.size() + 7) / 8);
            auto *mutant = reinterpret_cast<uint8_t *>(aligned.data());
            std::memcpy(mutant, recipe.data(), recipe.size());
            mutant[at] = value;
            changed += value != recipe[at];
            const fb::Recipe *made = nullptr;
            const artifact::Broken broken = artifact::open_recipe(plan, {mutant, recipe.size()}, &made);
            CHECK(bool(broken) == (made == nullptr));
            if (!made) continue;
            bool fits = made->tensors()->size() == numbers.size();
            for (uint32_t t = 0; fits && t < numbers.size(); t++) {
                uint64_t n = 1;
                if (const auto *shape_of = made->tensors()->Get(t)->shape())
                    for (const uint64_t extent : *shape_of) n *= extent;
                fits = n == numbers[t].size();
            }
            if (!fits) continue; // Shape::take refuses it
            opened++;
            std::vector<uint8_t> exact(plan.weights_bytes()); // a sanitizer sees what lies beyond
            artifact::follow(*made, numbers, exact.data());
        }
    CHECK(opened > 0);
    CHECK(opened < changed);
}

} // namespace pack_test
