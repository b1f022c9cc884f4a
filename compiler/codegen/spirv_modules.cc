#include "compiler/codegen/spirv_modules.h"
#include "compiler/codegen/chains.h"
#include "compiler/codegen/dispatch.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/plan/fp16_storage.h"
#include "compiler/spirv/rewrite_batch.h"
#include "compiler/spirv/rewrite_fp16.h"
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_generated.h"
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fmt/format.h>
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace longwave::compiler {
namespace {

// Makes the module of a kernel that stores some arguments as float16 (compiler/plan/fp16_storage.h).

// Makes it so: the module's words, the types of its arguments, the descriptor and the feature more.
// Fault::internal: a module that cannot be rewritten.
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

// A module as the file holds it.
struct MadeModule {
    Dispatch dispatch;
    std::vector<uint8_t> code;
    std::optional<StepModule> step; // of a kernel that streams call: what a chain is made of
};

// Manifest and modules, as formats/artifact/modules.fbs lays them out.
class Segment {
public:
    explicit Segment(const targets::Target &target) {
        manifest_.target = target.name;
        manifest_.shared_bytes = static_cast<uint32_t>(target.shared_bytes);
        manifest_.threads = static_cast<uint32_t>(target.threads);
    }

    void add(size_t kernel, const MadeModule &made) { manifest_.modules.push_back(placed(kernel, made)); }
    void add_variant(size_t kernel, const MadeModule &made) {
        manifest_.variants.push_back(placed(kernel, made));
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
        for (auto *list : {&manifest_.modules, &manifest_.variants})
            for (auto &module : *list) module->offset += static_cast<uint32_t>(behind);
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
    std::unique_ptr<fb::ModuleT> placed(size_t kernel, const MadeModule &made) {
        const Dispatch &dispatch = made.dispatch;
        auto module = std::make_unique<fb::ModuleT>();
        const auto three = [](const std::array<uint32_t, 3> &n) {
            return std::make_unique<fb::Extent3>(n[0], n[1], n[2]);
        };
        module->kernel = static_cast<uint16_t>(kernel);
        module->offset = static_cast<uint32_t>(code_.size()); // from the first one
        module->size = static_cast<uint32_t>(made.code.size());
        module->entry = dispatch.entry;
        module->grid = three(dispatch.grid);
        module->local = three(dispatch.local);
        module->shared_bytes = dispatch.shared_bytes;
        module->bindings = dispatch.bindings;
        module->table = dispatch.table;
        module->overflow = dispatch.overflow;
        manifest_.features |= dispatch.features;
        code_.insert(code_.end(), made.code.begin(), made.code.end());
        return module;
    }

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

// Makes modules of what longwave-kgen compiled, and knows what chains are made of.
class ModuleMaker {
public:
    ModuleMaker(const Specs &specs, const std::vector<EntryPlan> &entries, const devices::Traits &device)
        : specs_(specs), target_(*device.target) {
        each_call(entries, device, [&](const EntryPlan &entry, const Step &step) {
            if (entry.kind == EntryPlan::Kind::stream) streamed_.insert(step.spec);
        });
    }

    // `signature` is the kernel's; float16 arguments change it.
    Expected<MadeModule> make(size_t k, const CompiledKernel &kernel, schedules::Signature &signature) const {
        LW_ASSIGN(Dispatch dispatch, parse_dispatch(kernel.text, signature));
        MadeModule made{dispatch, kernel.object, {}};
        if (const Fp16Spec halves = split_fp16(specs_.all[k]); !halves.arguments.empty()) {
            LW_TRY(store_fp16(halves, made.code, signature, made.dispatch));
        } else if (streamed_.contains(specs_.all[k])) {
            made.step = {words_of(kernel), signature, dispatch};
            LW_ASSIGN(made.code, code_for_streams(specs_.all[k], kernel, target_, made.dispatch));
        }
        return made;
    }

    KernelRequest request(size_t k, uint32_t variant = 0) const {
        std::string spec = split_fp16(specs_.all[k]).kernel;
        if (variant > 0) {
            nlohmann::json document = nlohmann::json::parse(spec);
            document["variant"] = variant;
            spec = document.dump();
        }
        return {spec, target_.name};
    }

private:
    const Specs &specs_;
    const targets::Target &target_;
    std::set<std::string> streamed_;
};

// A variant in the order of the segment.
struct Variant {
    size_t kernel = 0;
    uint32_t number = 0;
};

Status other_arguments(const std::string &spec, const targets::Target &target, const char *than) {
    return Status::internal(
        fmt::format("kernel {} has another argument list on {} than {}", spec, target.name, than));
}

// Compiles the variants and adds them.
Status add_variants(const ModuleMaker &maker, const std::vector<Variant> &variants,
                    const targets::Target &target, const KernelCacheOptions &kernel_cache, Code &code,
                    Segment &segment) {
    std::vector<KernelRequest> requests;
    for (const Variant &variant : variants) requests.push_back(maker.request(variant.kernel, variant.number));
    LW_ASSIGN(const auto compiled, compile_kernels(requests, kernel_cache));
    for (size_t i = 0; i < variants.size(); i++) {
        (compiled[i].cached ? code.cached : code.compiled)++;
        schedules::Signature signature = compiled[i].signature;
        align_arguments(signature);
        LW_ASSIGN(const MadeModule made, maker.make(variants[i].kernel, compiled[i], signature));
        if (!same_arguments(code.signatures[variants[i].kernel], signature))
            return other_arguments(requests[i].spec, target, "without the variant");
        segment.add_variant(variants[i].kernel, made);
    }
    return Status::ok();
}

} // namespace

Status compile_modules(const Specs &specs, const std::vector<EntryPlan> &entries, const Storage &storage,
                       const devices::Traits &device, const ModuleOptions &options,
                       const KernelCacheOptions &kernel_cache, Code &code) {
    if (device.code != devices::CodeContainer::modules) return Status::ok();
    const std::vector<size_t> kernels = kernels_called(specs, entries, device);
    if (kernels.empty()) return Status::ok();
    const targets::Target &target = *device.target;
    const ModuleMaker maker(specs, entries, device);
    std::vector<KernelRequest> requests;
    for (const size_t k : kernels) requests.push_back(maker.request(k));
    LW_ASSIGN(const auto compiled, compile_kernels(requests, kernel_cache));

    Segment segment(target);
    code.signatures.resize(specs.all.size());
    std::map<std::string, StepModule> of_streams;
    std::vector<Variant> variants;
    for (size_t i = 0; i < kernels.size(); i++) {
        const size_t k = kernels[i];
        const CompiledKernel &kernel = compiled[i];
        (kernel.cached ? code.cached : code.compiled)++;
        schedules::Signature signature = kernel.signature;
        align_arguments(signature);
        if (k < specs.cpus && !same_arguments(code.signatures[k], signature))
            return other_arguments(requests[i].spec, target, "on CPUs");
        LW_ASSIGN(const MadeModule made, maker.make(k, kernel, signature));
        if (k >= specs.cpus) code.signatures[k] = signature;
        if (made.step) of_streams[specs.all[k]] = *made.step;
        segment.add(k, made);
        for (uint32_t v = 1; v < std::min(made.dispatch.variants, options.variants); v++)
            variants.push_back({k, v});
    }
    LW_TRY(add_variants(maker, variants, target, kernel_cache, code, segment));
    LW_TRY(check_steps(specs.all, entries, code.signatures, devices::CodeContainer::modules));
    const ChainLimits limits{target, options.chained_bytes};
    const std::vector<StepChain> chains = chain_steps(entries, storage, device, of_streams, limits);
    for (const StepChain &chain : chains) segment.add(chain);
    for (size_t e = 0; e < entries.size(); e++)
        if (entries[e].device == &device)
            code.dispatches[entries[e].name()] = count_dispatches(entries, e, chains);
    code.module_kernels = kernels.size();
    code.modules = segment.finish();
    return Status::ok();
}

} // namespace longwave::compiler
