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
constexpr uint32_t fir_streams_words[] = {
#include "tests/support/gpu/fir_streams.inc"
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
    for (auto &each : manifest.variants) each->offset += static_cast<uint32_t>(behind);
    for (auto &each : manifest.chains) each->offset += static_cast<uint32_t>(behind);
    const std::vector<uint8_t> bytes = packed(manifest);
    const uint64_t size = bytes.size();
    std::vector<uint8_t> segment(8);
    memcpy(segment.data(), &size, 8);
    segment.insert(segment.end(), bytes.begin(), bytes.end());
    segment.resize(behind);
    segment.insert(segment.end(), code.begin(), code.end());
    return segment;
}

namespace {

fb::ModulesT empty_manifest() {
    fb::ModulesT manifest;
    manifest.target = "vulkan-16k";
    manifest.shared_bytes = 16384;
    manifest.threads = 64;
    return manifest;
}

} // namespace

fb::ModulesT gpu_manifest() {
    fb::ModulesT manifest = empty_manifest();
    manifest.modules.push_back(module(2, 0, sizeof fir_words, 64, {0, 1, 2, 3}));
    manifest.modules.push_back(module(5, sizeof fir_words, sizeof mean_words, 1, {0, 2, 1}));
    return manifest;
}

fb::ModulesT variants_manifest() {
    fb::ModulesT manifest = gpu_manifest();
    for (const size_t of : {0, 1, 1})
        manifest.variants.push_back(std::make_unique<fb::ModuleT>(*manifest.modules[of]));
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

Draft mixed_model() {
    Draft draft = gpu_model();
    auto &steps = draft.plan.entries[gpu_run]->steps; // history, fir, tail, mean
    const auto move = [](fb::StepKind kind, uint64_t offset, uint64_t bytes) {
        auto step = zero("move", fb::Space::arena, offset, bytes);
        step->kind = kind;
        return step;
    };
    steps[0]->cpu = steps[2]->cpu = true;
    steps.insert(steps.begin() + 1, move(fb::StepKind::to_device, 0, 288));
    steps.insert(steps.begin() + 3, move(fb::StepKind::to_cpu, 320, 256));
    steps.insert(steps.begin() + 5, move(fb::StepKind::to_device, 320, 256));
    steps.push_back(move(fb::StepKind::to_cpu, 576, 4));
    return draft;
}

namespace {

std::vector<uint8_t> stream_code() {
    std::vector<uint8_t> code(sizeof fir_streams_words);
    memcpy(code.data(), fir_streams_words, sizeof fir_streams_words);
    return code;
}

fb::ModulesT stream_manifest() {
    fb::ModulesT manifest = empty_manifest();
    manifest.modules.push_back(module(0, 0, sizeof fir_streams_words, 4, {0, 1, 2, 3}));
    manifest.modules[0]->table = 4;
    return manifest;
}

} // namespace

Draft gpu_stream_model() {
    Draft draft = empty_draft("tiny-gpu-stream");
    add_input(draft, "audio", fb::InputKind::audio, 1000);
    set_weights(draft, {0.5f, -0.25f, 0.75f, 1.0f, 0.125f, -0.5f, 0.3f, 0.2f, 0.9f, 0, 0, 0, 0, 0, 0, 0});
    add_field(draft, "input", "audio", fb::StateKind::history, {16, 1});
    add_kernel(draft, fir, "fir-16-4",
               {arg(fb::ArgKind::input, fb::Elem::f32, {{16, 1}}),
                arg(fb::ArgKind::input, fb::Elem::f32, {{9, 1}}), scalar_arg(12, 4),
                arg(fb::ArgKind::output, fb::Elem::f32, {{4, 1}})});
    for (const fb::DeviceKind device : {fb::DeviceKind::cpu, fb::DeviceKind::gpu}) {
        auto entry = std::make_unique<fb::EntryT>();
        entry->kind = fb::EntryKind::stream;
        entry->device = device;
        entry->block = 4;
        entry->arena_bytes = 64;
        entry->inputs.push_back(input_port(place(fb::Space::state, 0, 4, 16), 4, 4));
        entry->outputs.push_back(output_port("y", place(fb::Space::arena, 0), 1, 4, 1, 1));
        entry->steps.push_back(call("fir", 0,
                                    bindings(at(fb::Space::state, 0), at(fb::Space::weights, 0),
                                             slot(4, 4, 0), at(fb::Space::arena, 0))));
        draft.plan.entries.push_back(std::move(entry));
    }
    draft.segments.push_back({fb::SegmentKind::modules, modules_segment(stream_manifest(), stream_code())});
    return draft;
}

fb::ModulesT chain_manifest() {
    fb::ModulesT manifest = stream_manifest();
    auto chain = std::make_unique<fb::ChainT>();
    chain->entry = 1;
    chain->steps = 2;
    chain->size = sizeof fir_streams_words;
    chain->threads = 4;
    chain->descriptors = {0, 1, 3, 2, 0, 1, 3, 2};
    chain->table = 3;
    manifest.chains.push_back(std::move(chain));
    return manifest;
}

Draft chain_model(const fb::ModulesT &manifest) {
    Draft draft = gpu_stream_model();
    fb::EntryT &entry = *draft.plan.entries[1];
    entry.arena_bytes = 128;
    entry.steps.push_back(std::make_unique<fb::StepT>(*entry.steps[0]));
    entry.steps[1]->args[3]->place = place(fb::Space::arena, 64);
    draft.segments.back().bytes = modules_segment(manifest, stream_code());
    return draft;
}

} // namespace longwave::test
