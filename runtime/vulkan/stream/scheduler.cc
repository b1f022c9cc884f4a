#include "runtime/vulkan/stream/scheduler.h"
#include "formats/artifact/modules_schema.h"
#include "runtime/core/scalars.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/model/hazards.h"
#include "runtime/vulkan/stream/pool.h"
#include "runtime/vulkan/stream/stream_session.h"
#include <new>

namespace longwave::runtime::vulkan {
namespace {

// The calling thread's scheduler, made when there is none, with one stream more. Null: no memory.
StreamScheduler *join(const Model &model) {
    const pthread_t self = pthread_self();
    const platform::Hold list(model.schedulers->lock);
    StreamScheduler *scheduler = model.schedulers->first;
    while (scheduler && !pthread_equal(scheduler->thread, self)) scheduler = scheduler->next;
    if (!scheduler) {
        Block block;
        if (!block.allocate(*model.source.allocator, sizeof(StreamScheduler))) return nullptr;
        scheduler = new (block.data) StreamScheduler;
        scheduler->memory = block;
        scheduler->thread = self;
        scheduler->next = model.schedulers->first;
        model.schedulers->first = scheduler;
    }
    ++scheduler->streams;
    return scheduler;
}

// One stream less; the last one takes the scheduler with it.
void leave(const Model &model, StreamScheduler &scheduler) {
    const platform::Hold list(model.schedulers->lock);
    if (--scheduler.streams > 0) return;
    StreamScheduler **link = &model.schedulers->first;
    while (*link != &scheduler) link = &(*link)->next;
    *link = scheduler.next;
    Block block = scheduler.memory;
    scheduler.~StreamScheduler();
    block.release(*model.source.allocator);
}

} // namespace

lw_status begin_stream(const Model &model, uint8_t *memory, Session **out) {
    StreamScheduler *scheduler = join(model);
    if (!scheduler)
        return fail(LW_NO_MEMORY, "no memory for a scheduler of streams: %zu bytes", sizeof(StreamScheduler));
    StreamSession *session = new (memory) StreamSession;
    session->model = &model;
    session->scheduler = scheduler;
    lw_status status = LW_OK;
    {
        const StreamHold hold(*session);
        status = take_place(*session);
    }
    if (status == LW_OK) *out = handle_of(*session);
    else leave(model, *scheduler);
    return status;
}

void end_stream(StreamSession &session) {
    const Model &model = *session.model;
    StreamScheduler &scheduler = *session.scheduler;
    {
        const StreamHold hold(session);
        while (session.n_begun > 0) (void)wait_stream(session);
        give_place(session);
    }
    leave(model, scheduler);
}

StreamHold::StreamHold(const StreamSession &a, const StreamSession &b)
    : first_(a.scheduler), second_(b.scheduler) {
    if (first_ > second_) {
        StreamScheduler *other = first_;
        first_ = second_;
        second_ = other;
    }
    first_->lock.take();
    if (second_ != first_) second_->lock.take();
}

StreamHold::~StreamHold() {
    if (second_ != first_) second_->lock.give();
    first_->lock.give();
}

// Streams whose blocks fire the same steps form a group. A group runs in one submission, with one
// dispatch per step.
//
// All that differs between streams and blocks is in tables that the host writes: where the memory
// of a stream lies at its tick, its scalars, where its input and outputs go, and the number of
// workgroups. So a pool records the commands of an entry once, whichever streams have a block.

namespace {

// A word for each argument of each step. Descriptors of weights and derived tables begin where those
// of the device do.
void put_chain_row(const StreamFamily &family, const StreamSession &session, const StreamCall &call,
                   uint64_t firing, uint32_t *words) {
    const auto &steps = *session.model->plan().entries()->Get(call.entry)->steps();
    for (uint32_t i = 0; i < call.chain->steps(); ++i)
        for (const fb::Binding *argument : *steps.Get(call.chain->first() + i)->args()) {
            if (argument->scalar()) {
                *words++ = static_cast<uint32_t>(evaluate(*argument->scalar(), firing, 0, Extent{}));
                continue;
            }
            const fb::Place &place = *argument->place();
            uint64_t bytes = offset_of(place, firing);
            if (const DeviceTable *table = session.model->table(place.space())) bytes -= table->begin;
            else if (const Part *part = family.part_of(place.space(), call.entry, place.offset()))
                bytes += session.place * part->bytes - part->offset;
            *words++ = static_cast<uint32_t>(bytes / 4);
        }
}

// Writes the row of one stream into the table of a call.
void put_row(const StreamFamily &family, const StreamSession &session, const StreamCall &call,
             uint64_t firing, uint32_t row, uint32_t *table) {
    if (call.chain)
        return put_chain_row(family, session, call, firing, table + uint64_t{row} * call.row_words());
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

template <class T> T *table_of(const Pool &pool, const Dispatch &dispatch) {
    return reinterpret_cast<T *>(pool.tables.data + dispatch.table_at);
}

void put_groups(const Pool &pool, const Dispatch &dispatch, uint32_t x, uint32_t y, uint32_t z) {
    *reinterpret_cast<VkDispatchIndirectCommand *>(pool.tables.data + dispatch.groups_at) = {x, y, z};
}

void put_call_groups(const Pool &pool, const Dispatch &dispatch, const StreamCall &call, uint32_t streams) {
    if (call.chain) return put_groups(pool, dispatch, 1, 1, streams);
    const fb::Extent3 &grid = *call.pipeline->module->grid();
    put_groups(pool, dispatch, grid.x(), grid.y(), grid.z() * streams);
}

void record_dispatch(const Gpu &gpu, const Pool &pool, const Pipeline &pipeline, const Dispatch &dispatch,
                     VkCommandBuffer commands) {
    gpu.vk.vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.pipeline);
    gpu.vk.vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, pipeline.layout, 0, 1,
                                   &dispatch.set, 0, nullptr);
    gpu.vk.vkCmdDispatchIndirect(commands, pool.tables.buffer, dispatch.groups_at);
}

// The block of a stream that is enqueued.
const StreamBlock &newest(const StreamSession &session) { return session.blocks[session.newest()]; }

// Streams of one pool with blocks of one entry that fire the same steps.
struct Group {
    const Model &model;
    Pool &pool;
    Frame &frame; // that its submission will have
    const fb::Entry &entry;
    uint32_t index;   // of the entry
    uint64_t pattern; // block mod period
    StreamSession *first = nullptr;
    uint32_t streams = 0;

    bool takes(const StreamSession &session) const {
        const StreamBlock &block = newest(session);
        return session.pool == &pool && block.entry == index && block.block % entry.period() == pattern;
    }
    template <class StepOrPort> bool fires(const StepOrPort &what) const {
        return pattern % what.period() == what.phase();
    }
    // visit(index in StreamFamily::calls, step) for each step or chain that fires.
    template <class Visit> void each_call(const Visit &visit) const {
        const uint32_t base = model.family->first_call[index];
        for (uint32_t i = 0; i < entry.steps()->size(); ++i) {
            const fb::Step &step = *entry.steps()->Get(i);
            if (!fires(step)) continue;
            const StreamCall &call = model.family->calls[base + i];
            if (call.chained) visit(call.chained, step);
            else if (!call.in_chain) visit(base + i, step);
        }
    }
    // visit(step) for each step of a call.
    template <class Visit> void each_step(uint32_t call, const Visit &visit) const {
        const StreamCall &of = model.family->calls[call];
        if (!of.chain) return visit(*of.step);
        for (uint32_t i = 0; i < of.chain->steps(); ++i) visit(*entry.steps()->Get(of.chain->first() + i));
    }
    // visit(index in StreamFamily::transfers, number of the output) for each output that fires.
    template <class Visit> void each_output(const Visit &visit) const {
        for (uint32_t i = 0; i < entry.outputs()->size(); ++i)
            if (fires(*entry.outputs()->Get(i))) visit(model.family->first_output[index] + i, i);
    }
};

// Takes the group of the first enqueued stream out of the list.
Group next_group(StreamScheduler &scheduler) {
    const StreamSession &head = *scheduler.enqueued;
    const StreamBlock &block = newest(head);
    const fb::Entry &entry = *head.model->plan().entries()->Get(block.entry);
    Group group{*head.model, *head.pool,  head.pool->next_frame(),
                entry,       block.entry, block.block % entry.period()};
    for (StreamSession **link = &scheduler.enqueued; StreamSession *session = *link;) {
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

// Returns the number of calls that fire. Host writes before a submission need no barrier.
uint32_t put_calls(const Group &group) {
    const StreamFamily &family = *group.model.family;
    uint32_t calls = 0;
    group.each_call([&](uint32_t index, const fb::Step &step) {
        uint32_t row = 0;
        const Dispatch &dispatch = group.frame.calls[index];
        for (const StreamSession *s = group.first; s; s = s->next)
            put_row(family, *s, family.calls[index], newest(*s).block / step.period(), row++,
                    table_of<uint32_t>(group.pool, dispatch));
        put_call_groups(group.pool, dispatch, family.calls[index], group.streams);
        ++calls;
    });
    return calls;
}

uint32_t words_of(uint64_t bytes) { return static_cast<uint32_t>(bytes / 4); }

// `most`: the most words that one stream transfers.
void put_transfer_groups(const Group &group, uint32_t index, uint32_t most) {
    const uint32_t wanted = (most + transfer_threads - 1) / transfer_threads,
                   limit = group.model.gpu().limits.maxComputeWorkGroupCount[0];
    put_groups(group.pool, group.frame.transfers[index], wanted < limit ? wanted : limit, 1, group.streams);
}

void put_inputs(const Group &group) {
    const StreamFamily &family = *group.model.family;
    const Part &ring = *family.transfers[0].part;
    const Pool &pool = group.pool;
    TransferRow *row = table_of<TransferRow>(pool, group.frame.transfers[0]);
    uint32_t most = 0;
    for (const StreamSession *s = group.first; s; s = s->next, ++row) {
        const StreamBlock &block = newest(*s);
        const uint32_t words = words_of(block.staged_bytes);
        *row = {words_of(pool.staging(family, s->place, s->newest()) - pool.staging_at),
                words_of(s->place * ring.bytes + (block.staged_from - ring.offset)), words, 0};
        if (words == 0) row->to = 0;
        if (words > most) most = words;
    }
    put_transfer_groups(group, 0, most);
}

void put_outputs(const Group &group) {
    const StreamFamily &family = *group.model.family;
    const Pool &pool = group.pool;
    group.each_output([&](uint32_t index, uint32_t i) {
        const fb::OutputPort &port = *group.entry.outputs()->Get(i);
        const Part &part = *family.transfers[index].part;
        const uint64_t bytes = uint64_t{port.rows()} * port.row_bytes();
        TransferRow *row = table_of<TransferRow>(pool, group.frame.transfers[index]);
        for (const StreamSession *s = group.first; s; s = s->next, ++row) {
            const uint64_t offset = offset_of(*port.place(), newest(*s).block / port.period()) - part.offset,
                           room = part.bytes - offset; // the last row may lack its padding
            *row = {words_of(s->place * part.bytes + offset),
                    words_of(output_at(*s, s->newest(), i) - pool.staging_at),
                    words_of(bytes < room ? bytes : room), 0};
        }
        put_transfer_groups(group, index, words_of(bytes));
    });
}

lw_status record(const Group &group, VkCommandBuffer commands) {
    const Gpu &gpu = group.model.gpu();
    const StreamFamily &family = *group.model.family;
    if (lw_status status = begin(gpu, commands, false)) return status;
    const Pool &pool = group.pool;
    barrier(gpu, commands); // transfers of the block before may still run
    record_dispatch(gpu, pool, *family.transfer, group.frame.transfers[0], commands);
    barrier(gpu, commands);
    Hazards hazards(group.model.plan(), Hazards::Reach::regions);
    group.each_call([&](uint32_t index, const fb::Step &) {
        bool waits = false;
        group.each_step(index, [&](const fb::Step &step) { waits |= hazards.must_wait(step); });
        if (waits) {
            barrier(gpu, commands);
            hazards.clear();
        }
        group.each_step(index, [&](const fb::Step &step) { hazards.add(step); });
        record_dispatch(gpu, pool, *family.calls[index].pipeline, group.frame.calls[index], commands);
    });
    barrier(gpu, commands);
    group.each_output([&](uint32_t index, uint32_t) {
        record_dispatch(gpu, pool, *family.transfer, group.frame.transfers[index], commands);
    });
    barrier(gpu, commands, VK_ACCESS_HOST_READ_BIT);
    ++gpu.stats.recordings;
    return end(gpu, commands);
}

// Hands the group over. Waits only for the submission that used the frame before.
lw_status start(const Group &group) {
    const Gpu &gpu = group.model.gpu();
    Pool &pool = group.pool;
    Frame &frame = group.frame;
    wait_for(gpu, pool, frame.submission);
    if (lw_status status = check_idle(gpu, frame.commands)) return status;
    const uint32_t recording =
        group.model.family->first_recording[group.index] + group.pattern % recordings(group.entry);
    if (frame.pattern_of[recording] != group.pattern) {
        frame.pattern_of[recording] = UINT64_MAX;
        if (lw_status status = record(group, frame.recorded[recording])) return status;
        frame.pattern_of[recording] = group.pattern;
    }
    const uint32_t calls = put_calls(group);
    put_inputs(group);
    put_outputs(group);
    if (lw_status status = frame.commands.hand_over(gpu, frame.recorded[recording])) return status;
    frame.submission = ++pool.submissions;
    frame.waited = false;
    ++gpu.stats.runs;
    gpu.stats.dispatches += calls;
    return LW_OK;
}

} // namespace

void start_enqueued(StreamScheduler &scheduler) {
    while (scheduler.enqueued) {
        const Group group = next_group(scheduler);
        const lw_status status = start(group);
        for (StreamSession *s = group.first; s; s = s->next) {
            StreamBlock &block = s->blocks[s->newest()];
            s->enqueued = false;
            block.staged_bytes = 0;
            block.status = status;
            block.submission = status == LW_OK ? group.pool.submissions : 0;
        }
    }
}

lw_status rebuild_stream(StreamSession &session, uint32_t entry, uint32_t step, uint64_t firing) {
    const Model &model = *session.model;
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = *model.family;
    Pool &pool = *session.pool;
    if (session.status != LW_OK) return wait_stream(session);
    const uint32_t index =
        family.first_call[entry] + model.plan().entries()->Get(entry)->steps()->size() + step;
    if (lw_status status = begin_commands(gpu, pool.commands)) return status;
    const Dispatch &dispatch = pool.frames[0].calls[index]; // no block has it
    put_row(family, session, family.calls[index], firing, 0, table_of<uint32_t>(pool, dispatch));
    put_call_groups(pool, dispatch, family.calls[index], 1);
    record_input(session, pool.commands.buffer);
    barrier(gpu, pool.commands.buffer);
    record_dispatch(gpu, pool, *family.calls[index].pipeline, dispatch, pool.commands.buffer);
    barrier(gpu, pool.commands.buffer);
    if (lw_status status = pool.commands.end(gpu)) return status;
    if (lw_status status = pool.commands.submit(gpu)) return status;
    session.coming_in().staged_bytes = 0;
    ++gpu.stats.dispatches;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
