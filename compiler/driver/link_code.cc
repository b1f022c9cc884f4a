#include "compiler/driver/link_code.h"
#include "compiler/codegen/code_image.h"
#include "compiler/codegen/elf_input.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/codegen/object_format.h"
#include "compiler/driver/check_options.h"
#include <algorithm>

namespace longwave::compiler {

Expected<LinkedCode> link_code(const std::vector<std::string> &specs, const std::string &target,
                               const Options &options) {
    LW_ASSIGN(const Request request, check_options(options));
    const KernelCacheOptions cache{.kgen = options.kgen,
                                   .folder = options.cache,
                                   .jobs = options.jobs,
                                   .structures = request.tuning.structures,
                                   .progress = options.progress};
    std::vector<KernelRequest> requests;
    for (const std::string &spec : specs) requests.push_back({spec, target});
    LW_ASSIGN(const std::vector<CompiledKernel> kernels, compile_kernels(requests, cache));
    std::vector<LinkedKernel> to_link;
    uint64_t stack = 0;
    for (size_t i = 0; i < kernels.size(); i++) {
        to_link.push_back({&kernels[i].object, kernel_symbol(specs[i]) + "_argv",
                           (kernels[i].signature.scratch_bytes + 63) / 64 * 64});
        LW_ASSIGN(const uint64_t of_kernel, stack_bytes(kernels[i].object, *targets::find(target)));
        stack = std::max(stack, of_kernel);
    }
    LW_ASSIGN(CodeImage image, link_image(to_link, *targets::find(target)));
    return LinkedCode{std::move(image.bytes), std::move(image.entries), stack};
}

Expected<std::vector<uint8_t>> static_library(const std::string &symbol, const std::string &target,
                                              const std::vector<uint8_t> &image,
                                              const std::vector<uint8_t> &model) {
    const targets::Target *found = targets::find(target);
    if (!found) return Status::internal("static library: no target " + target);
    LW_ASSIGN(const std::vector<uint8_t> object, static_object(symbol, *found, image, model));
    return archive_of(symbol, object);
}

} // namespace longwave::compiler
