#include "compiler/plan/fp16_spec.h"
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace longwave::compiler {

namespace {

constexpr char member[] = ",\"float16\":[";

} // namespace

std::string with_fp16(const std::string &spec, const std::vector<size_t> &arguments) {
    if (arguments.empty()) return spec;
    return fmt::format("{}{}{}]}}", spec.substr(0, spec.size() - 1), member, fmt::join(arguments, ","));
}

Fp16Spec split_fp16(const std::string &spec) {
    const size_t at = spec.rfind(member);
    if (at == std::string::npos) return {spec, {}};
    Fp16Spec split{spec.substr(0, at) + "}", {}};
    size_t number = 0;
    for (const char *c = spec.c_str() + at + std::strlen(member); *c; ++c) {
        if (*c >= '0' && *c <= '9') {
            number = number * 10 + static_cast<size_t>(*c - '0');
            continue;
        }
        split.arguments.push_back(number);
        number = 0;
        if (*c == ']') break;
    }
    return split;
}

} // namespace longwave::compiler
