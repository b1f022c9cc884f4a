#include "tests/support/tiny_gpu.h"
#include <cstring>

namespace longwave::test {
namespace {

constexpr uint32_t fir_words[] = {
#include "tests/support/gpu/fir.inc"
};
constexpr uint32_t mean_words[] = {
#include "tests/support/gpu/mean.inc"
};

std::unique_ptr<fb::ModuleT> module(uint16_t kernel, uint32_t offset, uint32_t size, uint32_t threads,
                                    std::vector<uint8_t> bindings) {
    auto made = std::make_unique<fb::ModuleT>();
    made->kernel = kernel;
    made->offset = offset;
    made->size = size;
    made->entry = "main";
    made->grid = std::make_unique<fb::Extent3>(1, 1, 1);
    made->local = std::make_unique<fb::Extent3>(threads, 1, 1);
    made->bindings = std::move(bindings);
    return made;
}

std::vector<uint8_t> packed(const fb::ModulesT &manifest) {
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    builder.Finish(fb::Modules::Pack(builder, &manifest), fb::ModulesIdentifier());
    return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
}

} // namespace

std::vector<uint8_t> modules_segment(fb::ModulesT manifest, const std::vector<uint8_t> &code) {
    const size_t behind = 8 + (packed(manifest).size() + 3) / 4 * 4;
    for (auto &each : manifest.modules) each->offset += static_cast<uint32_t>(behind);
    const std::vector<uint8_t> bytes = packed(manifest);
    const uint64_t size = bytes.size();
    std::vector<uint8_t> segment(8);
    memcpy(segment.data(), &size, 8);
    segment.insert(segment.end(), bytes.begin(), bytes.end());
    segment.resize(behind);
    segment.insert(segment.end(), code.begin(), code.end());
    return segment;
}

fb::ModulesT gpu_manifest() {
    fb::ModulesT manifest;
    manifest.target = "vulkan-16k";
    manifest.shared_bytes = 16384;
    manifest.threads = 64;
    manifest.modules.push_back(module(2, 0, sizeof fir_words, 64, {0, 1, 2, 3}));
    manifest.modules.push_back(module(5, sizeof fir_words, sizeof mean_words, 1, {0, 2, 1}));
    return manifest;
}

std::vector<uint8_t> gpu_code() {
    std::vector<uint8_t> code(sizeof fir_words + sizeof mean_words);
    memcpy(code.data(), fir_words, sizeof fir_words);
    memcpy(code.data() + sizeof fir_words, mean_words, sizeof mean_words);
    return code;
}

Draft gpu_model(const fb::ModulesT &manifest) {
    Draft draft = audio_model();
    draft.plan.name = "tiny-gpu";
    // A kernel that the GPU alone calls, without code.
    draft.plan.kernels.push_back(std::make_unique<fb::KernelT>(*draft.plan.kernels[4]));
    draft.plan.kernels.back()->spec = "mean on a GPU";
    auto run = std::make_unique<fb::EntryT>(*draft.plan.entries[2]);
    run->device = fb::DeviceKind::gpu;
    run->steps[3]->kernel = 5;
    draft.plan.entries.push_back(std::move(run));
    draft.segments.push_back({fb::SegmentKind::modules, modules_segment(manifest, gpu_code())});
    return draft;
}

Draft gpu_model() { return gpu_model(gpu_manifest()); }

} // namespace longwave::test
