// The kernels of a model as pipelines, one each.
#pragma once
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_schema.h"
#include "runtime/core/memory.h"
#include "runtime/vulkan/device/gpu.h"

namespace longwave::runtime::vulkan {

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

extern const uint64_t transfer_code_bytes; // of the transfers' kernel

// Of every kernel of the plan. The table lies in the model's memory.
class Pipelines {
public:
    // Measuring and real parts, as everywhere.
    void lay_out(const fb::Plan &plan, Parts &parts);
    lw_status create(const Gpu &gpu, const artifact::ModulesView &modules, const fb::Plan &plan,
                     const uint8_t *artifact); // its root hash: under which the driver's cache is kept
    void destroy(const Gpu &gpu);
    const Pipeline &operator[](uint32_t kernel) const { return table_[kernel]; }
    // Copies inputs and outputs of streams (transfer.comp). Made for plans with stream entries on a
    // GPU only.
    const Pipeline &transfer() const { return transfer_; }

private:
    Pipeline *table_ = nullptr;
    uint32_t n_ = 0;
    Pipeline transfer_;
};

// LW_UNSUPPORTED with the limit when the device cannot run what the manifest says.
lw_status check_limits(const Gpu &gpu, const fb::Modules &manifest, const fb::Plan &plan);

} // namespace longwave::runtime::vulkan
