#include "tests/support/compiled_model.h"
#include "tools/cli/model/artifact_file.h"
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>

namespace longwave::test {

compiler::Options options_here() {
    const std::string build = std::getenv("LONGWAVE_BUILD"); // ctest sets it
    compiler::Options options;
    options.targets = {cli::host_target()};
    options.kgen = build + "/longwave-kgen";
    return options;
}

Expected<compiler::Compiled> compiled(const std::string &model_json, Tensors weights,
                                      const compiler::Options &options) {
    LW_ASSIGN(package::Package package, package::parse(model_json, std::move(weights)));
    return compiler::compile(std::move(package), options);
}

std::vector<uint8_t> two_linear_layers(const std::string &name, const std::string &activation,
                                       uint32_t length) {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": ")" + name + R"(",
        "inputs": [{"name": "x", "kind": "features", "width": 4}],
        "layers": [{"type": "linear", "name": "a", "out_features": 8, "bias": false},
                   {"type": ")" +
                             activation + R"(", "name": "activation"},
                   {"type": "linear", "name": "b", "out_features": 4, "bias": false},
                   {"type": "mean_window", "name": "mean", "frames": 4}],
        "outputs": [{"name": "y", "from": "mean"}]})";
    std::vector<float> w(8 * 4);
    for (size_t i = 0; i < w.size(); i++) w[i] = static_cast<float>(i) / 16 - 1;
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.length = length;
    auto result = compiled(json, {{"a.weight", {{8, 4}, w}}, {"b.weight", {{4, 8}, w}}}, options);
    REQUIRE_MESSAGE(result, result.status().message());
    return std::move(result->artifact);
}

cli::Model opened(const Expected<compiler::Compiled> &compiled) {
    REQUIRE_MESSAGE(compiled, compiled.status().message());
    auto model = cli::Model::open(compiled->artifact);
    REQUIRE_MESSAGE(model, model.status().message());
    return *std::move(model);
}

cli::Sequence sequence_of(std::vector<float> x, size_t width) {
    cli::Sequence sequence;
    sequence.rows = x.size() / width;
    sequence.floats.push_back(std::move(x));
    sequence.ids.resize(1);
    return sequence;
}

Outputs outputs_of_run(const cli::Model &model, const cli::Sequence &in) {
    auto runner = cli::Runner::create(model);
    REQUIRE_MESSAGE(runner, runner.status().message());
    auto out = runner->run(in);
    REQUIRE_MESSAGE(out, out.status().message());
    return *std::move(out);
}

cli::OnRow into(Outputs &rows) {
    return [&rows](const cli::StreamRow &row) {
        rows[row.index].insert(rows[row.index].end(), row.data, row.data + row.width);
    };
}

std::vector<float> streamed(const cli::Model &model, const float *x, size_t ticks, uint32_t entry,
                            size_t first) {
    auto stream = cli::Stream::create(model, LW_F32, entry);
    REQUIRE_MESSAGE(stream, stream.status().message());
    std::vector<float> found;
    const cli::OnRow keep = [&](const cli::StreamRow &row) {
        if (row.index == 0 && row.row >= first) found.insert(found.end(), row.data, row.data + row.width);
    };
    REQUIRE(stream->push(x, ticks, keep));
    REQUIRE(stream->finish(keep));
    return found;
}

bool same_bits(const std::vector<float> &a, const std::vector<float> &b) {
    return a.size() == b.size() && !a.empty() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

uint64_t carried_bytes(const cli::Model &model) {
    uint64_t bytes = 0;
    for (const lw_state_field &field : model.state_fields) {
        CHECK(field.kind != LW_STATE_SPECTRA);
        if (field.kind == LW_STATE_CARRY) bytes += field.bytes;
    }
    return bytes;
}

} // namespace longwave::test
