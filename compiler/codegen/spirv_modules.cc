#include "compiler/codegen/spirv_modules.h"
#include "compiler/codegen/chains.h"
#include "compiler/codegen/dispatch.h"
#include "compiler/codegen/fp16_kernel.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/spirv/rewrite_batch.h"
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_generated.h"
#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <map>
#include <set>

namespace longwave::compiler {
namespace {

// The kernels that the device calls, by their index in the plan.
std::vector<size_t> kernels_called(const Specs &specs, const std::vector<EntryPlan> &entries,
                                   const devices::Traits &device) {
    std::set<std::string> called;
    each_call(entries, device, [&](const EntryPlan &, const Step &step) { called.insert(step.spec); });
    std::vector<size_t> kernels;
    for (size_t k = 0; k < specs.all.size(); k++)
        if (called.contains(specs.all[k])) kernels.push_back(k);
    return kernels;
}

std::vector<KernelRequest> requests_for(const Specs &specs, const std::vector<size_t> &kernels,
                                        const targets::Target &target) {
    std::vector<KernelRequest> requests;
    requests.reserve(kernels.size());
    for (const size_t k : kernels) requests.push_back({split_fp16(specs.all[k]).kernel, target.name});
    return requests;
}

std::vector<uint32_t> words_of(const CompiledKernel &kernel) {
    std::vector<uint32_t> words(kernel.object.size() / sizeof(uint32_t));
    std::memcpy(words.data(), kernel.object.data(), words.size() * sizeof(uint32_t));
    return words;
}

// The module of a kernel that streams call, which sees many of them at once.
Expected<std::vector<uint8_t>> code_for_streams(const std::string &spec, const CompiledKernel &kernel,
                                                const targets::Target &target, Dispatch &dispatch) {
    const std::vector<uint32_t> words = words_of(kernel);
    const auto &args = kernel.signature.args;
    const auto scalars = std::count_if(
        args.begin(), args.end(), [](const auto &arg) { return arg.kind == schedules::ArgKind::scalar; });
    const std::array<int, 3> grid{static_cast<int>(dispatch.grid[0]), static_cast<int>(dispatch.grid[1]),
                                  static_cast<int>(dispatch.grid[2])};
    try {
        const auto made = spirv::rewrite_batch(words, grid, static_cast<uint32_t>(scalars));
        if (static_cast<int64_t>(made.table) >= target.buffers)
            return Status::input(fmt::format("kernel {} has {} buffers and the table of streams, {} has {}",
                                             spec, made.table, target.name, target.buffers));
        dispatch.table = static_cast<uint8_t>(made.table);
        std::vector<uint8_t> code(made.words.size() * sizeof(uint32_t));
        std::memcpy(code.data(), made.words.data(), code.size());
        return code;
    } catch (const std::exception &fault) {
        return Status::internal(fmt::format("kernel {}: {}", spec, fault.what()));
    }
}

// Manifest and modules, as formats/artifact/modules.fbs lays them out.
class Segment {
public:
    explicit Segment(const targets::Target &target) {
        manifest_.target = target.name;
        manifest_.shared_bytes = static_cast<uint32_t>(target.shared_bytes);
        manifest_.threads = static_cast<uint32_t>(target.threads);
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
        module->table = dispatch.table;
        module->overflow = dispatch.overflow;
        manifest_.modules.push_back(std::move(module));
        manifest_.features |= dispatch.features;
        code_.insert(code_.end(), code.begin(), code.end());
    }

    void add(const StepChain &chain) {
        auto made = std::make_unique<fb::ChainT>();
        made->entry = static_cast<uint16_t>(chain.entry);
        made->first = static_cast<uint16_t>(chain.first);
        made->steps = static_cast<uint16_t>(chain.steps);
        // Equal chains have one code: the runtime knows them by its place.
        const auto [known, fresh] = chains_.try_emplace(chain.code, static_cast<uint32_t>(code_.size()));
        made->offset = known->second;
        made->size = static_cast<uint32_t>(chain.code.size());
        made->threads = chain.threads;
        made->shared_bytes = chain.shared_bytes;
        made->descriptors = chain.descriptors;
        made->table = chain.table;
        manifest_.chains.push_back(std::move(made));
        if (fresh) code_.insert(code_.end(), chain.code.begin(), chain.code.end());
    }

    std::vector<uint8_t> finish() {
        // Offsets are never 0, so that none takes the place of a default: the manifest's size stays
        // the same.
        const uint64_t behind = 8 + (pack().size() + 3) / 4 * 4;
        for (auto &module : manifest_.modules) module->offset += static_cast<uint32_t>(behind);
        for (auto &chain : manifest_.chains) chain->offset += static_cast<uint32_t>(behind);
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
    std::map<std::vector<uint8_t>, uint32_t> chains_; // where their code lies
    std::vector<uint8_t> code_;
};

} // namespace

Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const Storage &storage,
                       const devices::Traits &device, uint64_t chained_bytes,
                       const KernelCacheOptions &options, Code &code) {
    if (device.code != devices::CodeContainer::modules) return Status::ok();
    const std::vector<size_t> kernels = kernels_called(specs, entries, device);
    if (kernels.empty()) return Status::ok();
    const targets::Target &target = *device.target;
    const auto requests = requests_for(specs, kernels, target);
    LW_ASSIGN(const auto compiled, compile_kernels(requests, options));
    std::set<std::string> streamed;
    each_call(entries, device, [&](const EntryPlan &entry, const Step &step) {
        if (entry.kind == EntryPlan::Kind::stream) streamed.insert(step.spec);
    });

    Segment segment(target);
    code.signatures.resize(specs.all.size());
    std::map<std::string, StepModule> of_streams;
    for (size_t i = 0; i < kernels.size(); i++) {
        const CompiledKernel &kernel = compiled[i];
        (kernel.cached ? code.cached : code.compiled)++;
        schedules::Signature signature = kernel.signature;
        align_arguments(signature);
        schedules::Signature &known = code.signatures[kernels[i]];
        if (kernels[i] >= specs.cpus) known = signature;
        else if (!same_arguments(known, signature))
            return Status::internal(fmt::format("kernel {} has another argument list on {} than on CPUs",
                                                requests[i].spec, target.name));
        LW_ASSIGN(Dispatch dispatch, parse_dispatch(kernel.text, signature));
        std::vector<uint8_t> module = kernel.object;
        if (const Fp16Spec halves = split_fp16(specs.all[kernels[i]]); !halves.arguments.empty()) {
            LW_TRY(store_fp16(halves, module, signature, dispatch));
            code.signatures[kernels[i]] = signature;
        } else if (streamed.contains(requests[i].spec)) {
            of_streams[requests[i].spec] = {words_of(kernel), signature, dispatch};
            LW_ASSIGN(module, code_for_streams(requests[i].spec, kernel, target, dispatch));
        }
        segment.add(kernels[i], dispatch, module);
    }
    LW_TRY(check_steps(specs.all, entries, code.signatures, devices::CodeContainer::modules));
    const ChainLimits limits{target, chained_bytes};
    const std::vector<StepChain> chains = chain_steps(entries, storage, device, of_streams, limits);
    for (const StepChain &chain : chains) segment.add(chain);
    for (size_t e = 0; e < entries.size(); e++)
        if (entries[e].device == &device) code.dispatches[entries[e].name()] = count_dispatches(entries, e, chains);
    code.module_kernels = kernels.size();
    code.modules = segment.finish();
    return Status::ok();
}

} // namespace longwave::compiler
