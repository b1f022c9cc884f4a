// The kernels of a model as pipelines, one each.
#pragma once
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_schema.h"
#include "runtime/core/memory.h"
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

// Which variant of each kernel a device takes (formats/artifact/modules.fbs): the fastest by the
// device's clock, or what was found the last time.

// Of one kernel. All zero: its first module, not timed.
struct Choice {
    uint32_t number = 0;                    // of the variant
    float us[artifact::most_variants] = {}; // time per dispatch of each; 0: not timed
};

// Of every kernel of a plan, in the model's memory.
class Choices {
public:
    // Measuring and real parts, as everywhere.
    void lay_out(const fb::Plan &plan, Parts &parts);
    // Reads what an earlier opening found. False: nothing, or of another file.
    bool recall(const Gpu &gpu, const artifact::ModulesView &modules, const uint8_t *artifact);
    void keep(const Gpu &gpu, const uint8_t *artifact) const;

    Choice &operator[](uint32_t kernel) { return list_[kernel]; }
    const Choice &operator[](uint32_t kernel) const { return list_[kernel]; }
    uint32_t count() const { return n_; }
    // Of the numbers: the same for the same code.
    void hash(uint8_t (&digest)[artifact::hash_bytes]) const;

private:
    Choice *list_ = nullptr;
    uint32_t n_ = 0;
};

inline bool of_gpu(const fb::Entry &entry) { return entry.device() == fb::DeviceKind::gpu; }
inline bool gpu_stream(const fb::Entry &entry) {
    return of_gpu(entry) && entry.kind() == fb::EntryKind::stream;
}

struct Pipeline {
    const fb::Module *module = nullptr; // null: no entry of a GPU calls the kernel, or it is none
    VkDescriptorSetLayout set = VK_NULL_HANDLE;
    VkPipelineLayout layout = VK_NULL_HANDLE;
    VkPipeline pipeline = VK_NULL_HANDLE;
    uint32_t buffers = 0; // descriptors of its set
};

// At least as many chains as any target of the plan has (formats/artifact/modules.fbs).
uint32_t most_chains(const fb::Plan &plan);

extern const uint64_t transfer_code_bytes; // of the transfers' kernel

class VariantTimer; // variant_timer.h

// Of every kernel of the plan. The table lies in the model's memory.
class Pipelines {
public:
    // Measuring and real parts, as everywhere.
    void lay_out(const fb::Plan &plan, Parts &parts);
    lw_status create(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                     const uint8_t *artifact); // its root hash: under which the driver's cache is kept
    void destroy(const Gpu &gpu);
    const Pipeline &operator[](uint32_t kernel) const { return table_[kernel]; }
    const Choices &choices() const { return choices_; }
    // Steps of streams that share a dispatch. None, where the device has too few descriptors.
    uint32_t chain_count() const { return n_chains_; }
    const fb::Chain &chain(uint32_t index) const { return *chains_[index].of; }
    const Pipeline &of_chain(uint32_t index) const { return chains_[index].pipeline; }
    // Copies inputs and outputs of streams (transfer.comp). Made for plans with stream entries on a
    // GPU only.
    const Pipeline &transfer() const { return transfer_; }

private:
    struct ChainPipeline {
        const fb::Chain *of = nullptr;
        Pipeline pipeline;
        bool shared = false; // the pipeline is that of an earlier chain with the same code
    };
    lw_status create_kernel(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                            uint32_t kernel, VkPipelineCache cache, VariantTimer *timer);
    lw_status create_chains(const Gpu &gpu, const artifact::ModulesView &modules, VkPipelineCache cache);
    bool needed(const fb::Plan &plan, uint32_t kernel) const;

    Pipeline *table_ = nullptr;
    ChainPipeline *chains_ = nullptr;
    uint32_t n_ = 0, n_chains_ = 0;
    Choices choices_;
    Pipeline transfer_;
};

// Of a module whose descriptors are 0 .. `pipeline.buffers` - 1. What a failure leaves,
// destroy_pipeline gives back.
lw_status create_pipeline(const Gpu &gpu, const artifact::Bytes &code, const char *entry,
                          VkPipelineCache cache, Pipeline &pipeline);
void destroy_pipeline(const Gpu &gpu, Pipeline &pipeline);

// Descriptors of a module: 0 to one less.
uint32_t descriptors_of(const fb::Module &module);
// Whether the device runs so many workgroups and threads.
bool dispatch_fits(const Gpu &gpu, const fb::Module &module);

// LW_UNSUPPORTED with the limit when the device cannot run what the manifest says.
lw_status check_limits(const Gpu &gpu, const fb::Modules &manifest, const fb::Plan &plan);

} // namespace longwave::runtime::vulkan
