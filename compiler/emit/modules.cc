#include "compiler/emit/modules.h"
#include "compiler/emit/dispatch.h"
#include "compiler/emit/kernel_cache.h"
#include "formats/artifact/modules_generated.h"
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

namespace longwave::compiler {
namespace {

// Kernels of GPU entries by their index in the plan.
std::vector<size_t> called_by_gpu(const Specs &specs, const std::vector<EntryPlan> &entries) {
    std::set<std::string> called;
    for (const EntryPlan &entry : entries)
        for (const Step &step : entry.steps)
            if (entry.gpu && step.kind == Step::Kind::call) called.insert(step.spec);
    std::vector<size_t> kernels;
    for (size_t k = 0; k < specs.all.size(); k++)
        if (called.contains(specs.all[k])) kernels.push_back(k);
    return kernels;
}

// What of the plan no GPU does: one line for each layer.
Status check_refused(const std::vector<EntryPlan> &entries, const targets::Target &gpu,
                     const std::map<std::string, std::string> &refused) {
    std::string lines;
    std::set<std::string> told;
    for (const EntryPlan &entry : entries)
        for (const Step &step : entry.steps) {
            if (!entry.gpu || step.kind != Step::Kind::call) continue;
            const auto found = refused.find(step.spec);
            std::string why = found == refused.end() ? "" : found->second;
            if (const std::string program = "longwave-kgen: "; why.starts_with(program))
                why.erase(0, program.size());
            if (why.empty() && step.tiles > 1) why = "it is computed in several calls";
            if (why.empty()) continue;
            const std::string line =
                fmt::format("layer {}: does not run on {}: {}", step.layer, gpu.name, why);
            if (told.insert(line).second) lines += line + "\n";
        }
    if (lines.empty()) return Status::ok();
    return Status::input(
        fmt::format("{}compile without --target {}: these layers run on processors", lines, gpu.name));
}

// Manifest and modules, as formats/artifact/modules.fbs lays them out.
class Segment {
public:
    explicit Segment(const targets::Target &gpu) {
        manifest_.target = gpu.name;
        manifest_.shared_bytes = static_cast<uint32_t>(gpu.shared_bytes);
        manifest_.threads = static_cast<uint32_t>(gpu.threads);
    }

    void add(size_t kernel, const Dispatch &dispatch, const std::vector<uint8_t> &code) {
        auto module = std::make_unique<fb::ModuleT>();
        const auto three = [](const std::array<uint32_t, 3> &n) {
            return std::make_unique<fb::Extent3>(n[0], n[1], n[2]);
        };
        module->kernel = static_cast<uint16_t>(kernel);
        module->offset = static_cast<uint32_t>(code_.size()); // from the first one
        module->size = static_cast<uint32_t>(code.size());
        module->entry = dispatch.entry;
        module->grid = three(dispatch.grid);
        module->local = three(dispatch.local);
        module->shared_bytes = dispatch.shared_bytes;
        module->bindings = dispatch.bindings;
        manifest_.modules.push_back(std::move(module));
        manifest_.features |= dispatch.features;
        code_.insert(code_.end(), code.begin(), code.end());
    }

    std::vector<uint8_t> finish() {
        // Offsets are never 0, so that none takes the place of a default: the manifest's size stays the same.
        const uint64_t behind = 8 + (pack().size() + 3) / 4 * 4;
        for (auto &module : manifest_.modules) module->offset += static_cast<uint32_t>(behind);
        std::vector<uint8_t> manifest = pack(), segment(8);
        const uint64_t size = manifest.size();
        std::memcpy(segment.data(), &size, sizeof size);
        segment.insert(segment.end(), manifest.begin(), manifest.end());
        segment.resize(behind);
        segment.insert(segment.end(), code_.begin(), code_.end());
        return segment;
    }

private:
    std::vector<uint8_t> pack() const {
        flatbuffers::FlatBufferBuilder builder;
        builder.ForceDefaults(true);
        builder.Finish(fb::Modules::Pack(builder, &manifest_), fb::ModulesIdentifier());
        return {builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize()};
    }

    fb::ModulesT manifest_;
    std::vector<uint8_t> code_;
};

} // namespace

Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const targets::Target &gpu,
                       const Options &options, Code &code) {
    const std::vector<size_t> kernels = called_by_gpu(specs, entries);
    std::vector<KernelRequest> requests;
    requests.reserve(kernels.size());
    for (const size_t k : kernels) requests.push_back({specs.all[k], gpu.name});
    LW_ASSIGN(const auto compiled, compile_kernels(requests, {.kgen = options.kgen,
                                                              .folder = options.cache,
                                                              .jobs = options.jobs,
                                                              .progress = options.progress,
                                                              .keep_refused = true}));
    std::map<std::string, std::string> refused;
    for (size_t i = 0; i < kernels.size(); i++) refused[requests[i].spec] = compiled[i].refused;
    LW_TRY(check_refused(entries, gpu, refused));

    Segment segment(gpu);
    code.signatures.resize(specs.all.size());
    for (size_t i = 0; i < kernels.size(); i++) {
        const CompiledKernel &kernel = compiled[i];
        (kernel.cached ? code.cached : code.compiled)++;
        schedules::Signature signature = kernel.signature;
        align_arguments(signature);
        schedules::Signature &known = code.signatures[kernels[i]];
        if (kernels[i] >= specs.processors) known = signature;
        else if (!same_arguments(known, signature))
            return Status::internal(fmt::format(
                "kernel {} has another argument list on {} than on processors", requests[i].spec, gpu.name));
        LW_ASSIGN(const Dispatch dispatch, parse_dispatch(kernel.text, signature));
        segment.add(kernels[i], dispatch, kernel.object);
    }
    LW_TRY(check_steps(specs.all, entries, code.signatures, true));
    code.gpu_kernels = kernels.size();
    if (!kernels.empty()) code.modules = segment.finish();
    return Status::ok();
}

} // namespace longwave::compiler
