// Whose states a model takes, from the package on: what it computes counts, though weights and
// layout of the state are equal; how it was compiled does not.
#include "formats/artifact/header.h"
#include "formats/artifact/schema.h"
#include "tests/support/compiled_model.h"
#include <cstring>
#include <doctest/doctest.h>

namespace state_identity_test {

using namespace longwave;
using test::two_linear_layers;

namespace {

const fb::Plan &plan_of(const std::vector<uint8_t> &artifact) {
    return *fb::GetPlan(artifact.data() + artifact::header_bytes);
}
std::vector<uint8_t> bytes_of(const flatbuffers::Vector<uint8_t> *hash) {
    return {hash->begin(), hash->end()};
}
std::vector<uint8_t> weights_of(const std::vector<uint8_t> &artifact) {
    for (const fb::Segment *segment : *plan_of(artifact).segments())
        if (segment->kind() == fb::SegmentKind::weights) return bytes_of(segment->hash());
    return {};
}

// What loading a state of `from` into a stream of `to` says.
lw_status moved(const std::vector<uint8_t> &from, const std::vector<uint8_t> &to) {
    const cli::Model a = *cli::Model::open(from), b = *cli::Model::open(to);
    const cli::Stream source = *cli::Stream::create(a), target = *cli::Stream::create(b);
    const float row[] = {1, -2, 3, -4};
    REQUIRE(lw_stream_push(source.get(), row, 1, nullptr) == LW_OK);
    size_t bytes = 0;
    REQUIRE(lw_stream_save(source.get(), nullptr, 0, &bytes) == LW_OK);
    std::vector<uint8_t> saved(bytes);
    REQUIRE(lw_stream_save(source.get(), saved.data(), saved.size(), &bytes) == LW_OK);
    return lw_stream_load(target.get(), saved.data(), bytes);
}

} // namespace

TEST_CASE("state identity: a model that computes something else over equal weights and an equal layout takes "
          "no state of this one") {
    const auto relu = two_linear_layers("short", "relu", 32), tanh = two_linear_layers("short", "tanh", 32);
    REQUIRE(!weights_of(relu).empty());
    REQUIRE(weights_of(relu) == weights_of(tanh)); // nothing else tells them apart
    REQUIRE(bytes_of(plan_of(relu).layout()) == bytes_of(plan_of(tanh).layout()));
    REQUIRE(plan_of(relu).state_bytes() == plan_of(tanh).state_bytes());
    CHECK(moved(relu, tanh) == LW_BAD_STATE);
    CHECK(moved(tanh, relu) == LW_BAD_STATE);
}

TEST_CASE("state identity: the same model takes it, compiled again or for other lengths") {
    const auto one = two_linear_layers("short", "relu", 32);
    CHECK(moved(one, two_linear_layers("short", "relu", 32)) == LW_OK);
    CHECK(moved(one, two_linear_layers("short", "relu", 64)) == LW_OK);
}

namespace {

// An embedding and a linear layer that share a table, or have one each; a mean over four rows
// between them.
std::vector<uint8_t> with_tables(bool shared, const std::string &weights) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "tables",
        "inputs": [{"name": "ids", "kind": "tokens", "vocabulary": 8}],
        "layers": [{"type": "embedding", "name": "in", "vocabulary": 8, "width": 4},
                   {"type": "mean_window", "name": "mean", "frames": 4},
                   {"type": "linear", "name": "out", "out_features": 8, "bias": false)" +
                             std::string(shared ? R"(, "keys": {"weight": "in.weight"})" : "") + R"(}],
        "outputs": [{"name": "y", "from": "out"}]})";
    std::vector<float> w(8 * 4);
    for (size_t i = 0; i < w.size(); i++) w[i] = static_cast<float>(i) / 17 - 1;
    test::Tensors tensors = {{"in.weight", {{8, 4}, w}}};
    if (!shared) tensors["out.weight"] = {{8, 4}, w};
    compiler::Options options = test::options_here();
    options.stream = compiler::StreamMode::required;
    options.weights = weights;
    const auto result = test::compiled(json, std::move(tensors), options);
    REQUIRE_MESSAGE(result, result.status().message());
    return result->artifact;
}

std::vector<uint8_t> weights_identity(const std::vector<uint8_t> &artifact) {
    const auto *hash = plan_of(artifact).identity()->weights();
    return {hash->begin(), hash->end()};
}

} // namespace

// The identity counts tensors by layer, and a table is rounded alike whether or not a linear layer shares
// it.
TEST_CASE("state identity: a shared table and two equal ones are the same weights") {
    const auto same = [](const std::string &weights) {
        return weights_identity(with_tables(true, weights)) == weights_identity(with_tables(false, weights));
    };
    CHECK(same("float32"));
    CHECK(same("bf16"));
    CHECK(same("int8"));
    CHECK(weights_identity(with_tables(true, "int8")) != weights_identity(with_tables(true, "float32")));
}

} // namespace state_identity_test
