#include "formats/huggingface/config.h"
#include "formats/base/checked.h"
#include "formats/huggingface/architectures.h"
#include "formats/package/attributes.h"
#include "formats/package/json_text.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace longwave::huggingface {
namespace {

using nlohmann::json;
using package::Problems;

constexpr size_t max_config_depth = 16;
constexpr uint64_t too_large = UINT64_MAX;
constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double largest = 1e30; // stands for infinity where an op takes only finite numbers

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// Calls use(part) for each part of `text` between separators.
template <class Use> void for_parts(std::string_view text, char separator, const Use &use) {
    for (size_t end; (end = text.find(separator)) != text.npos; text.remove_prefix(end + 1))
        use(trimmed(text.substr(0, end)));
    use(trimmed(text));
}

// Python writes Infinity and NaN, which are no JSON. Outside of texts they become objects, as transformers
// writes them today.
std::string with_python_numbers(std::string_view text) {
    std::string out;
    bool quoted = false;
    for (size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '"') quoted = !quoted;
        if (quoted && text[i] == '\\' && i + 1 < text.size()) out += text[i++];
        bool replaced = false;
        for (const std::string_view word : {"-Infinity", "Infinity", "NaN"}) {
            if (quoted || replaced || !text.substr(i).starts_with(word)) continue;
            out += "{\"__float__\": \"" + std::string(word) + "\"}";
            i += word.size() - 1;
            replaced = true;
        }
        if (!replaced) out += text[i];
    }
    return out;
}

// A number, or the object that stands for one that JSON lacks. Nothing: neither.
std::optional<double> number_of(const json &value) {
    if (value.is_number()) return value.get<double>();
    if (!value.is_object() || value.size() != 1 || !value.contains("__float__")) return {};
    const json &name = value["__float__"];
    if (name == "Infinity") return infinite;
    if (name == "-Infinity") return -infinite;
    return {};
}

// What transformers calls a function, and the op of it.
constexpr struct {
    const char *name, *op;
} activations[] = {{"gelu", "gelu"}, {"relu", "relu"}, {"silu", "silu"}, {"swish", "silu"}};

void read_activation(const Key &key, const json &value, Config &config, Problems &problems) {
    std::string names;
    for (const auto &known : activations) {
        if (value == known.name) config.ops[key.name] = known.op;
        names += (names.empty() ? "\"" : ", \"") + std::string(known.name) + "\"";
    }
    if (!config.ops.count(key.name)) problems.add(key.name, "one of " + names, package::describe(value));
}

void read_range(const Key &key, const json &value, Config &config, Problems &problems) {
    std::optional<double> low, high;
    if (value.is_array() && value.size() == 2) low = number_of(value[0]), high = number_of(value[1]);
    if (!low || !high || !(*low <= *high) || !std::isfinite(*low) || std::fabs(*low) > largest || *high < 0) {
        problems.add(key.name, "[low, high], two numbers in order, where high may be infinite",
                     package::compact(value));
        return;
    }
    config.numbers[key.name + ".low"] = *low;
    config.numbers[key.name + ".high"] = std::min(*high, largest);
    config.sizes[key.name] = *low > 0 || *high < largest;
}

void read_size(const Key &key, const json &value, Config &config, Problems &problems) {
    if (!key.rule.empty() && value == "auto") {
        const uint64_t units = config.size(key.rule);
        config.sizes[key.name] = units / key.divisor + (units % key.divisor != 0);
    } else if (package::integer_in(value, key.low, key.high, key.name, problems)) {
        config.sizes[key.name] = static_cast<uint64_t>(value.get<double>());
    }
}

void read_key(const Key &key, const json &value, Config &config, Problems &problems) {
    switch (key.kind) {
    case Key::Kind::size: return read_size(key, value, config, problems);
    case Key::Kind::number:
        if (package::number_in(value, key.low, key.high, key.name, problems))
            config.numbers[key.name] = value.get<double>();
        return;
    case Key::Kind::flag:
        if (value.is_boolean()) config.sizes[key.name] = value.get<bool>();
        else problems.add(key.name, "true or false", package::describe(value));
        return;
    case Key::Kind::activation: return read_activation(key, value, config, problems);
    case Key::Kind::range: return read_range(key, value, config, problems);
    }
}

void read_keys(const json &object, Config &config, Problems &problems) {
    for (const Key &key : config.architecture->keys) {
        const auto given = object.find(key.name);
        if (given != object.end()) read_key(key, *given, config, problems);
        else if (key.fallback.empty()) problems.add(key.name, "this key", "no such key");
        else read_key(key, json::parse(key.fallback, nullptr, false), config, problems);
    }
}

// Names that are neither read nor known to change nothing.
void refuse_others(const json &object, const Config &config, Problems &problems) {
    const Architecture &of = *config.architecture;
    std::vector<std::string> known = {"model_type", "architectures"};
    for (const Key &key : of.keys) known.push_back(key.name);
    known.insert(known.end(), of.ignored.begin(), of.ignored.end());
    known.insert(known.end(), always_ignored().begin(), always_ignored().end());
    for (const auto &[name, value] : object.items()) {
        if (std::find(known.begin(), known.end(), name) != known.end()) continue;
        const std::string meant = problems.hint(name, known);
        problems.add(package::member("", name),
                     "a key of " + of.model_type + " that is known (docs/huggingface.md)",
                     package::in_quotes(name) + ": " + package::describe(value),
                     name == "quantization_config" ? "save the model with float weights"
                     : meant.empty() ? "remove the key if it does not change what the model computes"
                                     : meant);
    }
}

const Architecture *read_architecture(const json &object, Problems &problems) {
    std::string types;
    std::vector<std::string> names;
    for (const Architecture &known : architectures()) {
        types += (types.empty() ? "" : ", ") + package::in_quotes(known.model_type);
        names.push_back(known.model_type);
    }
    const json type = object.value("model_type", json());
    const Architecture *found = type.is_string() ? find_architecture(type.get<std::string>()) : nullptr;
    if (!found) {
        problems.add("model_type", "one of " + types,
                     object.contains("model_type") ? package::describe(type) : "no such key",
                     type.is_string() ? problems.hint(type.get_ref<const std::string &>(), names) : "");
        return nullptr;
    }
    const json made_by = object.value("architectures", json());
    if (made_by != json::array({found->made_by}))
        problems.add("architectures", "[" + package::in_quotes(found->made_by) + "] for this model_type",
                     object.contains("architectures") ? package::compact(made_by) : "no such key");
    return found;
}

void check_conditions(const Config &config, Problems &problems) {
    for (const Condition &condition : config.architecture->conditions) {
        const uint64_t left = config.size(condition.left), right = config.size(condition.right);
        const bool equal = condition.kind == Condition::Kind::equal;
        if (equal ? left == right : right != 0 && left % right == 0) continue;
        problems.add(condition.left,
                     (equal ? "the same as " : "a multiple of ") + condition.right + ", " +
                         std::to_string(right),
                     std::to_string(left));
    }
}

} // namespace

uint64_t Config::size(const std::string &sum) const {
    uint64_t total = 0;
    bool fits = true;
    for_parts(sum, '+', [&](std::string_view term) {
        uint64_t product = 1;
        for_parts(term, '*', [&](std::string_view factor) {
            uint64_t value = 0;
            const char *end = factor.data() + factor.size();
            if (std::from_chars(factor.data(), end, value).ptr != end) {
                const auto found = sizes.find(std::string(factor));
                fits = fits && found != sizes.end();
                if (found != sizes.end()) value = found->second;
            }
            fits = fits && checked::mul(product, value, &product);
        });
        fits = fits && checked::add(total, product, &total);
    });
    return fits ? total : too_large;
}

bool Config::holds(const std::string &when) const {
    if (when.empty()) return true;
    return when.front() == '!' ? size(when.substr(1)) == 0 : size(when) != 0;
}

Expected<Config> read_config(std::string_view text, const std::string &source) {
    Problems problems;
    const auto object = package::parse_json(with_python_numbers(text), source, max_config_depth, problems);
    if (!object) return problems.status();
    if (!object->is_object()) {
        problems.add(source, "an object", package::describe(*object));
        return problems.status();
    }
    Config config;
    config.architecture = read_architecture(*object, problems);
    if (config.architecture) {
        read_keys(*object, config, problems);
        refuse_others(*object, config, problems);
        if (!problems.any()) check_conditions(config, problems);
    }
    LW_TRY(problems.status());
    return config;
}

} // namespace longwave::huggingface
