#include "tests/oracles/oracle_package.h"
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

// The three axes of an activation tensor: (batch, position, feature), or with the last two exchanged.
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
            for (size_t i = 0; i < width(); ++i) out.data[t * width() + i] = transposed ? from[i * rows() + t] : from[t * width() + i];
        return out;
    }
};

double peak_of(const package::Tensor &tensor) {
    double peak = 0;
    for (float v : tensor.data) peak = std::max(peak, std::abs(double{v}));
    return peak;
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
        if (case_.operation == "sgconv.gconv" || case_.operation == "stream.sgconv_conv") return one_layer();
        if (case_.operation == "sgconv.model" || case_.operation == "stream.sgconv") return model();
        return Status::input(case_.name + ": expected an sgconv operator, found \"" + case_.operation + "\"; it has no layer type");
    }

private:
    // w.* become the package's weights, ref.* the references; in.* stay, out.* (float32 results of the generating code) are not used.
    void split_tensors() {
        for (auto &[key, tensor] : tensors_) {
            if (key.starts_with("w.")) case_.weights[key.substr(2)] = std::move(tensor);
            if (key.starts_with("ref.")) case_.references[key.substr(4)] = std::move(tensor);
        }
    }

    Expected<const package::Tensor *> input(const std::string &key, size_t rank) const {
        auto it = tensors_.find(key);
        if (it == tensors_.end() || it->second.shape.size() != rank)
            return Status::input(case_.name + ": expected tensor " + key + " of rank " + std::to_string(rank));
        return &it->second;
    }

    Expected<const package::Tensor *> reference(const std::string &key) const {
        auto it = case_.references.find(key);
        if (it == case_.references.end()) return Status::input(case_.name + ": expected tensor ref." + key);
        return &it->second;
    }

    Expected<Case> one_layer() {
        const bool transposed = config_.value("transposed", true);
        LW_ASSIGN(const package::Tensor *x, input("in.x", 3));
        LW_ASSIGN(const package::Tensor *y, reference("y"));
        const Activation in{*x, transposed}, out{*y, transposed};
        case_.positions = in.rows();
        case_.causal = !config_.value("bidirectional", false);

        LW_ASSIGN(json layer, sgconv_layer(config_, case_.positions));
        layer["name"] = "conv";
        std::map<std::string, package::Tensor> weights;
        for (auto &[key, tensor] : case_.weights) weights["conv." + key] = std::move(tensor);
        case_.weights = std::move(weights);
        case_.model_json = model_json(case_.name, json::array({{{"name", "x"}, {"kind", "features"}, {"width", in.width()}}}), json::array({layer}),
                                      {{"y", "conv"}});
        for (size_t b = 0; b < in.batch(); ++b) case_.runs.push_back({{in.of("x", b)}, {in.rows()}, {{out.of("y", b), peak_of(*y)}}});
        return std::move(case_);
    }

    Expected<Case> model() {
        LW_ASSIGN(const SgconvModel model, sgconv_model(case_.name, config_, case_.weights));
        case_.model_json = model.json;
        case_.causal = !config_.at("layer").value("bidirectional", false);

        const bool tokens = model.input_name == "ids";
        LW_ASSIGN(const package::Tensor *x, input("in." + model.input_name, tokens ? 2 : 3));
        package::Tensor column = *x; // ids as one column
        if (tokens) column.shape.push_back(1);
        const Activation in{column, false};
        case_.positions = in.rows();

        LW_ASSIGN(const package::Tensor *h, reference("h"));
        LW_ASSIGN(const package::Tensor *y, reference("y"));
        const Activation hidden{*h, false};
        // Logits of pooled heads are (batch, classes): one row a run.
        package::Tensor logits = *y;
        if (logits.shape.size() == 2) logits.shape.insert(logits.shape.begin() + 1, 1);
        const Activation out{logits, false};

        // Pairs: the first half of the batch are first documents, the second half the second documents of the same pairs.
        const size_t runs = model.documents == 2 ? in.batch() / 2 : in.batch();
        for (size_t r = 0; r < runs; ++r) {
            Run run;
            for (size_t d = 0; d < model.documents; ++d) {
                const size_t b = r + d * runs;
                run.inputs.push_back(in.of(model.input(d), b));
                run.lengths.push_back(length(b));
                run.outputs.push_back({hidden.of(model.hidden(d), b), peak_of(*h)});
            }
            run.outputs.push_back({out.of("y", r), peak_of(*y)});
            if (auto pool = case_.references.find("pool"); pool != case_.references.end()) {
                run.outputs.push_back({Activation{pool->second, false}.of("pool", r), peak_of(pool->second), true});
            }
            case_.runs.push_back(std::move(run));
        }
        return std::move(case_);
    }

    size_t length(size_t b) const {
        auto lengths = tensors_.find("in.lengths");
        return lengths == tensors_.end() ? case_.positions : static_cast<size_t>(lengths->second.data.at(b));
    }

    const json &description_;
    const json &config_;
    std::map<std::string, package::Tensor> tensors_;
    Case case_;
};

} // namespace

Expected<Case> make_case(const std::string &description_json, std::map<std::string, package::Tensor> tensors) {
    const json description = json::parse(description_json, nullptr, false);
    if (!description.is_object() || !description.contains("config")) return Status::input("oracle: expected a JSON object with \"config\"");
    return Reader(description, std::move(tensors)).read();
}

Expected<Case> read_case(const std::string &json_path) {
    std::ifstream file(json_path);
    std::stringstream text;
    if (!(text << file.rdbuf())) return Status::input(json_path + ": cannot be read");
    LW_ASSIGN(auto tensors, package::read_safetensors(std::filesystem::path(json_path).replace_extension(".safetensors").string()));
    return make_case(text.str(), std::move(tensors));
}

std::vector<std::string> list_cases(const std::string &folder, const std::vector<std::string> &prefixes) {
    std::vector<std::string> paths;
    std::error_code error;
    for (const auto &entry : std::filesystem::directory_iterator(folder, error)) {
        const std::string name = entry.path().filename().string();
        if (entry.path().extension() != ".json") continue;
        if (std::any_of(prefixes.begin(), prefixes.end(), [&](const auto &p) { return name.starts_with(p); })) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

std::optional<std::string> oracle_folder(const std::string &repository) {
    const char *shared = std::getenv("LONGWAVE_SHARED");
    const std::string folder = (shared && *shared ? std::string(shared) : repository + "/../shared") + "/oracles";
    return std::filesystem::is_directory(folder) ? std::optional(folder) : std::nullopt;
}

} // namespace longwave::oracles
