#include "formats/huggingface/keys.h"
#include "formats/package/attributes.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace longwave::huggingface {
namespace {

using nlohmann::json;
using package::Problems;

constexpr double infinite = std::numeric_limits<double>::infinity();
constexpr double largest = 1e30; // stands for infinity where an op takes only finite numbers

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
} activations[] = {{"gelu", "gelu"},
                   {"gelu_pytorch_tanh", "gelu_tanh"},
                   {"relu", "relu"},
                   {"silu", "silu"},
                   {"swish", "silu"}};

void read_activation(const Key &key, const json &value, Config &config, Problems &problems) {
    std::string names;
    for (const auto &known : activations) {
        if (value == known.name) config.ops[key.name] = known.op;
        names += (names.empty() ? "\"" : ", \"") + std::string(known.name) + "\"";
    }
    if (!config.ops.count(key.name)) problems.add(key.name, "one of " + names, package::describe(value));
}

void read_choice(const Key &key, const json &value, Config &config, Problems &problems) {
    std::string texts;
    for (size_t i = 0; i < key.choices.size(); ++i) {
        if (value == json::parse(key.choices[i], nullptr, false)) config.sizes[key.name] = i;
        texts += (i ? ", " : "") + key.choices[i];
    }
    if (!config.sizes.count(key.name))
        problems.add(key.name, (key.choices.size() > 1 ? "one of " : "") + texts, package::describe(value),
                     key.reason);
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
    if (!key.rule.empty() && (value == "auto" || value.is_null())) {
        const uint64_t all = config.size(key.rule), parts = config.size(key.divisor);
        config.sizes[key.name] = parts ? all / parts : 0;
        // 0 and what is too large fail here as if the file said so.
        package::integer_in(config.sizes[key.name], key.low, key.high, key.name, problems);
    } else if (package::integer_in(value, key.low, key.high, key.name, problems)) {
        config.sizes[key.name] = static_cast<uint64_t>(value.get<double>());
    }
}

void read_same_size(const Key &key, const json &value, Config &config, Problems &problems) {
    const uint64_t n = config.size(key.divisor);
    if (value.is_null()) {
        config.sizes[key.name] = config.size(key.rule);
        return;
    }
    const json list = value.is_array() ? value : json::array({value});
    if (list.empty() || (value.is_array() && list.size() != n) ||
        std::any_of(list.begin(), list.end(), [&](const json &one) { return one != list[0]; }))
        return problems.add(key.name, "a whole number, or a list of it " + std::to_string(n) + " times",
                            package::compact(value));
    if (package::integer_in(list[0], key.low, key.high, key.name, problems))
        config.sizes[key.name] = static_cast<uint64_t>(list[0].get<double>());
}

void set_number(const std::string &name, const json &value, const Key &key, Config &config,
                Problems &problems) {
    if (!package::number_in(value, key.low, key.high, name, problems)) return;
    config.numbers[name] = value.get<double>();
    config.sizes[name] = config.numbers[name] != 1;
}

void read_numbers(const Key &key, const json &value, Config &config, Problems &problems) {
    const uint64_t n = config.size(key.divisor);
    const json list = value.is_null() ? json::parse(key.fallback, nullptr, false) : value;
    if (!list.is_array() || list.size() != n)
        return problems.add(key.name, "a list of " + std::to_string(n) + " numbers",
                            package::describe(value));
    for (size_t i = 0; i < n; ++i)
        set_number(key.name + "." + std::to_string(i), list[i], key, config, problems);
}

// What transformers 5 writes as one object, and 4 as two keys beside an optional object. The object counts
// more.
void read_rotary(const Key &key, const json &object, Config &config, Problems &problems) {
    const Rotary &rotary = config.architecture->rotary;
    const json scaling = object.value("rope_scaling", json());
    const bool renamed = scaling.is_object() && !scaling.empty();
    const std::string where = renamed ? "rope_scaling" : key.name;
    const json given = renamed ? scaling : object.value(key.name, json());
    if (!(scaling.is_null() || scaling.is_object()) || !(given.is_null() || given.is_object()))
        return problems.add(where, "an object or null", package::describe(given.is_null() ? scaling : given));
    const json members = given.is_null() ? json::object() : given;
    std::vector<std::string> known = {"rope_type", "type", "rope_theta", "partial_rotary_factor"};
    known.insert(known.end(), rotary.ignored.begin(), rotary.ignored.end());
    package::only_keys(members, known, where, problems);
    for (const char *name : {"rope_type", "type"}) {
        const json type = members.value(name, json("default"));
        if (type != "default")
            problems.add(package::member(where, name), "\"default\"", package::describe(type),
                         "other types of rotary positions are not read");
    }
    const auto member = [&](const char *name, double otherwise) {
        return members.contains(name) ? members[name] : object.value(name, json(otherwise));
    };
    const json theta = member("rope_theta", rotary.theta);
    config.sizes["rotary"] = !theta.is_null();
    if (theta.is_null() && rotary.optional) config.numbers["rope_theta"] = rotary.theta;
    else if (package::number_in(theta, 1, largest, "rope_theta", problems))
        config.numbers["rope_theta"] = theta.get<double>();
    const json part = member("partial_rotary_factor", rotary.part);
    if (!package::number_in(part, rotary.in_part ? 0 : 1, 1, "partial_rotary_factor", problems)) return;
    const uint64_t all = std::min<uint64_t>(config.size("head_dim"), 1 << 24); // more has been reported
    config.sizes["rotated"] = static_cast<uint64_t>(static_cast<double>(all) * part.get<double>());
    config.sizes["resting"] = all - config.sizes["rotated"];
    config.sizes["partial"] = config.sizes["resting"] != 0;
}

void read_key(const Key &key, const json &value, Config &config, Problems &problems) {
    switch (key.kind) {
    case Key::Kind::size: return read_size(key, value, config, problems);
    case Key::Kind::same_size: return read_same_size(key, value, config, problems);
    case Key::Kind::number: return set_number(key.name, value, key, config, problems);
    case Key::Kind::numbers: return read_numbers(key, value, config, problems);
    case Key::Kind::flag:
        if (value.is_boolean()) config.sizes[key.name] = value.get<bool>();
        else problems.add(key.name, "true or false", package::describe(value));
        return;
    case Key::Kind::activation: return read_activation(key, value, config, problems);
    case Key::Kind::choice: return read_choice(key, value, config, problems);
    case Key::Kind::range: return read_range(key, value, config, problems);
    case Key::Kind::rotary: return; // of several keys, see read_keys
    }
}

} // namespace

void read_keys(const json &object, Config &config, Problems &problems) {
    for (const Key &key : config.architecture->keys) {
        if (key.kind == Key::Kind::rotary) {
            read_rotary(key, object, config, problems);
            continue;
        }
        auto given = key.alias.empty() ? object.end() : object.find(key.alias);
        if (given == object.end()) given = object.find(key.name);
        if (given != object.end()) read_key(key, *given, config, problems);
        else if (!key.fallback.empty())
            read_key(key, json::parse(key.fallback, nullptr, false), config, problems);
        else if (!key.rule.empty()) read_key(key, json(), config, problems);
        else problems.add(key.name, "this key", "no such key");
    }
}

void derive(Config &config) {
    for (const Derived &size : config.architecture->derived) {
        if (!config.holds(size.when)) continue;
        const uint64_t parts = config.size(size.divisor);
        uint64_t whole = config.size(size.of);
        if (!size.factor.empty()) {
            const double scaled = config.number(size.factor) * static_cast<double>(whole);
            whole = scaled >= 0 && scaled < 0x1p62 ? static_cast<uint64_t>(scaled) : UINT64_MAX;
        }
        config.sizes[size.name] = parts == 0 ? 0 : whole / parts + (size.up && whole % parts != 0);
    }
}

} // namespace longwave::huggingface
