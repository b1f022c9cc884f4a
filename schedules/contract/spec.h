// The specification of a kernel (contract/kernel.h), from the struct of its params.
#pragma once
#include "schedules/contract/param.h"
#include <map>
#include <variant>

namespace longwave::schedules::contract {

struct Specification {
    using Value = std::variant<int64_t, double, std::string, std::vector<int64_t>>;
    std::string kernel;
    std::map<std::string, Value> params; // without those that have their default
};

template <class Param> bool is_default(const Param &param) {
    if constexpr (requires { param.values; }) return param.values.empty();
    else if constexpr (requires { param.given(); }) return !param.given();
    else if constexpr (requires { Param::otherwise; }) return param.value == Param::otherwise;
    else return false;
}

template <class K> Specification specification(const K &kernel) {
    static_assert(complete<K>(), "LW_PARAMS leaves out a param");
    Specification made{.kernel = K::name, .params = {}};
    kernel.each([&](const char *name, const auto &param) {
        if (is_default(param)) return;
        if constexpr (requires { param.values; }) made.params[name] = param.values;
        else if constexpr (std::same_as<decltype(param.value), bool>)
            made.params[name] = int64_t{param.value};
        else made.params[name] = param.value;
    });
    return made;
}

} // namespace longwave::schedules::contract
