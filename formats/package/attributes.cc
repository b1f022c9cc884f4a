#include "formats/package/attributes.h"
#include "formats/base/characters.h"
#include <algorithm>

namespace longwave::package {
namespace {

using nlohmann::json;
using Kind = AttributeType::Kind;

constexpr size_t max_name = 256, max_branches = 64;

std::string number_text(double v) {
    if (v == static_cast<double>(static_cast<long long>(v))) return std::to_string(static_cast<long long>(v));
    return json(v).dump();
}

std::string range_text(double low, double high) {
    return "from " + number_text(low) + " to " + number_text(high);
}

bool check_choice(const AttributeType &type, const json &value, const std::string &path, Problems &problems) {
    if (!type.choices.empty()) {
        std::string expected;
        for (const auto &choice : type.choices) {
            if (choice == "null" ? value.is_null() : value == choice) return true;
            expected += (expected.empty() ? "" : " or ") + (choice == "null" ? choice : in_quotes(choice));
        }
        std::string hint =
            value.is_string() ? problems.hint(value.get_ref<const std::string &>(), type.choices) : "";
        problems.add(path, expected, describe(value), hint);
        return false;
    }
    return good_name(value, path, NameKind::key, problems);
}

bool check_pair(const AttributeType &type, const json &value, const std::string &path, Problems &problems) {
    if (!value.is_array() || value.size() != 2) {
        problems.add(path, "a list [time, frequency]", describe(value));
        return false;
    }
    bool first = integer_in(value[0], type.low, type.high, element(path, 0), problems);
    return integer_in(value[1], type.low, type.high, element(path, 1), problems) && first;
}

json check_branches(const json &value, const std::string &path, Problems &problems) {
    json checked = json::array();
    if (!value.is_array() || value.empty() || value.size() > max_branches) {
        problems.add(path, "a list of 1 to 64 branches", describe(value));
        return checked;
    }
    for (size_t i = 0; i < value.size(); ++i) {
        const std::string here = element(path, i);
        const json &branch = value[i];
        if (!branch.is_object()) {
            problems.add(here, "an object with \"kind\"", describe(branch));
            continue;
        }
        const LayerType *kind = nullptr;
        std::vector<std::string> names;
        for (const auto &known : branch_kinds()) {
            names.push_back(known.name);
            if (branch.contains("kind") && branch["kind"] == known.name) kind = &known;
        }
        if (!kind) {
            json found = branch.value("kind", json());
            problems.add(here + ".kind", "\"conv1d\" or \"identity\"",
                         branch.contains("kind") ? describe(found) : "no such key",
                         found.is_string() ? problems.hint(found.get_ref<const std::string &>(), names) : "");
            continue;
        }
        json one = read_attributes(*kind, branch, {"kind"}, here, problems);
        one["kind"] = kind->name;
        checked.push_back(std::move(one));
    }
    return checked;
}

bool check_value(const AttributeType &type, const json &value, const std::string &path, Problems &problems) {
    switch (type.kind) {
    case Kind::integer: return integer_in(value, type.low, type.high, path, problems);
    case Kind::number: return number_in(value, type.low, type.high, path, problems);
    case Kind::boolean:
        if (value.is_boolean()) return true;
        problems.add(path, "true or false", describe(value));
        return false;
    case Kind::text: return check_choice(type, value, path, problems);
    case Kind::pair: return check_pair(type, value, path, problems);
    case Kind::branches: break; // the caller's
    }
    return false;
}

} // namespace

bool integer_in(const json &value, double low, double high, const std::string &path, Problems &problems) {
    if (value.is_number_integer() && value.get<double>() >= low && value.get<double>() <= high) return true;
    problems.add(path, "a whole number " + range_text(low, high), describe(value));
    return false;
}

bool number_in(const json &value, double low, double high, const std::string &path, Problems &problems) {
    if (value.is_number() && value.get<double>() >= low && value.get<double>() <= high) return true;
    problems.add(path, "a number " + range_text(low, high), describe(value));
    return false;
}

bool plain_text(std::string_view text) {
    for (size_t i = 0; i < text.size();) {
        const Character c = character_at(reinterpret_cast<const uint8_t *>(text.data()) + i, text.size() - i);
        if (c.bytes == 0 || is_control(c.code)) return false;
        i += c.bytes;
    }
    return true;
}

bool good_name(const json &value, const std::string &path, NameKind kind, Problems &problems) {
    if (!value.is_string()) {
        problems.add(path, "a text", describe(value));
        return false;
    }
    const auto &text = value.get_ref<const std::string &>();
    const bool place = text == "." || text == ".." || text == "-" || text == "~"; // of a file, not a name
    const char *expected = text.empty()             ? "a text that is not empty"
                           : text.size() > max_name ? "at most 256 bytes"
                           : !plain_text(text)      ? "a text without control characters"
                           : kind != NameKind::key && text.find_first_of("/\\") != std::string::npos
                               ? "a name without '/' and '\\'"
                           : kind == NameKind::model && place ? "a name that a file can have"
                                                              : nullptr;
    if (!expected) return true;
    problems.add(path, expected,
                 text.size() > max_name ? std::to_string(text.size()) + " bytes" : in_quotes(text));
    return false;
}

void only_keys(const json &object, const std::vector<std::string> &known, const std::string &path,
               Problems &problems) {
    for (const auto &[key, value] : object.items()) {
        if (std::find(known.begin(), known.end(), key) != known.end()) continue;
        if (problems.full()) {
            problems.one_more();
            continue;
        }
        std::string expected;
        for (const auto &k : known) expected += (expected.empty() ? "" : ", ") + k;
        problems.add(member(path, key), "one of the keys " + expected, "an unknown key",
                     problems.hint(key, known));
    }
}

json read_attributes(const LayerType &type, const json &object, const std::vector<std::string> &others,
                     const std::string &path, Problems &problems) {
    std::vector<std::string> known = others;
    for (const auto &a : type.attributes) known.push_back(a.name);
    only_keys(object, known, path, problems);

    json checked = json::object();
    for (const auto &a : type.attributes) {
        const std::string here = member(path, a.name);
        auto given = object.find(a.name);
        if (given == object.end()) {
            if (a.required) problems.add(here, "this key (" + type.name + " needs it)", "no such key");
            else if (!a.fallback.empty()) checked[a.name] = json::parse(a.fallback);
        } else if (a.kind == Kind::branches) {
            checked[a.name] = check_branches(*given, here, problems);
        } else if (check_value(a, *given, here, problems)) {
            checked[a.name] = *given;
        }
    }
    return checked;
}

} // namespace longwave::package
