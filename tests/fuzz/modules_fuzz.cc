// Segments of what a GPU runs: the manifest and SPIR-V. The first byte picks the plan that they are
// held against. What must hold: any bytes break rule V21 or give modules that lie in them, whose
// kernels exist; any words are a module that is put together again as it came, or not SPIR-V.
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules.h"
#include "formats/spirv/module.h"
#include "tests/fuzz/must.h"
#include "tests/support/tiny_gpu.h"
#include <cstring>
#include <memory>

using namespace longwave;
using fuzz::must;

namespace {

void parse(const artifact::Bytes &code) {
    spirv::Words words(code.size / 4);
    memcpy(words.data(), code.data, 4 * words.size());
    try {
        must(spirv::Module::parse(words).assemble() == words, "a module is put together again as it came");
    } catch (const spirv::Fault &fault) {
        must(*fault.what(), "a refusal says why");
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const std::vector<uint8_t> files[] = {test::gpu_model().bytes(), test::mixed_model().bytes(),
                                                 test::gpu_stream_model().bytes()};
    if (size < 1) return 0;
    const fb::Plan &plan = *fb::GetPlan(files[data[0] % 3].data() + artifact::header_bytes);
    const std::unique_ptr<uint8_t, void (*)(void *)> copy(
        static_cast<uint8_t *>(aligned_alloc(64, (size + 63) / 64 * 64)), free);
    memcpy(copy.get(), data + 1, size - 1);
    const artifact::Bytes segment{copy.get(), size - 1};
    artifact::ModulesView opened;
    const artifact::Broken broken = artifact::open_modules(plan, segment, &opened);
    must(bool(broken) != bool(opened), "modules are given exactly when nothing is broken");
    if (broken) return must(broken.rule == 21 && *broken.text, "a refusal names its rule"), 0;
    for (const fb::Module *module : *opened.manifest().modules()) {
        const artifact::Bytes code = opened.code(*module);
        must(code.data >= segment.data && code.data + code.size <= segment.data + segment.size,
             "a module lies in its segment");
        must(opened.of_kernel(module->kernel()) == module, "a module is found by its kernel");
        must(module->bindings()->size() == plan.kernels()->Get(module->kernel())->args()->size(),
             "each argument has a descriptor");
        parse(code);
    }
    return 0;
}
