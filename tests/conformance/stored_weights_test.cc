// Weights of products in fewer bytes, from package to artifact: its size, what the report says of
// the error, runs and streams against float64 sums of the rounded weights, and whose states it
// takes.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

namespace stored_weights_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// Two products with a tanh between them.
constexpr size_t in = 96, middle = 208, out = 40, rows = 50;

const std::vector<float> &first() {
    static const std::vector<float> w = random_numbers(middle * in, 1, 0.3f);
    return w;
}
const std::vector<float> &second() {
    static const std::vector<float> w = random_numbers(out * middle, 2, 0.2f);
    return w;
}
const std::vector<float> &input() {
    static const std::vector<float> x = random_numbers(rows * in, 3, 1);
    return x;
}

Expected<compiler::Compiled> compiled_with(const std::string &weights,
                                           const std::string &activations = "int16") {
    const std::string json = R"({"format": "longwave-model", "version": 1, "name": "products",
        "inputs": [{"name": "x", "kind": "features", "width": 96}],
        "layers": [{"type": "linear", "name": "a", "out_features": 208, "bias": false},
                   {"type": "tanh", "name": "t"},
                   {"type": "linear", "name": "b", "out_features": 40, "bias": false}],
        "outputs": [{"name": "y", "from": "b"}]})";
    Tensors tensors;
    tensors["a.weight"] = {{middle, in}, std::vector<float>(first())};
    tensors["b.weight"] = {{out, middle}, std::vector<float>(second())};
    compiler::Options options = options_here();
    options.targets = {"x86-64-v2", "x86-64-v3", "x86-64-v4"};
    options.stream = compiler::StreamMode::required;
    options.length = rows;
    options.weights = weights;
    options.activations = activations;
    return compiled(json, std::move(tensors), options);
}

const compiler::Compiled &compiled_in(const std::string &weights) {
    static std::map<std::string, compiler::Compiled> made;
    if (!made.count(weights)) {
        const auto result = compiled_with(weights);
        REQUIRE_MESSAGE(result, result.status().message());
        made[weights] = *result;
    }
    return made.at(weights);
}

nlohmann::json report_of(const std::string &weights) {
    return nlohmann::json::parse(compiled_in(weights).report);
}

// Rounded from the definitions of the formats, by rows of `inputs`, and of int4 by groups of 32 of
// them.
std::vector<double> rounded(const std::vector<float> &w, size_t inputs, const std::string &format) {
    std::vector<double> values(w.begin(), w.end());
    const size_t group = format == "int4" ? 32 : inputs;
    for (size_t begin = 0, n; begin < w.size() && format != "float32"; begin += n) {
        n = std::min(group, inputs - begin % inputs);
        float largest = 0;
        for (size_t i = begin; i < begin + n; i++) largest = std::max(largest, std::fabs(w[i]));
        for (size_t i = begin; i < begin + n; i++) {
            const double step = format == "int8"   ? double{largest / 127.f}
                                : format == "int4" ? double{largest / 7.f}
                                                   : std::ldexp(1.0, std::ilogb(w[i]) - 7);
            values[i] = step * std::nearbyint(double{w[i]} / step);
        }
    }
    return values;
}

std::vector<double> product(const std::vector<double> &x, const std::vector<double> &w, size_t inputs) {
    const size_t outputs = w.size() / inputs;
    std::vector<double> y(x.size() / inputs * outputs);
    for (size_t t = 0; t < x.size() / inputs; t++)
        for (size_t o = 0; o < outputs; o++)
            for (size_t i = 0; i < inputs; i++) y[t * outputs + o] += x[t * inputs + i] * w[o * inputs + i];
    return y;
}

std::vector<double> expected(const std::string &format) {
    std::vector<double> x(input().begin(), input().end());
    x = product(x, rounded(first(), in, format), in);
    for (double &value : x) value = std::tanh(value);
    return product(x, rounded(second(), middle, format), middle);
}

// ‖w − ŵ‖ / ‖w‖.
double weight_error(const std::vector<float> &w, size_t inputs, const std::string &format) {
    const std::vector<double> other = rounded(w, inputs, format);
    double difference = 0, size = 0;
    for (size_t i = 0; i < w.size(); i++)
        difference += std::pow(w[i] - other[i], 2), size += std::pow(double{w[i]}, 2);
    return std::sqrt(difference / size);
}

} // namespace

TEST_CASE("stored weights: runs and streams on every level equal float64 sums of the rounded weights") {
    for (const char *format : {"float32", "bf16", "int8", "int4"})
        for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
            INFO(format << " on " << level);
            const auto model = cli::Model::open(compiled_in(format).artifact, level);
            if (!model && model.status().fault() == Fault::device) continue; // another CPU
            REQUIRE_MESSAGE(model, model.status().message());
            const std::vector<double> reference = expected(format);
            // Sums of 96 and 208 products in float32, and tanh: a few units of 6e-8 each. int8,
            // int4: activations in steps of 1/32512 of their peak. That moves an output by 1.5e-5
            // of its rms in each of two layers, and the largest of 2,000 outputs by four times as
            // much (docs/numerics.md).
            const double limit = format == std::string("int8") || format == std::string("int4") ? 9e-5 : 1e-6;
            CHECK(distance(outputs_of_run(*model, sequence_of(input(), in))[0], reference) <= limit);
            CHECK(distance(streamed(*model, input().data(), rows), reference) <= limit);
            double worst = 0;
            CHECK(lw_model_verify(model->handle.get(), &worst) == LW_OK);
        }
}

TEST_CASE("stored weights: the outputs of int8 layers, whose sums are exact, are closer between levels than "
          "their limit") {
    std::vector<std::vector<float>> outputs;
    for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
        const auto model = cli::Model::open(compiled_in("int8").artifact, level);
        if (!model && model.status().fault() == Fault::device) continue; // another CPU
        REQUIRE_MESSAGE(model, model.status().message());
        outputs.push_back(outputs_of_run(*model, sequence_of(input(), in))[0]);
        const std::vector<float> &stream = streamed(*model, input().data(), rows);
        CHECK(distance(stream, std::vector<double>(outputs.back().begin(), outputs.back().end())) <= 9e-5);
    }
    for (const std::vector<float> &other : outputs)
        CHECK(distance(other, std::vector<double>(outputs[0].begin(), outputs[0].end())) <= 9e-5);
}

TEST_CASE("stored weights: the report's rounding counts the steps of activations") {
    const double plain = report_of("float32")["precision"]["rounding"],
                 steps = report_of("int8")["precision"]["rounding"];
    CHECK(plain < 1e-6);
    CHECK(steps > 3e-6); // steps of 3e-5 of a peak, averaged over 96 and 208 inputs
    CHECK(steps < 9e-5);
}

TEST_CASE("stored weights: int8 activations move outputs as the report says, alike in runs and streams") {
    for (const char *format : {"int8", "int4"}) {
        INFO(format);
        const auto made = compiled_with(format, "int8");
        REQUIRE_MESSAGE(made, made.status().message());
        const double rounding = nlohmann::json::parse(made->report)["precision"]["rounding"];
        CHECK(rounding > 1e-3); // steps of 1/127 of a peak
        CHECK(rounding < 3e-2);
        for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
            INFO(level);
            const auto model = cli::Model::open(made->artifact, level);
            if (!model && model.status().fault() == Fault::device) continue; // another CPU
            REQUIRE_MESSAGE(model, model.status().message());
            const std::vector<double> reference = expected(format);
            CHECK(distance(outputs_of_run(*model, sequence_of(input(), in))[0], reference) <=
                  2e-5 + 8 * rounding);
            CHECK(distance(streamed(*model, input().data(), rows), reference) <= 2e-5 + 8 * rounding);
            double worst = 0;
            CHECK(lw_model_verify(model->handle.get(), &worst) == LW_OK);
        }
    }
}

TEST_CASE("stored weights: int8 activations need int8 or int4 weights, and other types do not exist") {
    const auto none = compiled_with("bf16", "int8"), wrong = compiled_with("int8", "int7");
    REQUIRE(!none);
    CHECK(none.status().fault() == Fault::usage);
    CHECK(none.status().message() ==
          "--activations int8 is for layers with int8 or int4 weights: add --weights int8 or int4");
    REQUIRE(!wrong);
    CHECK(wrong.status().message() == "unknown activations \"int7\": expected int16 or int8");
}

TEST_CASE("stored weights: the artifact has a half, a quarter and an eighth of the bytes, and the scales") {
    // Panels of 16 outputs; 40 outputs take three of them. Nothing here is a whole number of pages.
    const size_t floats = in * middle + middle * 48;
    const auto bytes = [](const char *format) { return report_of(format)["weights_bytes"].get<size_t>(); };
    CHECK(bytes("float32") == 4 * floats);
    CHECK(bytes("bf16") == 2 * floats);
    // The steps of activations, the same for both layers, have a cache line.
    CHECK(bytes("int8") == floats + 4 * (middle + 48) + 64);
    // 208 inputs are seven groups, the last of which is half empty.
    CHECK(bytes("int4") == (in * middle + 7 * 32 * 48) / 2 + 4 * (in / 32 * middle + 7 * 48) + 64);
    for (const char *format : {"bf16", "int8"}) {
        // Code differs by some kB.
        const auto saved = static_cast<double>(compiled_in("float32").artifact.size()) -
                           static_cast<double>(compiled_in(format).artifact.size());
        CHECK(std::fabs(saved - static_cast<double>(bytes("float32") - bytes(format))) < 30'000);
    }
}

TEST_CASE("stored weights: the report has the error of each product and of the output") {
    CHECK(!report_of("float32").contains("stored_weights"));
    for (const char *format : {"bf16", "int8", "int4"}) {
        INFO(format);
        const nlohmann::json stored = report_of(format)["stored_weights"];
        REQUIRE(stored["layers"].size() == 2);
        const double errors[] = {weight_error(first(), in, format), weight_error(second(), middle, format)};
        for (size_t i = 0; i < 2; i++) {
            const nlohmann::json &layer = stored["layers"][i];
            CHECK(layer["layer"] == (i ? "b" : "a"));
            CHECK(layer["format"] == format);
            CHECK(layer["error"].get<double>() == doctest::Approx(errors[i]).epsilon(1e-6));
            CHECK(layer["largest"] > 0);
            CHECK(layer["largest"] < (format == std::string("int4") ? 0.5 / 7 + 1e-6 : 0.005)); // half a step
        }
        REQUIRE(stored["outputs"].size() == 1);
        CHECK(stored["outputs"][0]["name"] == "y");
        // On other input than the report's, of the same kind: of its order.
        const double change = stored["outputs"][0]["change"],
                     here = distance(expected(format), expected("float32"));
        CHECK(change > here / 3);
        CHECK(change < here * 3);
    }
}

TEST_CASE("stored weights: a format that does not exist is a usage error of one line") {
    const auto wrong = compiled_with("fp4");
    REQUIRE(!wrong);
    CHECK(wrong.status().fault() == Fault::usage);
    CHECK(wrong.status().message() == "unknown weights \"fp4\": expected float32, bf16, int8 or int4");
}

TEST_CASE("stored weights: a state belongs to the weights it was made with") {
    std::vector<cli::Model> models;
    std::vector<cli::Stream> streams;
    for (const char *format : {"float32", "bf16", "int8"}) {
        models.push_back(*cli::Model::open(compiled_in(format).artifact));
        streams.push_back(*cli::Stream::create(models.back()));
    }
    size_t written = 0;
    lw_stream_save(streams[0].get(), nullptr, 0, &written);
    std::vector<uint8_t> saved(written);
    REQUIRE(lw_stream_save(streams[0].get(), saved.data(), saved.size(), &written) == LW_OK);
    CHECK(lw_stream_load(streams[0].get(), saved.data(), written) == LW_OK);
    CHECK(lw_stream_load(streams[1].get(), saved.data(), written) == LW_BAD_STATE);
    CHECK(lw_stream_load(streams[2].get(), saved.data(), written) == LW_BAD_STATE);
}

} // namespace stored_weights_test
