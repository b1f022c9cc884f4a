#include "tests/oracles/oracle_package.h"
#include "formats/package/problems.h"
#include "tests/oracles/sgconv_model.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace longwave::oracles {
namespace {

using nlohmann::json;

// The three axes of an activation tensor: (batch, position, feature), or with the last two
// exchanged.
struct Activation {
    const package::Tensor &tensor;
    bool transposed;
    size_t batch() const { return tensor.shape[0]; }
    size_t rows() const { return tensor.shape[transposed ? 2 : 1]; }
    size_t width() const { return tensor.shape[transposed ? 1 : 2]; }

    Rows of(const std::string &name, size_t b) const {
        Rows out{name, rows(), width(), std::vector<float>(rows() * width())};
        const float *from = tensor.data.data() + b * rows() * width();
        for (size_t t = 0; t < rows(); ++t)
            for (size_t i = 0; i < width(); ++i)
                out.data[t * width() + i] = transposed ? from[i * rows() + t] : from[t * width() + i];
        return out;
    }
};

double peak_of(const package::Tensor &tensor) {
    double peak = 0;
    for (float v : tensor.data) peak = std::max(peak, std::abs(double{v}));
    return peak;
}

// A weight in two parts, weight_g (out, 1) and weight_v (out, in), is g·v / |v| a row.
Status join_weight_norms(std::map<std::string, package::Tensor> &weights) {
    for (auto g = weights.begin(); g != weights.end();) {
        const std::string stem =
            g->first.ends_with(".weight_g") ? g->first.substr(0, g->first.size() - 2) : "";
        const auto v = stem.empty() ? weights.end() : weights.find(stem + "_v");
        if (v == weights.end()) {
            ++g;
            continue;
        }
        const size_t rows = g->second.data.size(), width = rows ? v->second.data.size() / rows : 0;
        if (rows * width != v->second.data.size())
            return Status::input("tensors w." + g->first + " and w." + v->first + " do not fit each other");
        std::vector<float> joined(v->second.data.begin(), v->second.data.end());
        for (size_t r = 0; r < rows; ++r) {
            float *row = joined.data() + r * width;
            double square = 0;
            for (size_t i = 0; i < width; ++i) square += double{row[i]} * row[i];
            for (size_t i = 0; i < width; ++i)
                row[i] = static_cast<float>(row[i] * (g->second.data[r] / std::sqrt(square)));
        }
        weights[stem] = {v->second.shape, std::move(joined)};
        weights.erase(v);
        g = weights.erase(g);
    }
    return Status::ok();
}

class Reader {
public:
    Reader(const json &description, std::map<std::string, package::Tensor> tensors)
        : description_(description), config_(description.at("config")), tensors_(std::move(tensors)) {}

    Expected<Case> read() {
        case_.name = description_.value("case", "oracle");
        case_.operation = description_.value("operator", "");
        case_.config = config_;
        case_.limit = 5e-6;
        split_tensors();
        LW_TRY(join_weight_norms(case_.weights));
        if (case_.references.empty())
            return Status::input(case_.name + ": expected a tensor ref.*: there is nothing to compare with");
        if (case_.operation == "sgconv.gconv" || case_.operation == "stream.sgconv_conv") return one_layer();
        if (case_.operation == "sgconv.model" || case_.operation == "stream.sgconv") return model();
        return Status::input(case_.name + ": expected an sgconv operator, found \"" + case_.operation +
                             "\": it is not supported");
    }

private:
    // w.* become the package's weights, ref.* the references; in.* stay, out.* (float32 results of
    // the generating code) are not used.
    void split_tensors() {
        for (auto &[key, tensor] : tensors_) {
            if (key.starts_with("w.")) case_.weights[key.substr(2)] = std::move(tensor);
            if (key.starts_with("ref.")) case_.references[key.substr(4)] = std::move(tensor);
        }
    }

    // A fixture holds the references that its makers had: what is there is compared.
    bool has(const std::string &key) const { return case_.references.count(key) != 0; }

    Expected<const package::Tensor *> input(const std::string &key, size_t rank) const {
        auto it = tensors_.find(key);
        if (it == tensors_.end() || it->second.shape.size() != rank)
            return Status::input(case_.name + ": expected tensor " + key + " of rank " +
                                 std::to_string(rank));
        return &it->second;
    }

    // `rows`: of every sequence, or 0 where they may be fewer.
    Expected<const package::Tensor *> reference(const std::string &key, size_t batch, size_t rows,
                                                bool transposed = false) const {
        auto it = case_.references.find(key);
        if (it == case_.references.end()) return Status::input(case_.name + ": expected tensor ref." + key);
        const auto &shape = it->second.shape;
        const bool fits = shape.size() == 3 ? rows == 0 || shape[transposed ? 2 : 1] == rows
                                            : shape.size() == 2 && rows == 0;
        if (!fits || shape[0] != batch) {
            return Status::input(case_.name + ": expected tensor ref." + key + " of " +
                                 std::to_string(batch) + " sequences" +
                                 (rows ? " of " + std::to_string(rows) + " positions" : "") +
                                 ", found shape " + package::shape_text(shape));
        }
        return &it->second;
    }

    Expected<Case> one_layer() {
        const bool transposed = config_.value("transposed", true);
        LW_ASSIGN(const package::Tensor *x, input("in.x", 3));
        const Activation in{*x, transposed};
        case_.positions = in.rows();
        const package::Tensor *y = nullptr; // the kernels may be all there is
        if (has("y")) {
            LW_ASSIGN(y, reference("y", in.batch(), in.rows(), transposed));
        }
        case_.causal = !config_.value("bidirectional", false);

        LW_ASSIGN(json layer, sgconv_layer(config_, case_.positions));
        layer["name"] = "conv";
        std::map<std::string, package::Tensor> weights;
        for (auto &[key, tensor] : case_.weights) weights["conv." + key] = std::move(tensor);
        case_.weights = std::move(weights);
        case_.model_json = model_json(
            case_.name, json::array({{{"name", "x"}, {"kind", "features"}, {"width", in.width()}}}),
            json::array({layer}), {{"y", "conv"}});
        for (size_t b = 0; b < in.batch(); ++b) {
            case_.runs.push_back({{in.of("x", b)}, {in.rows()}, {}});
            if (y)
                case_.runs.back().outputs.push_back(
                    {.output = Activation{*y, transposed}.of("y", b), .peak = peak_of(*y)});
        }
        return std::move(case_);
    }

    Expected<Case> model() {
        const bool tokens = tensors_.count("in.ids") != 0;
        LW_ASSIGN(const package::Tensor *x, tokens ? input("in.ids", 2) : input("in.x", 3));
        package::Tensor column = *x; // ids as one column
        if (tokens) column.shape.push_back(1);
        const Activation in{column, false};
        case_.positions = in.rows();

        LW_ASSIGN(const SgconvModel model,
                  sgconv_model(case_.name, config_, case_.weights, tokens, case_.positions));
        case_.model_json = model.json;
        // `first` is known at once and never again: a stream has no answer.
        case_.causal = !config_.at("layer").value("bidirectional", false) && !model.first;
        LW_TRY(read_lengths(model.lengths, in.batch()));

        // Pairs: the first half of the batch are first documents, the second half the second
        // documents of the same pairs.
        const size_t runs = in.batch() / model.documents;
        for (size_t r = 0; r < runs; ++r) {
            Run run;
            for (size_t d = 0; d < model.documents; ++d) {
                const size_t b = r + d * runs;
                run.inputs.push_back(in.of(model.input(d), b));
                run.lengths.push_back(lengths_[b]);
                if (has("h")) {
                    LW_ASSIGN(const package::Tensor *h, reference("h", in.batch(), in.rows()));
                    run.outputs.push_back(
                        {.output = Activation{*h, false}.of(model.hidden(d), b), .peak = peak_of(*h)});
                }
            }
            if (has("y")) {
                LW_ASSIGN(const package::Tensor *y, reference("y", runs, 0));
                // Logits of pooled heads are (batch, classes): one row a run.
                package::Tensor logits = *y;
                if (logits.shape.size() == 2) logits.shape.insert(logits.shape.begin() + 1, 1);
                const bool leading = model.head == Head::first_positions;
                run.outputs.push_back({.output = Activation{logits, false}.of("y", r),
                                       .peak = peak_of(*y),
                                       .leading = leading});
            }
            if (has("pool")) {
                LW_ASSIGN(const package::Tensor *pool, reference("pool", runs, in.rows()));
                run.outputs.push_back({.output = Activation{*pool, false}.of("pool", r),
                                       .peak = peak_of(*pool),
                                       .running = true});
            }
            case_.runs.push_back(std::move(run));
        }
        return std::move(case_);
    }

    // Of every sequence: all positions, unless pooling stops earlier, as the fixture says or just
    // by having lengths.
    Status read_lengths(std::optional<bool> used, size_t batch) {
        lengths_.assign(batch, case_.positions);
        const auto stored = tensors_.find("in.lengths");
        if (!used.value_or(stored != tensors_.end())) return Status::ok();
        if (stored == tensors_.end()) return Status::input(case_.name + ": expected tensor in.lengths");
        const auto &data = stored->second.data;
        const auto good = [&](float v) {
            return v >= 1 && v <= static_cast<float>(case_.positions) && v == std::floor(v);
        };
        if (data.size() != batch || !std::all_of(data.begin(), data.end(), good)) {
            return Status::input(case_.name + ": expected in.lengths with " + std::to_string(batch) +
                                 " whole numbers from 1 to " + std::to_string(case_.positions));
        }
        lengths_.assign(data.begin(), data.end());
        return Status::ok();
    }

    const json &description_;
    const json &config_;
    std::map<std::string, package::Tensor> tensors_;
    std::vector<size_t> lengths_;
    Case case_;
};

} // namespace

Expected<Case> make_case(const std::string &description_json,
                         std::map<std::string, package::Tensor> tensors) {
    const json description = json::parse(description_json, nullptr, false);
    if (description.is_discarded()) return Status::input("the description is not JSON");
    if (!description.is_object() || !description.contains("config"))
        return Status::input("expected a JSON object with \"operator\" and \"config\"");
    return Reader(description, std::move(tensors)).read();
}

Expected<Case> read_case(const std::string &json_path) {
    std::ifstream file(json_path);
    std::stringstream text;
    if (!(text << file.rdbuf())) return Status::input(json_path + ": cannot be read");
    LW_ASSIGN(auto tensors, package::read_safetensors(
                                std::filesystem::path(json_path).replace_extension(".safetensors").string()));
    return make_case(text.str(), std::move(tensors));
}

std::vector<std::string> list_cases(const std::string &folder, const std::vector<std::string> &prefixes) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() != ".json") continue;
        if (std::any_of(prefixes.begin(), prefixes.end(), [&](const auto &p) { return name.starts_with(p); }))
            paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::string oracle_folder() {
    const char *folder = std::getenv("LONGWAVE_ORACLES");
    return folder && *folder ? folder : "tests/oracles/published";
}

} // namespace longwave::oracles
