#include "schedules/halide/params.h"

namespace longwave::schedules {

Params::Params(std::string owner, const nlohmann::json &object) : owner_(std::move(owner)), object_(object) {
    require(object_.is_object(), "params must be a JSON object");
}

int Params::integer(const std::string &name, int low, int high) {
    return checked(name, get(name), low, high);
}

int Params::integer_or(const std::string &name, int otherwise, int low, int high) {
    const nlohmann::json *value = find(name);
    return value ? checked(name, *value, low, high) : otherwise;
}

double Params::real(const std::string &name, double low, double high) {
    const nlohmann::json &value = get(name);
    require(value.is_number(), "param '" + name + "' must be a number, found " + value.dump());
    const double number = value.get<double>();
    require(number >= low && number <= high, "param '" + name + "' is " + value.dump() + ", must be in [" +
                                                 std::to_string(low) + ", " + std::to_string(high) + "]");
    return number;
}

std::string Params::choice(const std::string &name, const std::vector<std::string> &allowed) {
    const nlohmann::json &value = get(name);
    std::string list;
    for (const std::string &one : allowed) {
        if (value.is_string() && value.get<std::string>() == one) return one;
        list += (list.empty() ? "" : ", ") + one;
    }
    fail("param '" + name + "' is " + value.dump() + ", must be one of " + list);
}

std::vector<int64_t> Params::integers(const std::string &name, size_t most, int low, int high) {
    const nlohmann::json *list = find(name);
    if (!list) return {};
    require(list->is_array() && list->size() <= most,
            "param '" + name + "' must be a list of at most " + std::to_string(most) + " integers");
    std::vector<int64_t> values;
    for (const nlohmann::json &value : *list) values.push_back(checked(name, value, low, high));
    return values;
}

void Params::finish() const {
    for (const auto &[name, value] : object_.items())
        if (!asked_.count(name)) fail("unknown param '" + name + "'");
}

void Params::fail(const std::string &what) const { throw SpecError(owner_ + ": " + what); }

const nlohmann::json *Params::find(const std::string &name) {
    asked_.insert(name);
    const auto it = object_.find(name);
    return it == object_.end() ? nullptr : &*it;
}

const nlohmann::json &Params::get(const std::string &name) {
    const nlohmann::json *value = find(name);
    require(value != nullptr, "param '" + name + "' is missing");
    return *value;
}

int Params::checked(const std::string &name, const nlohmann::json &value, int low, int high) const {
    require(value.is_number_integer() || value.is_boolean(),
            "param '" + name + "' must be an integer, found " + value.dump());
    const int64_t number = value.is_boolean() ? value.get<bool>() : value.get<int64_t>();
    require(number >= low && number <= high, "param '" + name + "' is " + value.dump() + ", must be in [" +
                                                 std::to_string(low) + ", " + std::to_string(high) + "]");
    return static_cast<int>(number);
}

} // namespace longwave::schedules
