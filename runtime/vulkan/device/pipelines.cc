#include "runtime/vulkan/device/pipelines.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/schema.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/device/variant_timer.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

// What the driver keeps of compiled pipelines, from one opening of an artifact to the next.

// Nothing that goes wrong here fails an opening: the pipelines are compiled once more.
class PipelineCache {
public:
    // Empty, or with what was kept of this device, driver and artifact (its root hash). The driver
    // sees no other bytes: it need not check them (Vulkan 1.3, 10.7.1).
    PipelineCache(const Gpu &gpu, const uint8_t *artifact);
    ~PipelineCache();
    PipelineCache(const PipelineCache &) = delete;

    VkPipelineCache handle() const { return handle_; } // may be null
    void keep();                                       // when there is something new

private:
    const Gpu &gpu_;
    const uint8_t *artifact_;
    VkPipelineCache handle_ = VK_NULL_HANDLE;
    uint64_t found_ = 0; // bytes
};

// Vulkan's own header: a driver may read on without looking.
bool of_this(const VkPhysicalDeviceProperties &device, const uint8_t *data, uint64_t bytes) {
    VkPipelineCacheHeaderVersionOne header;
    if (bytes < sizeof header) return false;
    memcpy(&header, data, sizeof header);
    return header.headerSize >= sizeof header && header.headerSize <= bytes &&
           header.headerVersion == VK_PIPELINE_CACHE_HEADER_VERSION_ONE &&
           header.vendorID == device.vendorID && header.deviceID == device.deviceID &&
           memcmp(header.pipelineCacheUUID, device.pipelineCacheUUID, VK_UUID_SIZE) == 0;
}

VkPipelineCache make_cache(const Gpu &gpu, const uint8_t *data, uint64_t bytes) {
    VkPipelineCacheCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_PIPELINE_CACHE_CREATE_INFO;
    info.initialDataSize = bytes;
    info.pInitialData = data;
    VkPipelineCache made = VK_NULL_HANDLE;
    const VkResult result = gpu.vk.vkCreatePipelineCache(gpu.device, &info, nullptr, &made);
    return result == VK_SUCCESS ? made : VK_NULL_HANDLE;
}

PipelineCache::PipelineCache(const Gpu &gpu, const uint8_t *artifact) : gpu_(gpu), artifact_(artifact) {
    if (!gpu.cache) return;
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (gpu.cache.read(Cache::Kind::pipelines, artifact, gpu.allocator, &block, &data, &bytes)) {
        if (of_this(gpu.properties, data, bytes)) handle_ = make_cache(gpu, data, bytes);
        if (handle_) found_ = bytes;
        block.release(gpu.allocator);
    }
    if (!handle_) handle_ = make_cache(gpu, nullptr, 0);
    if (found_) ++gpu.stats.cached_models;
}

PipelineCache::~PipelineCache() {
    if (handle_ && !gpu_.leaked) gpu_.vk.vkDestroyPipelineCache(gpu_.device, handle_, nullptr);
}

void PipelineCache::keep() {
    size_t bytes = 0;
    const auto get = gpu_.vk.vkGetPipelineCacheData;
    if (!handle_ || get(gpu_.device, handle_, &bytes, nullptr) != VK_SUCCESS) return;
    if (bytes == found_ || bytes > Cache::most_entry_bytes) return;
    Block block;
    if (!block.allocate(gpu_.allocator, bytes)) return;
    if (get(gpu_.device, handle_, &bytes, block.data) == VK_SUCCESS && // what it wrote may be less
        of_this(gpu_.properties, block.data, bytes))
        gpu_.cache.write(Cache::Kind::pipelines, artifact_, block.data, bytes);
    block.release(gpu_.allocator);
}

constexpr uint32_t transfer_words[] = {
#include "runtime/vulkan/device/transfer.inc"
};

lw_status beyond(const fb::Modules &manifest, const char *limit, uint64_t needed, uint64_t has) {
    return fail(LW_UNSUPPORTED, "the model's code for %.60s needs %s of %llu, this GPU has %llu",
                manifest.target()->c_str(), limit, static_cast<unsigned long long>(needed),
                static_cast<unsigned long long>(has));
}

lw_status check_module(const Gpu &gpu, const fb::Modules &manifest, const fb::Module &module,
                       const fb::Kernel &kernel) {
    const VkPhysicalDeviceLimits &has = gpu.limits;
    const uint32_t groups[3] = {module.grid()->x(), module.grid()->y(), module.grid()->z()};
    const uint32_t threads[3] = {module.local()->x(), module.local()->y(), module.local()->z()};
    for (int d = 0; d < 3; ++d) {
        if (groups[d] > has.maxComputeWorkGroupCount[d])
            return beyond(manifest, "maxComputeWorkGroupCount", groups[d], has.maxComputeWorkGroupCount[d]);
        if (threads[d] > has.maxComputeWorkGroupSize[d])
            return beyond(manifest, "maxComputeWorkGroupSize", threads[d], has.maxComputeWorkGroupSize[d]);
    }
    if (descriptors_of(module) > has.maxPerStageDescriptorStorageBuffers)
        return beyond(manifest, "maxPerStageDescriptorStorageBuffers", descriptors_of(module),
                      has.maxPerStageDescriptorStorageBuffers);
    for (const fb::KernelArg *arg : *kernel.args()) {
        uint64_t span = 0;
        if (arg->kind() == fb::ArgKind::scalar || !artifact::span_bytes(*arg, &span)) continue;
        if (span > has.maxStorageBufferRange)
            return beyond(manifest, "maxStorageBufferRange", span, has.maxStorageBufferRange);
    }
    return LW_OK;
}

lw_status create_layouts(const Gpu &gpu, Pipeline &pipeline) {
    VkDescriptorSetLayoutBinding bindings[64]; // V21
    for (uint32_t b = 0; b < pipeline.buffers; ++b)
        bindings[b] = {b, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, nullptr};
    VkDescriptorSetLayoutCreateInfo set{};
    set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_LAYOUT_CREATE_INFO;
    set.bindingCount = pipeline.buffers;
    set.pBindings = bindings;
    LW_VK(gpu.vk, vkCreateDescriptorSetLayout, gpu.device, &set, nullptr, &pipeline.set);
    VkPipelineLayoutCreateInfo layout{};
    layout.sType = VK_STRUCTURE_TYPE_PIPELINE_LAYOUT_CREATE_INFO;
    layout.setLayoutCount = 1;
    layout.pSetLayouts = &pipeline.set;
    LW_VK(gpu.vk, vkCreatePipelineLayout, gpu.device, &layout, nullptr, &pipeline.layout);
    return LW_OK;
}

} // namespace

uint32_t descriptors_of(const fb::Module &module) {
    uint32_t most = 0;
    for (uint32_t a = 0; a < module.bindings()->size(); ++a)
        if (module.bindings()->Get(a) != artifact::unbound && module.bindings()->Get(a) + 1u > most)
            most = module.bindings()->Get(a) + 1u;
    if (module.table() != artifact::unbound && module.table() + 1u > most) most = module.table() + 1u;
    if (module.overflow() != artifact::unbound && module.overflow() + 1u > most)
        most = module.overflow() + 1u;
    return most; // V21: each below it is taken
}

bool dispatch_fits(const Gpu &gpu, const fb::Module &module) {
    const auto fits = [](const fb::Extent3 &wanted, const uint32_t (&most)[3]) {
        return wanted.x() <= most[0] && wanted.y() <= most[1] && wanted.z() <= most[2];
    };
    return fits(*module.grid(), gpu.limits.maxComputeWorkGroupCount) &&
           fits(*module.local(), gpu.limits.maxComputeWorkGroupSize);
}

lw_status create_pipeline(const Gpu &gpu, const artifact::Bytes &code, const char *entry,
                          VkPipelineCache cache, Pipeline &pipeline) {
    if (lw_status status = create_layouts(gpu, pipeline)) return status;
    VkShaderModuleCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SHADER_MODULE_CREATE_INFO;
    info.codeSize = code.size;
    info.pCode = reinterpret_cast<const uint32_t *>(code.data);
    VkShaderModule shader = VK_NULL_HANDLE;
    LW_VK(gpu.vk, vkCreateShaderModule, gpu.device, &info, nullptr, &shader);
    VkComputePipelineCreateInfo made{};
    made.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO;
    made.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    made.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    made.stage.module = shader;
    made.stage.pName = entry;
    made.layout = pipeline.layout;
    const VkResult result =
        gpu.vk.vkCreateComputePipelines(gpu.device, cache, 1, &made, nullptr, &pipeline.pipeline);
    gpu.vk.vkDestroyShaderModule(gpu.device, shader, nullptr);
    return check(result, "vkCreateComputePipelines");
}

void destroy_pipeline(const Gpu &gpu, Pipeline &pipeline) {
    if (pipeline.pipeline) gpu.vk.vkDestroyPipeline(gpu.device, pipeline.pipeline, nullptr);
    if (pipeline.layout) gpu.vk.vkDestroyPipelineLayout(gpu.device, pipeline.layout, nullptr);
    if (pipeline.set) gpu.vk.vkDestroyDescriptorSetLayout(gpu.device, pipeline.set, nullptr);
    pipeline = {};
}

const uint64_t transfer_code_bytes = sizeof transfer_words;

lw_status check_limits(const Gpu &gpu, const fb::Modules &manifest, const fb::Plan &plan) {
    if ((manifest.features() & artifact::gpu_float64) && !gpu.features.shaderFloat64)
        return fail(LW_UNSUPPORTED, "the model's code for %.60s needs shaderFloat64, which this GPU lacks",
                    manifest.target()->c_str());
    if ((manifest.features() & artifact::gpu_storage_16) && !gpu.storage_16)
        return fail(
            LW_UNSUPPORTED,
            "the model's code for %.60s stores float16 and needs storageBuffer16BitAccess, which this GPU "
            "lacks: compile the model without --gpu-storage f16",
            manifest.target()->c_str());
    if ((manifest.features() & artifact::gpu_storage_16) && !gpu.rounds_float16)
        return fail(
            LW_UNSUPPORTED,
            "%.100s stores float16 rounded otherwise than to nearest, which the model's code for %.60s "
            "needs: compile the model without --gpu-storage f16",
            gpu.properties.deviceName, manifest.target()->c_str());
    if (manifest.shared_bytes() > gpu.limits.maxComputeSharedMemorySize)
        return beyond(manifest, "maxComputeSharedMemorySize", manifest.shared_bytes(),
                      gpu.limits.maxComputeSharedMemorySize);
    if (manifest.threads() > gpu.limits.maxComputeWorkGroupInvocations)
        return beyond(manifest, "maxComputeWorkGroupInvocations", manifest.threads(),
                      gpu.limits.maxComputeWorkGroupInvocations);
    for (const fb::Module *module : *manifest.modules())
        if (lw_status status = check_module(gpu, manifest, *module, *plan.kernels()->Get(module->kernel())))
            return status;
    return LW_OK;
}

uint32_t most_chains(const fb::Plan &plan) {
    uint32_t most = 0;
    for (const fb::Entry *entry : *plan.entries())
        if (gpu_stream(*entry)) most += entry->steps()->size() / 2;
    return most;
}

void Pipelines::lay_out(const fb::Plan &plan, Parts &parts) {
    const uint32_t kernels = plan.kernels()->size(), chains = most_chains(plan);
    table_ = parts.take<Pipeline>(kernels);
    chains_ = parts.take<ChainPipeline>(chains);
    choices_.lay_out(plan, parts);
    if (!table_) return; // only measuring
    for (uint32_t k = 0; k < kernels; ++k) new (table_ + k) Pipeline{};
    for (uint32_t c = 0; c < chains; ++c) new (chains_ + c) ChainPipeline{};
    n_ = kernels;
}

lw_status Pipelines::create_kernel(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                                   uint32_t kernel, VkPipelineCache cache, VariantTimer *timer) {
    Choice &choice = choices_[kernel];
    if (timer && modules.variants_of(kernel) > 1)
        if (lw_status status = timer->choose(kernel, &choice)) return status;
    Pipeline &pipeline = table_[kernel];
    const fb::Module &module = modules.variant(kernel, choice.number);
    pipeline.module = &module;
    const lw_status status =
        create_pipeline(gpu, modules.code(module), module.entry()->c_str(), cache, pipeline);
    if (status == LW_DEVICE) // the driver rejects the code: name the kernel
        return fail(LW_DEVICE, "the Vulkan driver rejected the shader of kernel %.160s",
                    plan.kernels()->Get(kernel)->spec()->c_str());
    return status;
}

lw_status Pipelines::create_chains(const Gpu &gpu, const artifact::ModulesView &modules,
                                   VkPipelineCache cache) {
    if (!gpu.shares_dispatches) return LW_OK;
    for (uint32_t c = 0; c < modules.chain_count(); ++c)
        if (modules.chain(c).table() + 1u > gpu.limits.maxPerStageDescriptorStorageBuffers) return LW_OK;
    for (uint32_t c = 0; c < modules.chain_count(); ++c) {
        ChainPipeline &chain = chains_[n_chains_++];
        chain.of = &modules.chain(c);
        for (uint32_t before = 0; before < c && !chain.shared; ++before)
            if (chains_[before].of->offset() == chain.of->offset() &&
                chains_[before].of->table() == chain.of->table()) {
                chain.pipeline = chains_[before].pipeline;
                chain.shared = true;
            }
        if (chain.shared) continue;
        chain.pipeline.buffers = chain.of->table() + 1u;
        const lw_status status = create_pipeline(gpu, modules.code(*chain.of), "main", cache, chain.pipeline);
        if (status == LW_DEVICE)
            return fail(LW_DEVICE, "the Vulkan driver rejected the shader of steps %u to %u of entry %u",
                        unsigned{chain.of->first()}, chain.of->first() + chain.of->steps() - 1u,
                        unsigned{chain.of->entry()});
        if (status != LW_OK) return status;
    }
    return LW_OK;
}

// Whether some step outside of the chains calls the kernel.
bool Pipelines::needed(const fb::Plan &plan, uint32_t kernel) const {
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (!of_gpu(entry)) continue;
        const auto chained = [&](uint32_t step) {
            for (uint32_t c = 0; c < n_chains_; ++c)
                if (chain(c).entry() == e && step >= chain(c).first() &&
                    step < chain(c).first() + chain(c).steps())
                    return true;
            return false;
        };
        const auto calls = [&](const fb::Step &step) {
            return step.kind() == fb::StepKind::call && !step.cpu() && step.kernel() == kernel;
        };
        for (uint32_t i = 0; i < entry.steps()->size(); ++i)
            if (calls(*entry.steps()->Get(i)) && !chained(i)) return true;
        for (uint32_t i = 0; i < artifact::count(entry.rebuild()); ++i)
            if (calls(*entry.rebuild()->Get(i))) return true;
    }
    return false;
}

lw_status Pipelines::create(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                            const uint8_t *artifact) {
    PipelineCache cache(gpu, artifact);
    if (lw_status status = create_chains(gpu, modules, cache.handle())) return status;
    const bool recalls = gpu.timing == Gpu::Timing::recalled || gpu.timing == Gpu::Timing::once;
    const bool known = recalls && choices_.recall(gpu, modules, artifact);
    const bool times = gpu.timing == Gpu::Timing::always || (gpu.timing == Gpu::Timing::once && !known);
    VariantTimer timer(gpu, modules, plan, cache.handle());
    for (const fb::Module *module : *modules.manifest().modules()) {
        table_[module->kernel()].module = module;
        table_[module->kernel()].buffers = descriptors_of(*module);
        if (!needed(plan, module->kernel())) continue;
        if (lw_status status =
                create_kernel(gpu, modules, plan, module->kernel(), cache.handle(), times ? &timer : nullptr))
            return status;
    }
    if (times) choices_.keep(gpu, artifact);
    bool streams = false;
    for (const fb::Entry *entry : *plan.entries()) streams |= gpu_stream(*entry);
    if (streams) {
        transfer_.buffers = 3;
        const artifact::Bytes code{reinterpret_cast<const uint8_t *>(transfer_words), sizeof transfer_words};
        if (lw_status status = create_pipeline(gpu, code, "main", cache.handle(), transfer_)) return status;
    }
    cache.keep();
    return LW_OK;
}

void Pipelines::destroy(const Gpu &gpu) {
    if (gpu.leaked) return;
    for (uint32_t k = 0; k < n_; ++k) destroy_pipeline(gpu, table_[k]);
    for (uint32_t c = 0; c < n_chains_; ++c)
        if (!chains_[c].shared) destroy_pipeline(gpu, chains_[c].pipeline);
    destroy_pipeline(gpu, transfer_);
}

void Choices::lay_out(const fb::Plan &plan, Parts &parts) {
    n_ = plan.kernels()->size();
    list_ = parts.take<Choice>(n_);
    for (uint32_t k = 0; list_ && k < n_; ++k) new (list_ + k) Choice{};
}

bool Choices::recall(const Gpu &gpu, const artifact::ModulesView &modules, const uint8_t *artifact) {
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (!gpu.cache.read(Cache::Kind::variants, artifact, gpu.allocator, &block, &data, &bytes)) return false;
    bool good = bytes == n_ * sizeof(Choice);
    if (good) memcpy(list_, data, bytes);
    block.release(gpu.allocator);
    for (uint32_t k = 0; k < n_ && good; ++k)
        good = list_[k].number == 0 || (modules.of_kernel(k) && list_[k].number < modules.variants_of(k));
    for (uint32_t k = 0; k < n_ && !good; ++k) list_[k] = {};
    return good;
}

void Choices::keep(const Gpu &gpu, const uint8_t *artifact) const {
    gpu.cache.write(Cache::Kind::variants, artifact, list_, n_ * sizeof(Choice));
}

void Choices::hash(uint8_t (&digest)[artifact::hash_bytes]) const {
    artifact::Hasher hasher;
    for (uint32_t k = 0; k < n_; ++k) hasher.update(&list_[k].number, sizeof list_[k].number);
    hasher.finish(digest);
}

} // namespace longwave::runtime::vulkan
