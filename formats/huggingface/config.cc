#include "formats/huggingface/config.h"
#include "formats/huggingface/architectures.h"
#include "formats/huggingface/keys.h"
#include "formats/huggingface/kinds.h"
#include "formats/package/json_text.h"
#include <algorithm>

namespace longwave::huggingface {
namespace {

using nlohmann::json;
using package::Problems;

constexpr size_t max_config_depth = 16;

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

std::string quoted_list(const std::vector<std::string> &names) {
    std::string text;
    for (const std::string &name : names) text += (text.empty() ? "" : ", ") + package::in_quotes(name);
    return text;
}

// Keys of `object` that are neither in `known` nor such as every config.json may have.
void refuse_others(const json &object, std::vector<std::string> known, const Architecture &of,
                   Problems &problems) {
    known.insert(known.end(), {"model_type", "architectures"});
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

// Keys that the table reads or that it knows to change nothing.
std::vector<std::string> known_keys(const Architecture &of) {
    std::vector<std::string> known = of.ignored;
    for (const Key &key : of.keys) {
        known.push_back(key.name);
        if (!key.alias.empty()) known.push_back(key.alias);
        if (key.kind == Key::Kind::rotary)
            known.insert(known.end(), {"rope_scaling", "rope_theta", "partial_rotary_factor"});
    }
    for (const KindRule &rule : of.kinds)
        if (!rule.key.empty()) known.push_back(rule.key);
    return known;
}

const Architecture *read_architecture(const json &object, Problems &problems) {
    std::vector<std::string> names;
    for (const Architecture &known : architectures()) names.push_back(known.model_type);
    const json type = object.value("model_type", json());
    const Architecture *found = type.is_string() ? find_architecture(type.get<std::string>()) : nullptr;
    if (!found) {
        problems.add("model_type", "one of " + quoted_list(names),
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

// The object that has the keys of the language model: the whole one, or a member of it. Around that one only
// `shared` counts, and counts more.
json inner_object(const json &object, const Architecture &of, Problems &problems) {
    constexpr char shared[] = "tie_word_embeddings";
    if (of.within.empty()) return object;
    json inner = object.value(of.within, json());
    if (!inner.is_object() || inner.value("model_type", json()) != of.inner_type) {
        problems.add(of.within, "an object with the model_type " + package::in_quotes(of.inner_type),
                     package::describe(inner));
        return json::object();
    }
    std::vector<std::string> known = of.outside;
    known.insert(known.end(), {of.within, shared});
    refuse_others(object, known, of, problems);
    inner.erase(shared);
    if (object.contains(shared)) inner[shared] = object[shared];
    return inner;
}

void check_conditions(const Config &config, Problems &problems) {
    for (const Condition &condition : config.architecture->conditions) {
        if (!config.holds(condition.when)) continue;
        if (condition.kind == Condition::Kind::positive) {
            if (config.size(condition.left) == 0) problems.add(condition.left, "1 or more", "0");
            continue;
        }
        const uint64_t left = config.size(condition.left), right = config.size(condition.right);
        const bool equal = condition.kind == Condition::Kind::equal;
        if (equal ? left == right : right != 0 && left % right == 0) continue;
        problems.add(condition.left,
                     (equal ? "the same as " : "a multiple of ") + condition.right +
                         (condition.right == std::to_string(right) ? "" : ", " + std::to_string(right)),
                     std::to_string(left));
    }
}

// What attention sees: the smaller of the model's own window and the context.
void set_window(uint32_t context, Config &config, Problems &problems) {
    const uint64_t own = config.own_window();
    config.sizes["window"] = own && context ? std::min<uint64_t>(own, context) : own + context;
    if (context && config.attentions() == 0)
        problems.add("--context", "a model with attention", "none in this " + config.architecture->model_type,
                     "leave out --context");
}

} // namespace

size_t Config::attentions() const {
    return static_cast<size_t>(std::count_if(kinds.begin(), kinds.end(), [&](size_t kind) {
        const std::vector<Row> &rows = architecture->blocks[kind].rows;
        return std::any_of(rows.begin(), rows.end(),
                           [](const Row &row) { return row.op == "softmax_attention"; });
    }));
}

Expected<Config> read_config(std::string_view text, const std::string &source, uint32_t context) {
    Problems problems;
    const auto whole = package::parse_json(with_python_numbers(text), source, max_config_depth, problems);
    if (!whole) return problems.status();
    if (!whole->is_object()) {
        problems.add(source, "an object", package::describe(*whole));
        return problems.status();
    }
    Config config;
    config.architecture = read_architecture(*whole, problems);
    if (config.architecture) {
        const json object = inner_object(*whole, *config.architecture, problems);
        if (!problems.any()) {
            read_keys(object, config, problems);
            if (!problems.any()) read_kinds(object, config, problems);
            refuse_others(object, known_keys(*config.architecture), *config.architecture, problems);
        }
        if (!problems.any()) derive(config);
        if (!problems.any()) set_window(context, config, problems);
        if (!problems.any()) check_conditions(config, problems);
    }
    LW_TRY(problems.status());
    return config;
}

} // namespace longwave::huggingface
