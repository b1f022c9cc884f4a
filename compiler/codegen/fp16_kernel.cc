#include "compiler/codegen/fp16_kernel.h"
#include "compiler/spirv/rewrite_fp16.h"
#include "formats/artifact/modules.h"
#include <algorithm>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <set>

namespace longwave::compiler {

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
