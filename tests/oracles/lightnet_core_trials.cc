// lightnet.core, .tpe, .md_tpe_paper and .lrpe_md as models to run.
#include "tests/oracles/lightnet_parts.h"
#include "tests/oracles/sgconv_model.h"
#include <cmath>

using nlohmann::json;

namespace longwave::oracles {
namespace {

// The core alone: rows of [queries | keys | values], whose projections choose their part.
class Core {
public:
    static Expected<Core> read(const Fixture &fixture) {
        Core core(fixture);
        LW_ASSIGN(core.q_, fixture.tensor("in.q", 4));
        LW_ASSIGN(core.k_, fixture.tensor("in.k", 4));
        LW_ASSIGN(core.v_, fixture.tensor("in.v", 4));
        core.theta_ = fixture.find("in.theta");
        core.batch_ = core.k_->shape[0], core.rows_ = core.k_->shape[1];
        core.heads_ = core.k_->shape[2], core.dk_ = core.k_->shape[3], core.dv_ = core.v_->shape[3];
        return core;
    }

    Expected<Trial> outputs() const {
        Trial trial = model("o");
        for (size_t b = 0; b < batch_; ++b)
            sequence(trial, b, rows_, [&](size_t t, size_t i) { return at(*q_, b, t, i); });
        LW_TRY(lightnet::expect_all(fixture_, "o", lightnet::layer_limit, trial));
        return trial;
    }

    // C after the last row, read by queries of one key channel each: in that row, and in one behind
    // it whose key weighs nothing, for rows of C that the position mixes.
    Expected<Trial> matrix(const package::Tensor &last) const {
        Trial trial = model("C_last");
        Comparison &comparison = lightnet::expect(
            trial, "C_last", scale_ * lightnet::largest({last.data.data(), last.data.size()}),
            lightnet::layer_limit);
        for (size_t b = 0; b < batch_; ++b)
            for (size_t i = 0; i < dk_; ++i) {
                sequence(trial, b, rows_ + 1, [&](size_t, size_t at) { return at % dk_ == i ? 1.0f : 0.0f; });
                std::vector<float> expected;
                for (const size_t t : {rows_ - 1, rows_})
                    for (size_t h = 0; h < heads_; ++h)
                        for (size_t c = 0; c < dv_; ++c) {
                            const float *of_head =
                                last.data.data() + (b * heads_ + h) * last.shape[2] * dv_ + c;
                            const double phase = theta_ ? static_cast<double>(t) * theta(h, i) : 0;
                            double value = std::cos(phase) * of_head[i * dv_];
                            if (theta_) value += std::sin(phase) * of_head[(i + dk_) * dv_];
                            expected.push_back(static_cast<float>(scale_ * value));
                        }
                comparison.reference.push_back(std::move(expected));
            }
        return trial;
    }

    // The logarithm of the sum of exponentials: a further row with just that key weighs one half.
    Expected<Trial> logarithm(const package::Tensor &last) const {
        Trial trial = model("z_last");
        const double slope = 0.25 * scale_; // of a weight of one half, by its key
        Comparison &comparison =
            lightnet::expect(trial, "z_last", slope * lightnet::largest({last.data.data(), last.data.size()}),
                             lightnet::layer_limit);
        for (size_t b = 0; b < batch_; ++b)
            for (size_t i = 0; i < dk_; ++i) {
                sequence(trial, b, rows_ + 1, [&](size_t, size_t at) { return at % dk_ == i ? 1.0f : 0.0f; });
                float *row = trial.sequences.back().floats[0].data() + rows_ * width();
                for (size_t at = 0; at < heads_ * dk_; ++at)
                    row[heads_ * dk_ + at] = last.data[b * heads_ * dk_ + at];
                float *all = trial.sequences.back().floats[0].data();
                for (size_t t = 0; t <= rows_; ++t)
                    std::fill_n(all + t * width() + 2 * heads_ * dk_, heads_ * dv_, t == rows_ ? 1.0f : 0.0f);
                comparison.reference.emplace_back(heads_ * dv_, static_cast<float>(0.5 * scale_));
            }
        return trial;
    }

private:
    explicit Core(const Fixture &fixture)
        : fixture_(fixture), scale_(fixture.config.value("query_scale", 1.0)) {}

    size_t width() const { return heads_ * (2 * dk_ + dv_); }
    static float at(const package::Tensor &tensor, size_t b, size_t t, size_t i) {
        const size_t of_row = tensor.shape[2] * tensor.shape[3];
        return tensor.data[(b * tensor.shape[1] + t) * of_row + i];
    }
    double theta(size_t h, size_t i) const {
        return theta_->data[theta_->data.size() == dk_ ? i : h * dk_ + i];
    }

    Trial model(const std::string &output) const {
        const size_t keys = heads_ * dk_, values = heads_ * dv_;
        Trial trial;
        size_t first = 0;
        for (const auto &[name, size] : {std::pair("q", keys), {"k", keys}, {"v", values}}) {
            trial.weights[std::string("core.") + name + "_proj.weight"] = lightnet::matrix(
                size, width(), [&, first](size_t i, size_t j) { return j == first + i ? 1.0f : 0.0f; });
            first += size;
        }
        json layer = {{"type", "lightnet_attention"},
                      {"name", "core"},
                      {"heads", heads_},
                      {"key_width", keys},
                      {"value_width", values},
                      {"causal", fixture_.config.value("causal", true)},
                      {"initial_sum", fixture_.config.value("S0", 0)},
                      {"query_activation", "identity"},
                      {"scale", scale_},
                      {"gate", nullptr},
                      {"norm", nullptr},
                      {"output_projection", false}};
        if (theta_) {
            layer["lrpe"] = "cosine";
            trial.weights["core.lrpe.theta"] = *theta_;
        }
        trial.streams = layer["causal"];
        trial.model_json =
            model_json(output, lightnet::input(width()), json::array({layer}), {{output, "core"}});
        return trial;
    }

    // `rows` of the batch's keys and values; a row behind the last has keys that weigh nothing.
    template <class Query> void sequence(Trial &trial, size_t b, size_t rows, const Query &query) const {
        std::vector<float> numbers;
        for (size_t t = 0; t < rows; ++t) {
            for (size_t i = 0; i < heads_ * dk_; ++i) numbers.push_back(query(t, i));
            for (size_t i = 0; i < heads_ * dk_; ++i)
                numbers.push_back(t < rows_ ? at(*k_, b, t, i) : -1000.0f);
            for (size_t i = 0; i < heads_ * dv_; ++i) numbers.push_back(t < rows_ ? at(*v_, b, t, i) : 0.0f);
        }
        lightnet::add_sequence(trial, rows, std::move(numbers));
    }

    const Fixture &fixture_;
    const package::Tensor *q_ = nullptr, *k_ = nullptr, *v_ = nullptr, *theta_ = nullptr;
    size_t batch_ = 0, rows_ = 0, heads_ = 0, dk_ = 0, dv_ = 0;
    double scale_;
};

std::string shape_of(const json &config) {
    std::string text;
    for (const json &size : config.at("shape")) text += (text.empty() ? "" : "x") + size.dump();
    return text;
}

// (B, …, width) as rows, one sequence a batch; with heads beside the rows, (B, heads, rows, width).
std::vector<std::vector<float>> sequences_of(const package::Tensor &x, bool heads_first) {
    const size_t batch = x.shape[0], size = x.data.size() / batch;
    std::vector<std::vector<float>> all;
    for (size_t b = 0; b < batch; ++b) {
        const float *from = x.data.data() + b * size;
        all.emplace_back(from, from + size);
        if (!heads_first) continue;
        const size_t heads = x.shape[1], rows = x.shape[2], width = x.shape[3];
        for (size_t h = 0; h < heads; ++h)
            for (size_t t = 0; t < rows; ++t)
                for (size_t i = 0; i < width; ++i)
                    all.back()[(t * heads + h) * width + i] = from[(h * rows + t) * width + i];
    }
    return all;
}

Expected<json> position_layer(const Fixture &fixture, Trial &trial) {
    const json &config = fixture.config;
    json layer = {{"name", "positions"}, {"shape", shape_of(config)}};
    if (fixture.operation == "lightnet.tpe") {
        for (size_t i = 0; i < config.at("axes").size(); ++i)
            if (config["axes"][i] != -2 - static_cast<int>(i))
                return Status::input("axes in another order than -2, -3, … are not supported");
        trial.weights = fixture.weights("positions.");
        layer.update(
            {{"type", "tpe"},
             {"heads", config.at("num_heads")},
             {"norm_eps", config.at("norm_eps_on_sum").get<double>() / config.at("d_model").get<double>()}});
        if (fixture.has("w.q")) layer.erase("shape");
    } else if (fixture.operation == "lightnet.lrpe_md") {
        LW_ASSIGN(const package::Tensor *theta, fixture.tensor("in.theta", 2));
        trial.weights["positions.theta"] = *theta;
        const bool shared = config.value("theta_layout", "shared").starts_with("shared");
        layer.update({{"type", "lrpe"},
                      {"heads", config.at("num_heads")},
                      {"conditions", config.at("l")},
                      {"theta_layout", shared ? "shared" : "sliced"}});
    } else {
        for (const char *name : {"lambda", "c"}) {
            LW_ASSIGN(const package::Tensor *tensor, fixture.tensor(std::string("in.") + name, 3));
            trial.weights[std::string("positions.") + name] = *tensor;
        }
        layer.update({{"type", "exponential_sums"}, {"modes", config.at("e")}});
    }
    return layer;
}

} // namespace

Expected<std::vector<Trial>> lightnet_core_trials(const Fixture &fixture) {
    LW_ASSIGN(const Core core, Core::read(fixture));
    std::vector<Trial> trials;
    if (fixture.has("ref.o")) {
        LW_ASSIGN(Trial trial, core.outputs());
        trials.push_back(std::move(trial));
    }
    if (fixture.has("ref.C_last")) {
        LW_ASSIGN(const package::Tensor *last, fixture.tensor("ref.C_last", 4));
        LW_ASSIGN(Trial trial, core.matrix(*last));
        trials.push_back(std::move(trial));
    }
    if (fixture.has("ref.z_last")) {
        LW_ASSIGN(const package::Tensor *last, fixture.tensor("ref.z_last", 3));
        LW_ASSIGN(Trial trial, core.logarithm(*last));
        trials.push_back(std::move(trial));
    }
    return trials;
}

Expected<std::vector<Trial>> lightnet_position_trials(const Fixture &fixture) {
    const bool turned = fixture.operation == "lightnet.lrpe_md";
    const package::Tensor *x = fixture.find("in.x"), *y = fixture.find("ref.y");
    if (!x || x->shape.size() < 3 || (turned && x->shape.size() != 4))
        return Status::input(fixture.name + ": expected in.x of sequences");
    if (!y) return std::vector<Trial>{};
    const size_t width = x->shape.back() * (turned ? x->shape[1] : 1);
    Trial trial;
    trial.streams = true;
    LW_ASSIGN(const json layer, position_layer(fixture, trial));
    trial.model_json =
        model_json(fixture.name, lightnet::input(width), json::array({layer}), {{"y", "positions"}});
    for (std::vector<float> &numbers : sequences_of(*x, turned)) {
        const size_t rows = numbers.size() / width;
        lightnet::add_sequence(trial, rows, std::move(numbers));
    }
    lightnet::expect(trial, "y", lightnet::largest({y->data.data(), y->data.size()}),
                     lightnet::position_limit)
        .reference = sequences_of(*y, turned);
    return std::vector<Trial>{std::move(trial)};
}

} // namespace longwave::oracles
