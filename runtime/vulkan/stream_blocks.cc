// Blocks of many streams: those that run the same steps go together, each step one dispatch for all of them.
//
// What differs from stream to stream, where its memory lies at its tick and its scalars, stands in the tables of the
// calls. The commands of a submission are recorded anew each time: inputs and outputs lie elsewhere in every block.
#include "runtime/scalars.h"
#include "runtime/vulkan/streams.h"

namespace longwave::runtime::vulkan {
namespace {

// The row of one stream in the table of a call.
void put_row(const StreamFamily &family, const StreamSession &session, const StreamCall &call,
             uint64_t firing, uint32_t row, uint32_t *table) {
    const fb::Module &module = *call.pipeline->module;
    const uint32_t buffers = call.pipeline->buffers - 1;
    uint32_t *const words = table + uint64_t{row} * call.row_words(), *scalars = words + buffers;
    for (uint32_t a = 0; a < module.bindings()->size(); ++a) {
        const uint32_t binding = module.bindings()->Get(a);
        const fb::Binding &argument = *call.step->args()->Get(a);
        if (argument.scalar()) {
            *scalars++ = static_cast<uint32_t>(evaluate(*argument.scalar(), firing, 0, Extent{}));
            if (binding != artifact::unbound) words[binding] = row * call.row_words() + buffers;
            continue;
        }
        if (binding == artifact::unbound) continue;
        const fb::Place &place = *argument.place();
        uint64_t bytes = offset_of(place, firing) - place.offset();
        if (const Part *part = family.part_of(place.space(), call.entry, place.offset()))
            bytes += session.place * part->bytes + (place.offset() - part->offset);
        words[binding] = static_cast<uint32_t>(bytes / 4);
    }
}

void dispatch(const Pool &pool, const StreamFamily &family, const Gpu &gpu, uint32_t index,
              uint32_t streams) {
    const Pipeline &pipeline = *family.calls[index].pipeline;
    const fb::Extent3 &grid = *pipeline.module->grid();
    const VkCommandBuffer commands = pool.commands.buffer;
    barrier(gpu, commands);
    gpu.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    gpu.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                   pool.sets + index, 0, nullptr);
    gpu.vk.vkCmdDispatch(commands, grid.x(), grid.y(), grid.z() * streams);
}

uint32_t *table_of(const Pool &pool, uint32_t index) {
    return reinterpret_cast<uint32_t *>(pool.exchange.data + pool.numbers_at[index]);
}

// Streams of one pool whose blocks are of one entry and fire the same steps.
struct Group {
    const Model &model;
    Pool &pool;
    const fb::Entry &entry;
    uint32_t index;   // of the entry
    uint64_t pattern; // block mod period
    StreamSession *first = nullptr;
    uint32_t streams = 0;

    bool takes(const StreamSession &session) const {
        return session.pool == &pool && session.entry == index && session.block % entry.period() == pattern;
    }
    bool fires(const fb::Step &step) const { return pattern % step.period() == step.phase(); }
};

// Takes the group of the first stream that waits out of the list.
Group next_group(const Model &model) {
    StreamSession *waiting = model.streams.waiting;
    const fb::Entry &entry = *model.plan().entries()->Get(waiting->entry);
    Group group{model, *waiting->pool, entry, waiting->entry, waiting->block % entry.period()};
    for (StreamSession **link = &model.streams.waiting; StreamSession *session = *link;) {
        if (!group.takes(*session)) {
            link = &session->next;
            continue;
        }
        *link = session->next;
        session->next = group.first;
        group.first = session;
        ++group.streams;
    }
    return group;
}

// Kernels see the numbers by the submission: host writes before it need no barrier.
void put_numbers(const Group &group) {
    const StreamFamily &family = group.model.streams;
    for (uint32_t i = 0; i < group.entry.steps()->size(); ++i) {
        const uint32_t index = family.first_call[group.index] + i;
        const StreamCall &call = family.calls[index];
        if (!group.fires(*call.step)) continue;
        uint32_t row = 0;
        for (const StreamSession *s = group.first; s; s = s->next)
            put_row(family, *s, call, s->block / call.step->period(), row++, table_of(group.pool, index));
    }
}

void record_outputs(const Group &group, const StreamSession &session) {
    const StreamFamily &family = group.model.streams;
    for (uint32_t i = 0; i < group.entry.outputs()->size(); ++i) {
        const fb::OutputPort &port = *group.entry.outputs()->Get(i);
        if (session.block % port.period() != port.phase()) continue;
        const Part &part = *family.part_of(port.place()->space(), group.index, port.place()->offset());
        const uint64_t offset = offset_of(*port.place(), session.block / port.period()) - part.offset,
                       rows = uint64_t{port.rows()} * port.row_bytes(), room = part.bytes - offset;
        const VkBufferCopy copy{group.pool.at(part, session.place) + offset, output_at(session, i),
                                rows < room ? rows : room}; // the last row may end with its width
        session.gpu().vk.vkCmdCopyBuffer(group.pool.commands.buffer, group.pool.device.buffer,
                                         group.pool.exchange.buffer, 1, &copy);
    }
}

lw_status run(const Group &group) {
    const Gpu &gpu = group.model.gpu();
    const StreamFamily &family = group.model.streams;
    Commands &commands = group.pool.commands;
    if (lw_status status = begin_commands(gpu, commands)) return status;
    put_numbers(group);
    barrier(gpu, commands.buffer); // the block before may have left its outputs half copied
    for (const StreamSession *s = group.first; s; s = s->next) record_input(*s, commands.buffer);
    uint64_t dispatches = 0;
    for (uint32_t i = 0; i < group.entry.steps()->size(); ++i) {
        const uint32_t index = family.first_call[group.index] + i;
        if (!group.fires(*family.calls[index].step)) continue;
        dispatch(group.pool, family, gpu, index, group.streams);
        ++dispatches;
    }
    barrier(gpu, commands.buffer);
    for (const StreamSession *s = group.first; s; s = s->next) record_outputs(group, *s);
    barrier(gpu, commands.buffer, VK_ACCESS_HOST_READ_BIT);
    if (lw_status status = commands.end(gpu)) return status;
    if (lw_status status = commands.submit(gpu)) return status;
    ++gpu.stats.runs;
    ++gpu.stats.recordings;
    gpu.stats.dispatches += dispatches;
    return LW_OK;
}

} // namespace

void run_waiting(const Model &model) {
    while (model.streams.waiting) {
        const Group group = next_group(model);
        const lw_status status = run(group);
        for (StreamSession *s = group.first; s; s = s->next) {
            s->waiting = false;
            s->brought = status == LW_OK;
            if (status == LW_OK) s->staged_bytes = 0;
            else if (s->status == LW_OK) s->status = status;
        }
    }
}

lw_status rebuild_stream(StreamSession &session, uint32_t entry, uint32_t step, uint64_t firing) {
    const Model &model = *session.model;
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = model.streams;
    Pool &pool = *session.pool;
    if (session.status != LW_OK) return settle_stream(session);
    const uint32_t index =
        family.first_call[entry] + model.plan().entries()->Get(entry)->steps()->size() + step;
    if (lw_status status = begin_commands(gpu, pool.commands)) return status;
    put_row(family, session, family.calls[index], firing, 0, table_of(pool, index));
    record_input(session, pool.commands.buffer);
    dispatch(pool, family, gpu, index, 1);
    barrier(gpu, pool.commands.buffer);
    if (lw_status status = pool.commands.end(gpu)) return status;
    if (lw_status status = pool.commands.submit(gpu)) return status;
    session.staged_bytes = 0;
    ++gpu.stats.dispatches;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
