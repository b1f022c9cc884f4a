// Blocks of many streams: those that run the same steps go together, each step one dispatch for all of them.
//
// What differs from stream to stream and from block to block stands in tables that the host writes: where the memory
// of a stream lies at its tick, its scalars, where its input and outputs are moved, and by how many workgroups each
// dispatch runs. So the commands of an entry are recorded once for a pool, whichever streams have a block.
#include "runtime/core/scalars.h"
#include "runtime/vulkan/stream/streams.h"

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

template <class T> T *table_of(const Pool &pool, uint32_t dispatch) {
    return reinterpret_cast<T *>(pool.exchange.data + pool.numbers_at[dispatch]);
}

void put_groups(const Pool &pool, uint32_t dispatch, uint32_t x, uint32_t y, uint32_t z) {
    reinterpret_cast<Groups *>(pool.exchange.data + pool.groups_at)[dispatch] = {{x, y, z}, 0};
}

void put_call_groups(const Pool &pool, const StreamFamily &family, uint32_t index, uint32_t streams) {
    const fb::Extent3 &grid = *family.calls[index].pipeline->module->grid();
    put_groups(pool, index, grid.x(), grid.y(), grid.z() * streams);
}

void record_dispatch(const Gpu &gpu, const Pool &pool, const StreamFamily &family, uint32_t index,
                     VkCommandBuffer commands) {
    const Pipeline &pipeline = family.pipeline(index);
    gpu.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    gpu.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                   pool.sets + index, 0, nullptr);
    gpu.vk.vkCmdDispatchIndirect(commands, pool.exchange.buffer, pool.groups_at + sizeof(Groups) * index);
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
    template <class StepOrPort> bool fires(const StepOrPort &what) const {
        return pattern % what.period() == what.phase();
    }
    // Calls visit(dispatch, step) for each step that fires, visit(dispatch, number) for each output.
    template <class Visit> void each_call(const Visit &visit) const {
        for (uint32_t i = 0; i < entry.steps()->size(); ++i)
            if (const fb::Step &step = *entry.steps()->Get(i); fires(step))
                visit(model.streams.first_call[index] + i, step);
    }
    template <class Visit> void each_output(const Visit &visit) const {
        const StreamFamily &family = model.streams;
        for (uint32_t i = 0; i < entry.outputs()->size(); ++i)
            if (fires(*entry.outputs()->Get(i))) visit(family.n_calls + family.first_output[index] + i, i);
    }
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

// Returns how many calls fire. Kernels see the numbers by the submission: host writes before it need no barrier.
uint32_t put_calls(const Group &group) {
    const StreamFamily &family = group.model.streams;
    uint32_t calls = 0;
    group.each_call([&](uint32_t index, const fb::Step &step) {
        uint32_t row = 0;
        for (const StreamSession *s = group.first; s; s = s->next)
            put_row(family, *s, family.calls[index], s->block / step.period(), row++,
                    table_of<uint32_t>(group.pool, index));
        put_call_groups(group.pool, family, index, group.streams);
        ++calls;
    });
    return calls;
}

uint32_t words_of(uint64_t bytes) { return static_cast<uint32_t>(bytes / 4); }

// `most`: words that a stream moves at most.
void put_move_groups(const Group &group, uint32_t dispatch, uint32_t most) {
    const uint32_t wanted = (most + move_threads - 1) / move_threads,
                   limit = group.model.gpu().limits.maxComputeWorkGroupCount[0];
    put_groups(group.pool, dispatch, wanted < limit ? wanted : limit, 1, group.streams);
}

void put_inputs(const Group &group) {
    const StreamFamily &family = group.model.streams;
    const Part &ring = *family.moves[0].part;
    const Pool &pool = group.pool;
    MoveRow *row = table_of<MoveRow>(pool, family.n_calls);
    uint32_t most = 0;
    for (const StreamSession *s = group.first; s; s = s->next, ++row) {
        const uint32_t words = words_of(s->staged_bytes);
        *row = {words_of(pool.staging(family, s->place) - pool.staging_at),
                words_of(s->place * ring.bytes + (s->staged_from - ring.offset)), words, 0};
        if (words == 0) row->to = 0;
        if (words > most) most = words;
    }
    put_move_groups(group, family.n_calls, most);
}

void put_outputs(const Group &group) {
    const StreamFamily &family = group.model.streams;
    const Pool &pool = group.pool;
    group.each_output([&](uint32_t dispatch, uint32_t i) {
        const fb::OutputPort &port = *group.entry.outputs()->Get(i);
        const Part &part = *family.moves[dispatch - family.n_calls].part;
        const uint64_t bytes = uint64_t{port.rows()} * port.row_bytes();
        MoveRow *row = table_of<MoveRow>(pool, dispatch);
        for (const StreamSession *s = group.first; s; s = s->next, ++row) {
            const uint64_t offset = offset_of(*port.place(), s->block / port.period()) - part.offset,
                           room = part.bytes - offset; // the last row may end with its width
            *row = {words_of(s->place * part.bytes + offset), words_of(output_at(*s, i) - pool.staging_at),
                    words_of(bytes < room ? bytes : room), 0};
        }
        put_move_groups(group, dispatch, words_of(bytes));
    });
}

lw_status record(const Group &group, VkCommandBuffer commands) {
    const Gpu &gpu = group.model.gpu();
    const StreamFamily &family = group.model.streams;
    if (lw_status status = begin(gpu, commands, false)) return status;
    barrier(gpu, commands); // the block before may have left its outputs half moved
    record_dispatch(gpu, group.pool, family, family.n_calls, commands);
    group.each_call([&](uint32_t index, const fb::Step &) {
        barrier(gpu, commands);
        record_dispatch(gpu, group.pool, family, index, commands);
    });
    barrier(gpu, commands);
    group.each_output(
        [&](uint32_t dispatch, uint32_t) { record_dispatch(gpu, group.pool, family, dispatch, commands); });
    barrier(gpu, commands, VK_ACCESS_HOST_READ_BIT);
    ++gpu.stats.recordings;
    return end(gpu, commands);
}

lw_status run(const Group &group) {
    const Gpu &gpu = group.model.gpu();
    Pool &pool = group.pool;
    if (lw_status status = check_idle(gpu, pool.commands)) return status;
    const uint32_t recording =
        group.model.streams.first_recording[group.index] + group.pattern % recordings(group.entry);
    if (pool.pattern_of[recording] != group.pattern) {
        pool.pattern_of[recording] = UINT64_MAX;
        if (lw_status status = record(group, pool.recorded[recording])) return status;
        pool.pattern_of[recording] = group.pattern;
    }
    const uint32_t calls = put_calls(group);
    put_inputs(group);
    put_outputs(group);
    if (lw_status status = pool.commands.submit(gpu, pool.recorded[recording])) return status;
    ++gpu.stats.runs;
    gpu.stats.dispatches += calls;
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
    put_row(family, session, family.calls[index], firing, 0, table_of<uint32_t>(pool, index));
    put_call_groups(pool, family, index, 1);
    record_input(session, pool.commands.buffer);
    barrier(gpu, pool.commands.buffer);
    record_dispatch(gpu, pool, family, index, pool.commands.buffer);
    barrier(gpu, pool.commands.buffer);
    if (lw_status status = pool.commands.end(gpu)) return status;
    if (lw_status status = pool.commands.submit(gpu)) return status;
    session.staged_bytes = 0;
    ++gpu.stats.dispatches;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
