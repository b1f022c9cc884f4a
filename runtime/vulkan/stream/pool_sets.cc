#include "runtime/vulkan/stream/pool_sets.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_schema.h"
#include "runtime/vulkan/device/failure.h"

namespace longwave::runtime::vulkan {
namespace {

VkDescriptorBufferInfo descriptor(const Model &model, const Pool &pool, const StreamCall &call,
                                  const fb::Place &place, const fb::KernelArg &arg) {
    const DeviceTable *table = model.table(place.space());
    if (!table) {
        const Part &part = *model.family->part_of(place.space(), call.entry, place.offset());
        return {pool.device.buffer, part.before * pool.capacity, part.bytes * pool.capacity};
    }
    uint64_t span = 0;
    (void)artifact::span_bytes(arg, &span); // V7
    return {table->memory.buffer, place.offset() - table->begin,
            span + uint64_t{place.slots() - 1} * place.slot_bytes()};
}

void write_set(const Gpu &gpu, VkDescriptorSet set, const VkDescriptorBufferInfo *buffers, uint32_t n) {
    VkWriteDescriptorSet writes[64]; // V21
    for (uint32_t b = 0; b < n; ++b) {
        writes[b] = {};
        writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[b].dstSet = set;
        writes[b].dstBinding = b;
        writes[b].descriptorCount = 1;
        writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[b].pBufferInfo = buffers + b;
    }
    gpu.vk.vkUpdateDescriptorSets(gpu.device, n, writes, 0, nullptr);
}

// Of a chain: a descriptor for each region that its steps use.
void write_chain_set(const Model &model, const Pool &pool, const Dispatch &dispatch, uint32_t index) {
    const StreamCall &call = model.family->calls[index];
    const fb::Chain &chain = *call.chain;
    const auto &steps = *model.plan().entries()->Get(chain.entry())->steps();
    VkDescriptorBufferInfo buffers[64]; // V21
    buffers[chain.table()] = {pool.tables.buffer, dispatch.table_at,
                              uint64_t{4} * call.row_words() * pool.capacity};
    const uint8_t *descriptor = chain.descriptors()->data();
    for (uint32_t i = 0; i < chain.steps(); ++i)
        for (const fb::Binding *argument : *steps.Get(chain.first() + i)->args()) {
            const uint8_t d = *descriptor++;
            const fb::Place *place = argument->place();
            if (d == artifact::unbound || !place) continue;
            if (const DeviceTable *table = model.table(place->space())) {
                buffers[d] = {table->memory.buffer, 0, table->memory.bytes};
            } else {
                const Part &part = *model.family->part_of(place->space(), call.entry, place->offset());
                buffers[d] = {pool.device.buffer, part.before * pool.capacity, part.bytes * pool.capacity};
            }
        }
    write_set(model.gpu(), dispatch.set, buffers, call.pipeline->buffers);
}

void write_call_set(const Model &model, const Pool &pool, const Dispatch &dispatch, uint32_t index) {
    const StreamCall &call = model.family->calls[index];
    if (call.chain) return write_chain_set(model, pool, dispatch, index);
    const fb::Module &module = *call.pipeline->module;
    const fb::Kernel &kernel = *model.plan().kernels()->Get(call.step->kernel());
    const VkDescriptorBufferInfo table{pool.tables.buffer, dispatch.table_at,
                                       uint64_t{4} * call.row_words() * pool.capacity};
    VkDescriptorBufferInfo buffers[64]; // V21
    buffers[module.table()] = table;
    for (uint32_t a = 0; a < module.bindings()->size(); ++a) {
        const uint32_t binding = module.bindings()->Get(a);
        if (binding == artifact::unbound) continue;
        const fb::Place *place = call.step->args()->Get(a)->place();
        buffers[binding] = place ? descriptor(model, pool, call, *place, *kernel.args()->Get(a)) : table;
    }
    write_set(model.gpu(), dispatch.set, buffers, call.pipeline->buffers);
}

void write_transfer_set(const Model &model, const Pool &pool, const Dispatch &dispatch, uint32_t index) {
    const StreamFamily &family = *model.family;
    const Part &part = *family.transfers[index].part;
    const VkDescriptorBufferInfo of_part{pool.device.buffer, part.before * pool.capacity,
                                         part.bytes * pool.capacity},
        staging{pool.exchange.buffer, pool.staging_at, family.staging_bytes() * pool.capacity};
    const bool input = index == 0;
    const VkDescriptorBufferInfo buffers[] = {
        {pool.tables.buffer, dispatch.table_at, sizeof(TransferRow) * pool.capacity},
        input ? staging : of_part,
        input ? of_part : staging};
    write_set(model.gpu(), dispatch.set, buffers, 3);
}

lw_status allocate_set(const Gpu &gpu, const Pool &pool, const Pipeline &pipeline, VkDescriptorSet *set) {
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = pool.descriptors;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &pipeline.set;
    LW_VK(gpu.vk, vkAllocateDescriptorSets, gpu.device, &info, set);
    return LW_OK;
}

lw_status create_frame_sets(const Model &model, Pool &pool, Frame &frame) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = *model.family;
    for (uint32_t c = 0; c < family.n_calls; ++c) {
        if (family.calls[c].in_chain) continue;
        if (lw_status status = allocate_set(gpu, pool, *family.calls[c].pipeline, &frame.calls[c].set))
            return status;
        write_call_set(model, pool, frame.calls[c], c);
    }
    for (uint32_t t = 0; t < family.n_transfers; ++t) {
        if (lw_status status = allocate_set(gpu, pool, *family.transfer, &frame.transfers[t].set))
            return status;
        write_transfer_set(model, pool, frame.transfers[t], t);
    }
    return LW_OK;
}

} // namespace

lw_status create_pool_sets(const Model &model, Pool &pool) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = *model.family;
    if (family.n_calls + family.n_transfers == 0) return LW_OK;
    uint32_t buffers = family.n_transfers * family.transfer->buffers, sets = family.n_transfers;
    for (uint32_t c = 0; c < family.n_calls; ++c) {
        if (family.calls[c].in_chain) continue;
        buffers += family.calls[c].pipeline->buffers;
        ++sets;
    }
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, most_blocks_in_flight * buffers};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = most_blocks_in_flight * sets;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    LW_VK(gpu.vk, vkCreateDescriptorPool, gpu.device, &info, nullptr, &pool.descriptors);
    for (Frame &frame : pool.frames)
        if (lw_status status = create_frame_sets(model, pool, frame)) return status;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
