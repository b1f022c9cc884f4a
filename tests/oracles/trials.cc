#include "tests/oracles/trials.h"
#include "tests/oracles/kinds.h"
#include "tests/oracles/sgconv_model.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

using nlohmann::json;

namespace longwave::oracles {
namespace {

constexpr double kernel_limit = 1e-6;

void add_input(const Rows &rows, bool tokens, cli::Sequence &sequence) {
    sequence.rows = rows.rows;
    sequence.floats.emplace_back();
    sequence.ids.emplace_back();
    if (tokens) sequence.ids.back().assign(rows.data.begin(), rows.data.end());
    else sequence.floats.back() = rows.data;
}

Trial trial_of(const Case &c) {
    Trial trial;
    trial.model_json = c.model_json;
    trial.weights = c.weights;
    trial.length = static_cast<uint32_t>(c.positions);
    const json inputs = json::parse(c.model_json).at("inputs");
    bool cut = false; // some sequence is shorter than its rows: pooling stops there, a stream does not know
    for (const Run &run : c.runs) {
        cli::Sequence sequence;
        for (size_t i = 0; i < run.inputs.size(); i++)
            add_input(run.inputs[i], inputs[i].at("kind") == "tokens", sequence);
        sequence.lengths = run.lengths;
        for (const size_t length : run.lengths) cut |= length != sequence.rows;
        trial.sequences.push_back(std::move(sequence));
        for (size_t i = 0; i < run.outputs.size(); i++) {
            const Expectation &expected = run.outputs[i];
            if (trial.comparisons.size() <= i)
                trial.comparisons.push_back({expected.output.name,
                                             expected.output.name,
                                             {},
                                             expected.peak,
                                             c.limit,
                                             !expected.running,
                                             true,
                                             expected.leading});
            trial.comparisons[i].reference.push_back(expected.output.data);
        }
    }
    trial.streams = c.causal && !cut && inputs.size() == 1;
    return trial;
}

// The kernel itself: the bare convolution without D, hit by an impulse. The response to one at the
// first tick is the forward kernel; to one at the last tick, read backwards from the tick before
// it, the backward kernel.
Expected<Trial> kernel_trial(const Case &c, json config, const std::string &what) {
    const package::Tensor &k = c.references.at(what);
    if (k.shape.size() != 3) return Status::input("ref." + what + " is not (rows, channels, taps)");
    const size_t width = k.shape[1], length = k.shape[2],
                 copies = k.shape[0] / (config.value("bidirectional", false) ? 2 : 1), out = copies * width;
    if (out * length == 0) return Status::input("ref." + what + " is empty");
    const bool two_sided = copies != k.shape[0];
    Trial trial;
    trial.length = static_cast<uint32_t>(length);
    trial.weights = c.weights;
    trial.weights["conv.D"].data = std::vector<float>(trial.weights["conv.D"].data.size());
    config.update({{"linear", true}, {"postact", nullptr}, {"ln", false}});
    if (what == "k_full") { // the kernel before it is cut or resized
        std::string mode = config.value("mode", "cat_randn");
        for (const std::string word : {"_trunc", "_expand"})
            if (const size_t at = mode.find(word); at != mode.npos) mode.erase(at, word.size());
        config["mode"] = mode;
    }
    LW_ASSIGN(json layer, sgconv_layer(config, length));
    layer["name"] = "conv";
    trial.model_json =
        model_json(what, json::array({{{"name", "x"}, {"kind", "features"}, {"width", width}}}),
                   json::array({layer}), {{"y", "conv"}});

    const auto tap = [&](size_t row, size_t h, size_t t) { return k.data[(row * width + h) * length + t]; };
    Comparison comparison{what, "y", {}, 0, kernel_limit, true, false};
    for (const float value : k.data) comparison.peak = std::max<double>(comparison.peak, std::abs(value));
    for (const size_t at : two_sided ? std::vector<size_t>{0, length - 1} : std::vector<size_t>{0}) {
        Rows impulse{"x", length, width, std::vector<float>(length * width)};
        std::vector<float> response(length * out);
        std::fill_n(impulse.data.begin() + static_cast<std::ptrdiff_t>(at * width), width, 1.0f);
        for (size_t copy = 0; copy < copies; copy++)
            for (size_t h = 0; h < width; h++) {
                for (size_t t = at; t < length; t++)
                    response[t * out + copy * width + h] = tap(copy, h, t - at);
                for (size_t t = 0; t < at; t++)
                    response[t * out + copy * width + h] = tap(copies + copy, h, at - 1 - t);
            }
        trial.sequences.emplace_back();
        add_input(impulse, false, trial.sequences.back());
        comparison.reference.push_back(std::move(response));
    }
    trial.comparisons.push_back(std::move(comparison));
    return trial;
}

Expected<json> read_description(const std::string &json_path) {
    std::ifstream file(json_path);
    std::stringstream text;
    if (!(text << file.rdbuf())) return Status::input(json_path + ": cannot be read");
    return json::parse(text.str(), nullptr, false);
}

Expected<Fixture> read_fixture(const std::string &json_path) {
    LW_ASSIGN(const json description, read_description(json_path));
    if (!description.is_object() || !description.contains("config"))
        return Status::input("expected a JSON object with \"operator\" and \"config\"");
    LW_ASSIGN(auto tensors, package::read_safetensors(
                                std::filesystem::path(json_path).replace_extension(".safetensors").string()));
    return Fixture{description.value("case", "oracle"), description.value("operator", ""),
                   description.at("config"), std::move(tensors)};
}

Expected<std::vector<Trial>> sgconv_trials(const std::string &json_path) {
    LW_ASSIGN(const Case c, read_case(json_path));
    std::vector<Trial> trials = {trial_of(c)};
    for (const char *what : {"k", "k_full"}) {
        if (!c.references.count(what)) continue;
        LW_ASSIGN(Trial kernel, kernel_trial(c, c.config, what));
        trials.push_back(std::move(kernel));
    }
    return trials;
}

} // namespace

Expected<std::vector<Trial>> read_trials(const std::string &json_path) try {
    LW_ASSIGN(const Fixture fixture, read_fixture(json_path));
    for (const Kind &kind : kinds())
        if (fixture.operation == kind.operation) return kind.trials(fixture);
    return sgconv_trials(json_path);
} catch (
    const std::exception &error) { // configurations are read with at(): a missing key is the fixture's fault
    return Status::input(std::string("the fixture cannot be read: ") + error.what());
}

std::string kind_of(const std::string &json_path) {
    const auto description = read_description(json_path);
    if (!description || !description->is_object()) return "";
    const auto kind = description->find("operator");
    return kind != description->end() && kind->is_string() ? kind->get<std::string>() : "";
}

} // namespace longwave::oracles
