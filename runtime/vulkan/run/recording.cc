// Records an entry: one command buffer for each of its segments on the GPU, with one dispatch per
// kernel call.
#include "formats/artifact/geometry.h"
#include "runtime/core/scalars.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/model/hazards.h"
#include "runtime/vulkan/run/session.h"

namespace longwave::runtime::vulkan {
namespace {

bool dispatched(const fb::Step &step) { return step.kind() == fb::StepKind::call && !step.cpu(); }

// The bytes of one descriptor: what an argument spans.
VkDescriptorBufferInfo descriptor(const RunSession &session, const Recording &recording, uint32_t step,
                                  uint32_t argument) {
    const fb::Step &of = *recording.entry->steps()->Get(step);
    const fb::Kernel &kernel = *session.model->plan().kernels()->Get(of.kernel());
    const fb::Place *place = of.args()->Get(argument)->place();
    if (!place)
        return {session.scalars.buffer, recording.exchanged[step],
                scalars_of(session.model->plan(), of) * sizeof(int32_t)};
    uint64_t span = 0;
    (void)artifact::span_bytes(*kernel.args()->Get(argument), &span); // V7
    const DeviceTable *table = session.model->table(place->space());
    return {session.buffer_of(place->space()).buffer, offset_of(*place, 0) - (table ? table->begin : 0),
            span};
}

lw_status create_pool(const Gpu &gpu, uint32_t sets, uint32_t buffers, VkDescriptorPool *pool) {
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = sets;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    LW_VK(gpu.vk, vkCreateDescriptorPool, gpu.device, &info, nullptr, pool);
    return LW_OK;
}

lw_status create_set(const RunSession &session, Recording &recording, uint32_t step) {
    const Gpu &gpu = session.gpu();
    const Pipeline &pipeline = session.model->pipelines[recording.entry->steps()->Get(step)->kernel()];
    VkDescriptorSetAllocateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
    info.descriptorPool = recording.pool;
    info.descriptorSetCount = 1;
    info.pSetLayouts = &pipeline.set;
    LW_VK(gpu.vk, vkAllocateDescriptorSets, gpu.device, &info, recording.sets + step);
    VkDescriptorBufferInfo buffers[64]; // V21
    VkWriteDescriptorSet writes[64];
    if (const uint32_t table = pipeline.module->table(); table != artifact::unbound)
        buffers[table] = {session.scalars.buffer, 0, zeros_bytes};
    if (const uint32_t word = pipeline.module->overflow(); word != artifact::unbound) {
        buffers[word] = {session.exchange.buffer, 0, sizeof(uint32_t)};
        recording.fp16 = true;
    }
    for (uint32_t a = 0; a < pipeline.module->bindings()->size(); ++a)
        if (const uint32_t binding = pipeline.module->bindings()->Get(a); binding != artifact::unbound)
            buffers[binding] = descriptor(session, recording, step, a);
    for (uint32_t binding = 0; binding < pipeline.buffers; ++binding) {
        writes[binding] = {};
        writes[binding].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[binding].dstSet = recording.sets[step];
        writes[binding].dstBinding = binding;
        writes[binding].descriptorCount = 1;
        writes[binding].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[binding].pBufferInfo = buffers + binding;
    }
    gpu.vk.vkUpdateDescriptorSets(gpu.device, pipeline.buffers, writes, 0, nullptr);
    return LW_OK;
}

void dispatch(const RunSession &session, const Recording &recording, VkCommandBuffer commands,
              uint32_t step) {
    const Gpu &gpu = session.gpu();
    const Pipeline &pipeline = session.model->pipelines[recording.entry->steps()->Get(step)->kernel()];
    const fb::Extent3 &grid = *pipeline.module->grid();
    gpu.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    gpu.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                   recording.sets + step, 0, nullptr);
    gpu.vk.vkCmdDispatch(commands, grid.x(), grid.y(), grid.z());
}

// Bytes that a step clears, and where. 0: nothing.
uint64_t cleared(const fb::Step &step, uint64_t rows, uint64_t *offset) {
    *offset = offset_of(*step.args()->Get(0)->place(), 0);
    if (step.kind() == fb::StepKind::zero) return step.bytes();
    const uint64_t from = first_cleared_row(step, rows);
    *offset += from * step.row_bytes();
    return (step.rows() - from) * step.row_bytes();
}

void copy_ports(const RunSession &session, const Recording &recording, VkCommandBuffer commands,
                bool outputs) {
    const Gpu &gpu = session.gpu();
    for (uint32_t i = 0; i < (outputs ? recording.n_outputs : recording.n_inputs); ++i) {
        const Port &port = outputs ? recording.outputs[i] : recording.inputs[i];
        const VkBuffer device = session.buffer_of(port.place->space()).buffer;
        const VkBuffer host = session.exchange.buffer;
        const uint64_t at = offset_of(*port.place, 0), room = recording.entry->arena_bytes() - at; // V12
        const uint64_t bytes = port.bytes < room ? port.bytes : room; // the last row may lack its padding
        const VkBufferCopy copy =
            outputs ? VkBufferCopy{at, port.offset, bytes} : VkBufferCopy{port.offset, at, bytes};
        gpu.vk.vkCmdCopyBuffer(commands, outputs ? device : host, outputs ? host : device, 1, &copy);
    }
}

} // namespace

uint32_t scalars_of(const fb::Plan &plan, const fb::Step &step) {
    uint32_t n = 0;
    if (dispatched(step))
        for (const fb::KernelArg *arg : *plan.kernels()->Get(step.kernel())->args())
            n += arg->kind() == fb::ArgKind::scalar;
    return n;
}

lw_status create_sets(const RunSession &session, Recording &recording) {
    const auto &steps = *recording.entry->steps();
    uint32_t sets = 0, buffers = 0;
    for (const fb::Step *step : steps) {
        if (!dispatched(*step)) continue;
        ++sets;
        buffers += session.model->pipelines[step->kernel()].buffers;
    }
    if (sets == 0) return LW_OK;
    if (lw_status status = create_pool(session.gpu(), sets, buffers, &recording.pool)) return status;
    for (uint32_t i = 0; i < steps.size(); ++i)
        if (dispatched(*steps.Get(i)))
            if (lw_status status = create_set(session, recording, i)) return status;
    return LW_OK;
}

// Records the commands of a step of the GPU.
static void record_commands(const RunSession &session, Recording &recording, VkCommandBuffer commands,
                            uint32_t i, uint64_t rows) {
    const Gpu &gpu = session.gpu();
    const fb::Step &step = *recording.entry->steps()->Get(i);
    if (step.kind() == fb::StepKind::call) {
        dispatch(session, recording, commands, i);
        ++recording.dispatches;
        return;
    }
    const fb::Place &place = *step.args()->Get(0)->place();
    const VkBuffer device = session.buffer_of(place.space()).buffer, host = session.exchange.buffer;
    if (artifact::moves(step)) {
        const bool there = step.kind() == fb::StepKind::to_device;
        const uint64_t at = offset_of(place, 0);
        const VkBufferCopy copy = there ? VkBufferCopy{recording.exchanged[i], at, step.bytes()}
                                        : VkBufferCopy{at, recording.exchanged[i], step.bytes()};
        gpu.vk.vkCmdCopyBuffer(commands, there ? host : device, there ? device : host, 1, &copy);
        recording.transferred += step.bytes();
        return;
    }
    uint64_t at = 0;
    const uint64_t bytes = cleared(step, rows, &at);
    if (bytes == 0) return;
    gpu.vk.vkCmdFillBuffer(commands, device, at, bytes, 0);
    ++recording.fills;
}

static lw_status record_segment(const RunSession &session, Recording &recording, const DeviceSegment &segment,
                                uint64_t rows) {
    const Gpu &gpu = session.gpu();
    if (lw_status status = begin(gpu, segment.commands, false)) return status;
    // Copies of the run before may still be in progress.
    barrier(gpu, segment.commands);
    const bool copies = !recording.mixed && !session.in_place;
    if (copies) {
        copy_ports(session, recording, segment.commands, false);
        barrier(gpu, segment.commands);
    }
    Hazards hazards(session.model->plan(), Hazards::Reach::bytes);
    for (uint32_t i = segment.first; i < segment.last; ++i) {
        const fb::Step &step = *recording.entry->steps()->Get(i);
        if (hazards.must_wait(step)) {
            barrier(gpu, segment.commands);
            hazards.clear();
        }
        hazards.add(step);
        record_commands(session, recording, segment.commands, i, rows);
    }
    barrier(gpu, segment.commands);
    if (copies) copy_ports(session, recording, segment.commands, true);
    barrier(gpu, segment.commands, VK_ACCESS_HOST_READ_BIT);
    ++recording.submissions;
    return end(gpu, segment.commands);
}

lw_status record(const RunSession &session, Recording &recording, uint64_t rows) {
    recording.dispatches = recording.fills = recording.submissions = 0;
    recording.transferred = 0;
    for (uint32_t p = 0; p < recording.n_segments; ++p)
        if (!recording.device_segments[p].cpu)
            if (lw_status status = record_segment(session, recording, recording.device_segments[p], rows))
                return status;
    return LW_OK;
}

lw_status record_step(const RunSession &session, Recording &recording, Commands &commands, uint32_t step,
                      uint32_t times) {
    if (lw_status status = commands.begin(session.gpu(), false)) return status;
    for (uint32_t i = 0; i < times; ++i) {
        barrier(session.gpu(), commands.buffer);
        record_commands(session, recording, commands.buffer, step, recording.entry->block());
    }
    barrier(session.gpu(), commands.buffer);
    return commands.end(session.gpu());
}

void put_scalars(const RunSession &session, const Recording &recording, const Extent &extent) {
    for (uint32_t i = 0; i < recording.entry->steps()->size(); ++i) {
        const fb::Step &step = *recording.entry->steps()->Get(i);
        if (!dispatched(step)) continue;
        int32_t *to = reinterpret_cast<int32_t *>(session.scalars.data + recording.exchanged[i]);
        for (const fb::Binding *binding : *step.args())
            if (binding->scalar()) *to++ = evaluate(*binding->scalar(), 0, 0, extent);
    }
}

} // namespace longwave::runtime::vulkan
