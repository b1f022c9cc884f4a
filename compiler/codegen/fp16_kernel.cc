#include "compiler/codegen/fp16_kernel.h"
#include "formats/artifact/modules.h"
#include "compiler/spirv/rewrite_fp16.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>

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

Status store_fp16(const Fp16Spec &spec, std::vector<uint8_t> &module, schedules::Signature &signature,
                    Dispatch &dispatch) {
    std::set<uint32_t> bindings;
    for (const size_t a : spec.arguments) {
        signature.args.at(a).elem = Elem::f16;
        if (dispatch.bindings.at(a) != artifact::unbound) bindings.insert(dispatch.bindings[a]);
    }
    std::vector<uint32_t> words(module.size() / sizeof(uint32_t));
    std::memcpy(words.data(), module.data(), module.size());
    try {
        const auto made = spirv::rewrite_fp16(words, bindings);
        module.resize(made.words.size() * sizeof(uint32_t));
        std::memcpy(module.data(), made.words.data(), module.size());
        dispatch.overflow = static_cast<uint8_t>(made.overflow);
    } catch (const std::exception &fault) {
        return Status::internal(fmt::format("kernel {}: {}", spec.kernel, fault.what()));
    }
    dispatch.features |= artifact::gpu_storage_16;
    return Status::ok();
}

} // namespace longwave::compiler
