#include "compiler/ir/algorithm.h"
#include "compiler/ir/kernel_call.h"
#include <nlohmann/json.hpp>

namespace longwave::ir {

uint32_t Decisions::at(const std::string &name) const {
    for (const auto &[known, value] : list_)
        if (known == name) return value;
    return 0;
}

nlohmann::json spec_json(const Specification &specification) {
    nlohmann::json params = nlohmann::json::object();
    for (const auto &[name, value] : specification.params)
        params[name] = std::visit([](const auto &one) { return nlohmann::json(one); }, value);
    return {{"kernel", specification.kernel}, {"params", std::move(params)}};
}

std::string kernel_spec(const Specification &specification) { return spec_json(specification).dump(); }

} // namespace longwave::ir
