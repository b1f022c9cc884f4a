#include "runtime/vulkan/stream/pool.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_schema.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/stream/scheduler.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

// The descriptor sets of a pool: for each frame one of every call and transfer.

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

// Makes them. The pool's buffers exist, and its tables and exchange buffer are laid out.
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

} // namespace

void Pool::destroy(const Gpu &gpu, const lw_allocator &allocator) {
    for (Frame &frame : frames) frame.commands.destroy(gpu);
    commands.destroy(gpu);
    if (descriptors && !gpu.leaked) gpu.vk.vkDestroyDescriptorPool(gpu.device, descriptors, nullptr);
    exchange.destroy(gpu);
    tables.destroy(gpu);
    device.destroy(gpu);
    Block block = memory;
    block.release(allocator);
}

namespace {

Frame lay_out_frame(const StreamFamily &family, Parts &parts) {
    Frame frame;
    frame.calls = parts.take<Dispatch>(family.n_calls);
    frame.transfers = parts.take<Dispatch>(family.n_transfers);
    frame.recorded = parts.take<VkCommandBuffer>(family.n_recordings);
    frame.pattern_of = parts.take<uint64_t>(family.n_recordings);
    for (uint32_t c = 0; frame.calls && c < family.n_calls; ++c) new (frame.calls + c) Dispatch{};
    for (uint32_t t = 0; frame.transfers && t < family.n_transfers; ++t) new (frame.transfers + t) Dispatch{};
    for (uint32_t i = 0; frame.pattern_of && i < family.n_recordings; ++i) frame.pattern_of[i] = UINT64_MAX;
    return frame;
}

Pool *lay_out(const StreamFamily &family, uint32_t capacity, Parts &parts) {
    Pool *pool = parts.take<Pool>(1);
    StreamSession **sessions = parts.take<StreamSession *>(capacity);
    uint32_t *free = parts.take<uint32_t>(capacity);
    if (pool) new (pool) Pool{};
    for (uint32_t f = 0; f < most_blocks_in_flight; ++f) {
        const Frame frame = lay_out_frame(family, parts);
        if (pool) pool->frames[f] = frame;
    }
    if (!pool) return nullptr;
    for (uint32_t i = 0; i < capacity; ++i) sessions[i] = nullptr, free[i] = capacity - 1 - i;
    pool->sessions = sessions;
    pool->free = free;
    pool->capacity = capacity;
    return pool;
}

uint64_t take(uint64_t *used, uint64_t bytes) {
    const uint64_t at = *used;
    *used += to_line(bytes);
    return at;
}

// Both return the bytes of their buffer. With null they only measure.
uint64_t place_tables(const StreamFamily &family, uint32_t capacity, Pool *pool) {
    uint64_t used = 0;
    for (uint32_t f = 0; f < most_blocks_in_flight; ++f) {
        Dispatch *const calls = pool ? pool->frames[f].calls : nullptr;
        Dispatch *const transfers = pool ? pool->frames[f].transfers : nullptr;
        for (uint32_t c = 0; c < family.n_calls; ++c) {
            const uint64_t at = take(&used, uint64_t{4} * family.calls[c].row_words() * capacity);
            if (pool) calls[c].table_at = at;
        }
        for (uint32_t t = 0; t < family.n_transfers; ++t) {
            const uint64_t at = take(&used, sizeof(TransferRow) * capacity);
            if (pool) transfers[t].table_at = at;
        }
        for (uint32_t d = 0; d < family.n_calls + family.n_transfers; ++d) {
            const uint64_t at = take(&used, sizeof(VkDispatchIndirectCommand));
            if (pool) (d < family.n_calls ? calls[d] : transfers[d - family.n_calls]).groups_at = at;
        }
    }
    return used;
}

// Staging memory, and room for a copy of state.
uint64_t place_exchange(const StreamFamily &family, uint32_t capacity, Pool *pool) {
    uint64_t used = 0;
    const uint64_t staging_at = take(&used, family.staging_bytes() * capacity),
                   state_copies_at = take(&used, state_copy_bytes);
    if (pool) pool->staging_at = staging_at, pool->state_copies_at = state_copies_at;
    return used;
}

lw_status fill(const Model &model, Pool &pool) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = *model.family;
    const uint64_t exchange_bytes = place_exchange(family, pool.capacity, &pool),
                   table_bytes = place_tables(family, pool.capacity, &pool);
    using Where = DeviceBuffer::Where;
    if (lw_status status =
            pool.device.create(gpu, family.stream_bytes * pool.capacity, Where::device, "streams"))
        return status;
    if (lw_status status = pool.tables.create(gpu, table_bytes, Where::both, "tables of streams"))
        return status;
    if (lw_status status = pool.exchange.create(gpu, exchange_bytes, Where::host, "inputs and outputs"))
        return status;
    memset(pool.tables.data, 0, table_bytes);
    memset(pool.exchange.data, 0, pool.state_copies_at); // the bytes between rows of inputs stay 0
    if (lw_status status = pool.commands.create(gpu)) return status;
    for (Frame &frame : pool.frames) {
        if (lw_status status = frame.commands.create(gpu)) return status;
        if (lw_status status = frame.commands.allocate(gpu, family.n_recordings, frame.recorded))
            return status;
    }
    return create_pool_sets(model, pool);
}

// Null: *status says why.
Pool *create(const Model &model, uint32_t capacity, lw_status *status) {
    const lw_allocator &allocator = *model.source.allocator;
    Parts measure(nullptr);
    lay_out(*model.family, capacity, measure);
    Block block;
    if (!block.allocate(allocator, measure.used())) {
        *status = fail(LW_NO_MEMORY, "no memory for streams on a GPU: %llu bytes",
                       static_cast<unsigned long long>(measure.used()));
        return nullptr;
    }
    Parts parts(block.data);
    Pool *pool = lay_out(*model.family, capacity, parts);
    pool->memory = block;
    *status = fill(model, *pool);
    if (*status == LW_OK) return pool;
    pool->destroy(model.gpu(), allocator);
    return nullptr;
}

// Copies everything from the smaller pool, when its blocks have run. Their outputs go along.
lw_status take_over(const Model &model, Pool &from, Pool &to) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = *model.family;
    for (const Frame &frame : from.frames) wait_for(gpu, from, frame.submission);
    to.submissions = from.submissions;
    if (lw_status status = to.commands.begin(gpu, true)) return status;
    for (uint32_t p = 0; p < family.n_parts; ++p) {
        const Part &part = family.parts[p];
        const VkBufferCopy copy{from.at(part, 0), to.at(part, 0), part.bytes * from.capacity};
        gpu.vk.vkCmdCopyBuffer(to.commands.buffer, from.device.buffer, to.device.buffer, 1, &copy);
    }
    barrier(gpu, to.commands.buffer);
    if (lw_status status = to.commands.end(gpu)) return status;
    if (lw_status status = to.commands.submit(gpu)) return status;
    memcpy(to.exchange.data + to.staging_at, from.exchange.data + from.staging_at,
           family.staging_bytes() * from.capacity);
    for (uint32_t place = 0; place < from.capacity; ++place)
        if (StreamSession *session = to.sessions[place] = from.sessions[place]) session->pool = &to;
    to.used = from.used; // the last free places are those that the full pool `from` has
    return LW_OK;
}

void remove(Pool &pool) {
    *pool.link = pool.next;
    if (pool.next) pool.next->link = pool.link;
}

void put_first(Pool &pool, Pool **list) {
    pool.next = *list;
    pool.link = list;
    if (pool.next) pool.next->link = &pool.next;
    *list = &pool;
}

// Replaces the first pool of the list by a larger one.
lw_status grow(const Model &model, Pool **list) {
    Pool *old = *list;
    const uint64_t wanted = uint64_t{2} * old->capacity, most = model.family->most;
    const uint32_t capacity = static_cast<uint32_t>(wanted < most ? wanted : most);
    lw_status status = LW_OK;
    Pool *larger = create(model, capacity, &status);
    if (!larger) return status;
    status = take_over(model, *old, *larger);
    if (status != LW_OK) {
        larger->destroy(model.gpu(), *model.source.allocator);
        return status;
    }
    remove(*old);
    put_first(*larger, list);
    old->destroy(model.gpu(), *model.source.allocator);
    return LW_OK;
}

} // namespace

uint64_t first_stream_bytes(const Model &model) {
    const StreamFamily &family = *model.family;
    if (family.n_calls == 0) return 0; // no streams on the device
    Parts measure(nullptr);
    lay_out(family, 1, measure);
    return to_line(sizeof(StreamScheduler)) + measure.used() + family.stream_bytes +
           place_tables(family, 1, nullptr) + place_exchange(family, 1, nullptr);
}

lw_status take_place(StreamSession &session) {
    const Model &model = *session.model;
    const uint64_t most = model.family->most;
    if (most == 0)
        return fail(LW_UNSUPPORTED, "a stream of %.120s takes more than this GPU binds at once (%u bytes)",
                    model.plan().name()->c_str(), model.gpu().limits.maxStorageBufferRange);
    Pool **pools = &session.scheduler->pools;
    const auto is_full = [](const Pool &pool) { return pool.used == pool.capacity; };
    lw_status status = LW_OK;
    if (*pools && is_full(**pools) && (*pools)->next) pools = &(*pools)->next; // only one pool may still grow
    if (!*pools) {
        Pool *made = create(model, 1, &status);
        if (!made) return status;
        put_first(*made, pools);
    } else if (is_full(**pools)) {
        status = grow(model, pools);
    }
    if (status != LW_OK) return status;
    Pool &pool = **pools;
    const uint32_t place = pool.free[pool.capacity - ++pool.used];
    pool.sessions[place] = &session;
    session.pool = &pool;
    session.place = place;
    model.gpu().stats.places_examined += 1;
    if (pool.has_room(*model.family)) return LW_OK;
    remove(pool);
    put_first(pool, &session.scheduler->full);
    return LW_OK;
}

void give_place(StreamSession &session) {
    const Model &model = *session.model;
    Pool &pool = *session.pool;
    pool.sessions[session.place] = nullptr;
    pool.free[pool.capacity - pool.used--] = session.place;
    model.gpu().stats.places_examined += 1;
    remove(pool);
    if (pool.used > 0) put_first(pool, &session.scheduler->pools);
    else pool.destroy(model.gpu(), *model.source.allocator);
}

// Which frame a submission takes, and waiting for it.

Frame &Pool::next_frame() {
    Frame *oldest = frames;
    for (Frame &frame : frames) {
        if (frame.waited) return frame;
        if (frame.submission < oldest->submission) oldest = &frame;
    }
    return *oldest;
}

void wait_for(const Gpu &gpu, Pool &pool, uint64_t submission) {
    Frame *frame = nullptr;
    for (Frame &any : pool.frames)
        if (!any.waited && any.submission == submission) frame = &any;
    if (!frame) return;
    frame->waited = true;
    const lw_status status = frame->commands.wait(gpu);
    if (status == LW_OK) return;
    for (uint32_t place = 0; place < pool.capacity; ++place) {
        if (!pool.sessions[place]) continue;
        for (StreamBlock &block : pool.sessions[place]->blocks)
            if (block.submission == submission) block.status = status;
    }
}

lw_status check_idle(const Gpu &gpu, Commands &commands) {
    if (!gpu.leaked && commands.idle(gpu)) return LW_OK;
    return fail(LW_TIMEOUT, "the GPU still works on what it did not finish in time");
}

lw_status begin_commands(const Gpu &gpu, Commands &commands) {
    if (lw_status status = check_idle(gpu, commands)) return status;
    if (lw_status status = commands.begin(gpu, true)) return status;
    barrier(gpu, commands.buffer);
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
