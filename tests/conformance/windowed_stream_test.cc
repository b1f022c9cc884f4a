// Streams over a sliding window, of models that look ahead and of one that does not: against
// float64 sums of the definition, against lw_run of each window, and through everything that may
// happen to a stream.
#include "tests/support/compiled_model.h"
#include "tests/support/numbers.h"
#include "tools/cli/check/streaming_check.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <random>

namespace windowed_stream_test {

using namespace longwave;
using namespace longwave::test;
using nlohmann::json;

namespace {

constexpr uint32_t channels = 8, taps = 12, vocabulary = 50'000;

// [side][channel][tap]
const std::vector<float> &kernel() {
    static const std::vector<float> k = random_numbers(size_t{2} * channels * taps, 1, 0.3);
    return k;
}

// A bare two-sided or causal convolution behind `first`, with what `last` puts behind it.
package::Package package_of(const json &input, json layers, bool two_sided, const json &last) {
    const uint64_t sides = two_sided ? 2 : 1;
    layers.push_back({{"type", "sgconv"},
                      {"name", "conv"},
                      {"kernel_dim", taps},
                      {"l_max", taps},
                      {"num_scales", 1},
                      {"linear", true},
                      {"bidirectional", two_sided},
                      {"mode", "cat_randn"}});
    json outputs = json::array({{{"name", "y"}, {"from", "conv"}}});
    for (const json &layer : last) {
        layers.push_back(layer);
        outputs.push_back({{"name", layer["name"]}, {"from", layer["name"]}});
    }
    const json model = {{"format", "longwave-model"},     {"version", 1},     {"name", "slides"},
                        {"inputs", json::array({input})}, {"layers", layers}, {"outputs", outputs}};
    const auto half = kernel().begin() + static_cast<std::ptrdiff_t>(sides * channels * taps);
    std::map<std::string, package::Tensor> weights;
    weights["conv.kernel_list.0"] = {{sides, channels, taps}, std::vector<float>(kernel().begin(), half)};
    weights["conv.kernel_norm"] = {{sides, channels, 1}, std::vector<float>(sides * channels, 1.0f)};
    weights["conv.kernel_norm_initialized"] = {{}, {1.0f}};
    weights["conv.multiplier"] = {{1, 1, 1}, {1.0f}};
    weights["conv.D"] = {{1, channels}, std::vector<float>(channels, 0.5f)};
    weights["embed.weight"] = {{vocabulary, channels}, random_numbers(size_t{vocabulary} * channels, 2, 1)};
    weights["head.weight"] = {{3, channels}, random_numbers(size_t{3} * channels, 3, 1)};
    weights["head.bias"] = {{3}, {0.1f, 0.2f, 0.3f}};
    auto package = package::parse(model.dump(), std::move(weights));
    REQUIRE_MESSAGE(package, package.status().message());
    return *package;
}

package::Package per_step(bool two_sided = true) {
    return package_of({{"name", "x"}, {"kind", "features"}, {"width", channels}}, json::array(), two_sided,
                      json::array());
}

// Token ids, a convolution that looks ahead, the mean over the window, three classes.
package::Package classifier() {
    return package_of(
        {{"name", "ids"}, {"kind", "tokens"}, {"vocabulary", vocabulary}},
        json::array(
            {{{"type", "embedding"}, {"name", "embed"}, {"vocabulary", vocabulary}, {"width", channels}}}),
        true,
        json::array({{{"type", "mean"}, {"name", "pool"}},
                     {{"type", "linear"}, {"name", "head"}, {"out_features", 3}}}));
}

compiler::Options options_for(uint32_t window, uint32_t hop) {
    compiler::Options options = options_here();
    options.window = window;
    options.hop = hop;
    return options;
}

cli::Model model_of(package::Package package, uint32_t window, uint32_t hop) {
    const cli::Model model = opened(compiler::compile(std::move(package), options_for(window, hop)));
    CHECK(lw_model_verify(model.handle.get(), nullptr) == LW_OK);
    return model;
}

// `ticks` of features or ids, `values` a tick.
struct Signal {
    std::vector<float> floats;
    std::vector<int32_t> ids;
    size_t values = 1;
    const void *at(size_t tick) const {
        return ids.empty() ? static_cast<const void *>(&floats[tick * values]) : &ids[tick];
    }
};

Signal features(size_t ticks) { return {random_numbers(ticks * channels, 5, 1), {}, channels}; }

Signal tokens(size_t ticks) {
    std::mt19937 random(6);
    Signal signal;
    for (size_t i = 0; i < ticks; i++) signal.ids.push_back(static_cast<int32_t>(random() % vocabulary));
    return signal;
}

Outputs streamed_in_pieces(const cli::Model &model, const Signal &signal, size_t ticks, size_t piece) {
    auto stream = cli::Stream::create(model);
    REQUIRE(stream);
    Outputs rows(model.stream_outputs.size());
    for (size_t at = 0; at < ticks; at += piece)
        REQUIRE(stream->push(signal.at(at), std::min(piece, ticks - at), into(rows)));
    REQUIRE(stream->finish(into(rows)));
    return rows;
}

// lw_run of the window that ends before tick `end`, zeros where the signal is not.
Outputs run_of_window(const cli::Model &model, cli::Runner &runner, const Signal &signal, size_t ticks,
                      size_t end) {
    const size_t window = model.info.run_capacity;
    cli::Sequence in;
    in.rows = window;
    in.floats.resize(1);
    in.ids.resize(1);
    for (size_t i = 0; i < window; i++) {
        const bool inside = end + i >= window && end + i - window < ticks;
        const size_t tick = inside ? end + i - window : 0;
        if (!signal.ids.empty()) in.ids[0].push_back(inside ? signal.ids[tick] : 0);
        for (size_t v = 0; v < channels && signal.ids.empty(); v++)
            in.floats[0].push_back(inside ? signal.floats[tick * channels + v] : 0.f);
    }
    const auto rows = runner.run(in);
    REQUIRE_MESSAGE(rows, rows.status().message());
    return *rows;
}

// From the definition, over the whole signal; float64.
std::vector<double> convolution(const std::vector<float> &x, bool two_sided) {
    const auto rows = static_cast<int64_t>(x.size() / channels);
    std::vector<double> y(x.size());
    const auto u = [&](int64_t t, size_t h) {
        return t < 0 || t >= rows ? 0 : double{x[static_cast<size_t>(t) * channels + h]};
    };
    for (int64_t t = 0; t < rows; t++)
        for (size_t h = 0; h < channels; h++) {
            double sum = 0.5 * u(t, h);
            for (size_t j = 0; j < taps; j++) {
                sum += kernel()[h * taps + j] * u(t - static_cast<int64_t>(j), h);
                if (two_sided)
                    sum += kernel()[(channels + h) * taps + j] * u(t + 1 + static_cast<int64_t>(j), h);
            }
            y[static_cast<size_t>(t) * channels + h] = sum;
        }
    return y;
}

} // namespace

TEST_CASE("windows: where the middle has its whole past and future, a stream is the convolution of the whole "
          "signal") {
    // 20 ticks to each side of a hop, more than 12 taps reach; 203 ticks are no whole number of
    // hops.
    constexpr size_t ticks = 203;
    const Signal signal = features(ticks);
    for (const bool two_sided : {true, false}) {
        const cli::Model model = model_of(per_step(two_sided), 48, 8);
        CHECK(model.info.stream_delay == 20);
        const std::vector<double> expected = convolution(signal.floats, two_sided);
        const std::vector<float> found = streamed_in_pieces(model, signal, ticks, 7)[0];
        CHECK(distance(found, expected) <= 1e-6); // 24 products in float32, or a transform of 64 points
    }
}

TEST_CASE("windows: every row is that of lw_run of its window, bit for bit, pooled or in the middle") {
    constexpr size_t ticks = 131;
    const Signal signal = tokens(ticks);
    // An even and an odd number of ticks around the hop, one hop a window, and 64.
    const std::vector<std::pair<uint32_t, uint32_t>> shapes = {{48, 16}, {20, 5}, {24, 24}, {64, 1}};
    for (const auto &[window, hop] : shapes) {
        INFO("window " << window << ", hop " << hop);
        const cli::Model model = model_of(classifier(), window, hop);
        auto runner = cli::Runner::create(model);
        REQUIRE(runner);
        const uint32_t delay = (window - hop) / 2, first = window - hop - delay;
        const int y = model.stream_output("y"), head = model.stream_output("head");
        CHECK(model.stream_outputs.at(static_cast<size_t>(y)).delay == delay);
        CHECK(model.stream_outputs.at(static_cast<size_t>(head)).delay == 0);
        CHECK(model.stream_outputs.at(static_cast<size_t>(head)).clock_den == hop);
        Outputs expected(model.stream_outputs.size());
        for (size_t end = hop; end - hop < ticks + delay; end += hop) {
            const Outputs run = run_of_window(model, *runner, signal, ticks, end);
            for (size_t i = 0; i < run.size(); i++) {
                const std::string name = model.run_outputs[i].name;
                std::vector<float> &to = expected[static_cast<size_t>(model.stream_output(name))];
                if (name != "y") {
                    if (end <= ticks) to.insert(to.end(), run[i].begin(), run[i].end());
                    continue;
                }
                for (size_t j = 0; j < hop; j++) {
                    const size_t row = end - hop + j; // behind `delay` rows of start-up
                    if (row < delay || row - delay >= ticks) continue;
                    const auto from = run[i].begin() + static_cast<std::ptrdiff_t>((first + j) * channels);
                    to.insert(to.end(), from, from + channels);
                }
            }
        }
        const Outputs found = streamed_in_pieces(model, signal, ticks, 13);
        for (size_t i = 0; i < found.size(); i++) {
            INFO(model.stream_outputs[i].name);
            CHECK(same_bits(found[i], expected[i]));
        }
    }
}

TEST_CASE("windows: saved, loaded, copied, reset and read ahead, a stream goes on with the same bits") {
    constexpr size_t ticks = 150, cut = 67; // in the middle of a hop, the ring full and turned
    const cli::Model model = model_of(per_step(), 48, 8);
    const Signal signal = features(ticks);
    const Outputs whole = streamed_in_pieces(model, signal, ticks, ticks);
    auto first = cli::Stream::create(model);
    REQUIRE(first);
    Outputs before(1);
    REQUIRE(first->push(signal.at(0), cut, into(before)));
    const auto goes_on = [&](cli::Stream &stream) {
        Outputs rows = before;
        REQUIRE(stream.push(signal.at(cut), ticks - cut, into(rows)));
        REQUIRE(stream.finish(into(rows)));
        CHECK(same_bits(rows[0], whole[0]));
    };
    size_t size = 0;
    REQUIRE(lw_stream_save(first->get(), nullptr, 0, &size) == LW_OK);
    std::vector<uint8_t> saved(size);
    REQUIRE(lw_stream_save(first->get(), saved.data(), size, &size) == LW_OK);
    auto loaded = cli::Stream::create(model), copied = cli::Stream::create(model),
         ahead = cli::Stream::create(model);
    REQUIRE((loaded && copied && ahead));
    REQUIRE(lw_stream_load(loaded->get(), saved.data(), size) == LW_OK);
    REQUIRE(lw_stream_copy(copied->get(), first->get()) == LW_OK);
    goes_on(*loaded);
    goes_on(*copied);
    goes_on(*first);

    REQUIRE(first->reset());
    Outputs again(1);
    REQUIRE(first->push(signal.at(0), ticks, into(again)));
    REQUIRE(first->finish(into(again)));
    CHECK(same_bits(again[0], whole[0]));

    // Reading ahead keeps the newest row, or the rows of the last block; what follows is the same.
    REQUIRE(lw_stream_prefill(ahead->get(), signal.at(0), cut) == LW_OK);
    Outputs later(1);
    REQUIRE(ahead->push(signal.at(cut), ticks - cut, into(later)));
    REQUIRE(ahead->finish(into(later)));
    REQUIRE((later[0].size() > (ticks - cut) * channels && later[0].size() <= whole[0].size()));
    CHECK(
        same_bits(later[0], {whole[0].end() - static_cast<std::ptrdiff_t>(later[0].size()), whole[0].end()}));
}

TEST_CASE("windows: the proof compares windows, limit 0") {
    const cli::Model model = model_of(classifier(), 60, 12);
    const auto proof = cli::check_stream(model);
    REQUIRE_MESSAGE(proof, proof.status().message());
    CHECK(proof->holds());
    CHECK(proof->window == 60);
    CHECK(proof->delay == 24);
    CHECK(proof->limit == 0);
    CHECK(proof->rows == 120 + 2 * 10); // each step, and two pooled outputs for every hop
    CHECK(cli::to_text(*proof).find("window 60, hop 12, delay 24") != std::string::npos);
}

TEST_CASE("windows: the report has window, hop and delay, and a state of the window alone") {
    for (const bool two_sided : {true, false}) {
        auto options = options_for(48, 8);
        options.offline = two_sided; // a stream alone as well
        const auto result = compiler::compile(per_step(two_sided), options);
        REQUIRE_MESSAGE(result, result.status().message());
        const auto model = cli::Model::open(result->artifact);
        REQUIRE_MESSAGE(model, model.status().message());
        CHECK(lw_model_verify(model->handle.get(), nullptr) == LW_OK);
        const json report = json::parse(result->report);
        CHECK(report["causal"] == !two_sided);
        CHECK(!report.contains("no_stream"));
        const json &entry = report["entries"].back();
        CHECK(entry["window"] == 48);
        CHECK(entry["block"] == 8);
        CHECK(entry["delay"] == 20);
        REQUIRE(report["state"].size() == 1);
        CHECK(report["state"][0]["dims"][0] == 48);
    }
}

TEST_CASE("windows: what cannot be is refused, and looking ahead with the way out") {
    const auto refusal = [](const compiler::Options &options) {
        const auto result = compiler::compile(per_step(), options);
        REQUIRE(!result);
        CHECK(result.status().fault() == Fault::usage);
        return result.status().message();
    };
    CHECK(refusal(options_for(48, 0)).starts_with("--window N and --hop M belong together"));
    CHECK(refusal(options_for(0, 8)).starts_with("--window N and --hop M belong together"));
    CHECK(refusal(options_for(50, 8)).starts_with("--window 50 --hop 8: expected 1 to 64 whole hops"));
    for (int which = 0; which < 4; which++) {
        auto options = options_for(48, 8);
        if (which == 0) options.blocks = {8};
        if (which == 1) options.length = 100;
        if (which == 2) options.stream = compiler::StreamMode::required;
        if (which == 3) options.stream = compiler::StreamMode::none;
        CHECK(refusal(options).starts_with("--window makes the stream"));
    }
    auto options = options_for(0, 0);
    options.stream = compiler::StreamMode::required;
    CHECK(refusal(options) ==
          "layer conv looks ahead: it is bidirectional (the second kernel reads samples after t)\ncompile "
          "without --stream for offline runs, or with --window N --hop M to slide over a stream");
}

} // namespace windowed_stream_test
