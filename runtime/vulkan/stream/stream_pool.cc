// Pools: memory of streams, descriptor sets over its parts, growing.
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/stream/streams.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

bool own(fb::Space space) { return space != fb::Space::weights && space != fb::Space::derived; }

} // namespace

void Pool::destroy(const Gpu &gpu, const lw_allocator &allocator) {
    commands.destroy(gpu);
    if (descriptors && !gpu.abandoned) gpu.vk.vkDestroyDescriptorPool(gpu.device, descriptors, nullptr);
    exchange.destroy(gpu);
    device.destroy(gpu);
    Block block = memory;
    block.release(allocator);
}

namespace {

Pool *lay_out(const StreamFamily &family, uint32_t capacity, Parts &parts) {
    Pool *pool = parts.take<Pool>(1);
    StreamSession **sessions = parts.take<StreamSession *>(capacity);
    uint64_t *numbers_at = parts.take<uint64_t>(family.dispatches());
    VkDescriptorSet *sets = parts.take<VkDescriptorSet>(family.dispatches());
    VkCommandBuffer *recorded = parts.take<VkCommandBuffer>(family.n_recordings);
    uint64_t *pattern_of = parts.take<uint64_t>(family.n_recordings);
    if (!pool) return nullptr;
    new (pool) Pool{};
    for (uint32_t i = 0; i < capacity; ++i) sessions[i] = nullptr;
    pool->sessions = sessions;
    pool->numbers_at = numbers_at;
    pool->sets = sets;
    pool->recorded = recorded;
    pool->pattern_of = pattern_of;
    for (uint32_t i = 0; i < family.n_recordings; ++i) pattern_of[i] = UINT64_MAX;
    pool->capacity = capacity;
    return pool;
}

VkDescriptorBufferInfo descriptor(const Model &model, const Pool &pool, const StreamCall &call,
                                  const fb::Place &place, const fb::KernelArg &arg) {
    if (own(place.space())) {
        const Part &part = *model.streams.part_of(place.space(), call.entry, place.offset());
        return {pool.device.buffer, part.before * pool.capacity, part.bytes * pool.capacity};
    }
    uint64_t span = 0;
    (void)artifact::span_bytes(arg, &span); // V7
    const VkBuffer buffer = place.space() == fb::Space::weights ? model.weights.buffer : model.derived.buffer;
    return {buffer, place.offset(), span + uint64_t{place.slots() - 1} * place.slot_bytes()};
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

void write_call_set(const Model &model, const Pool &pool, uint32_t index) {
    const StreamCall &call = model.streams.calls[index];
    const fb::Module &module = *call.pipeline->module;
    const fb::Kernel &kernel = *model.plan().kernels()->Get(call.step->kernel());
    const VkDescriptorBufferInfo table{pool.exchange.buffer, pool.numbers_at[index],
                                       uint64_t{4} * call.row_words() * pool.capacity};
    VkDescriptorBufferInfo buffers[64]; // V21
    buffers[module.table()] = table;
    for (uint32_t a = 0; a < module.bindings()->size(); ++a) {
        const uint32_t binding = module.bindings()->Get(a);
        if (binding == artifact::unbound) continue;
        const fb::Place *place = call.step->args()->Get(a)->place();
        buffers[binding] = place ? descriptor(model, pool, call, *place, *kernel.args()->Get(a)) : table;
    }
    write_set(model.gpu(), pool.sets[index], buffers, call.pipeline->buffers);
}

void write_move_set(const Model &model, const Pool &pool, uint32_t m) {
    const StreamFamily &family = model.streams;
    const Part &part = *family.moves[m].part;
    const VkDescriptorBufferInfo of_part{pool.device.buffer, part.before * pool.capacity,
                                         part.bytes * pool.capacity},
        staging{pool.exchange.buffer, pool.staging_at, (family.in_bytes + family.out_bytes) * pool.capacity};
    const VkDescriptorBufferInfo buffers[] = {
        {pool.exchange.buffer, pool.numbers_at[family.n_calls + m], sizeof(MoveRow) * pool.capacity},
        m == 0 ? staging : of_part,
        m == 0 ? of_part : staging};
    write_set(model.gpu(), pool.sets[family.n_calls + m], buffers, 3);
}

lw_status create_sets(const Model &model, Pool &pool) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = model.streams;
    const uint32_t n = family.dispatches();
    if (n == 0) return LW_OK;
    uint32_t buffers = 0;
    for (uint32_t d = 0; d < n; ++d) buffers += family.pipeline(d).buffers;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = n;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    LW_VK(gpu.vk, vkCreateDescriptorPool, gpu.device, &info, nullptr, &pool.descriptors);
    for (uint32_t d = 0; d < n; ++d) {
        VkDescriptorSetAllocateInfo set{};
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        set.descriptorPool = pool.descriptors;
        set.descriptorSetCount = 1;
        set.pSetLayouts = &family.pipeline(d).set;
        LW_VK(gpu.vk, vkAllocateDescriptorSets, gpu.device, &set, pool.sets + d);
        if (d < family.n_calls) write_call_set(model, pool, d);
        else write_move_set(model, pool, d - family.n_calls);
    }
    return LW_OK;
}

lw_status fill(const Model &model, Pool &pool) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = model.streams;
    uint64_t exchanged = 0;
    for (uint32_t c = 0; c < family.n_calls; ++c) {
        pool.numbers_at[c] = exchanged;
        exchanged += to_line(uint64_t{4} * family.calls[c].row_words() * pool.capacity);
    }
    for (uint32_t m = 0; m < family.n_moves; ++m) {
        pool.numbers_at[family.n_calls + m] = exchanged;
        exchanged += to_line(sizeof(MoveRow) * pool.capacity);
    }
    pool.groups_at = exchanged;
    exchanged += to_line(sizeof(Groups) * family.dispatches());
    pool.staging_at = exchanged;
    pool.transfers_at = exchanged + (family.in_bytes + family.out_bytes) * pool.capacity;
    using Where = DeviceBuffer::Where;
    if (lw_status status =
            pool.device.create(gpu, family.stream_bytes * pool.capacity, Where::device, "streams"))
        return status;
    if (lw_status status =
            pool.exchange.create(gpu, pool.transfers_at + transfer_bytes, Where::host, "inputs and outputs"))
        return status;
    memset(pool.exchange.data, 0, pool.transfers_at); // what lies between rows of inputs stays so
    if (lw_status status = pool.commands.create(gpu)) return status;
    if (lw_status status = pool.commands.allocate(gpu, family.n_recordings, pool.recorded)) return status;
    return create_sets(model, pool);
}

// Null: *status says why.
Pool *create(const Model &model, uint32_t capacity, lw_status *status) {
    const lw_allocator &allocator = *model.source.allocator;
    Parts measure(nullptr);
    lay_out(model.streams, capacity, measure);
    Block block;
    if (!block.allocate(allocator, measure.used())) {
        *status = fail(LW_NO_MEMORY, "no memory for streams on a GPU: %llu bytes",
                       static_cast<unsigned long long>(measure.used()));
        return nullptr;
    }
    Parts parts(block.data);
    Pool *pool = lay_out(model.streams, capacity, parts);
    pool->memory = block;
    *status = fill(model, *pool);
    if (*status == LW_OK) return pool;
    pool->destroy(model.gpu(), allocator);
    return nullptr;
}

// Takes over everything that the smaller pool holds.
lw_status take_over(const Model &model, const Pool &from, Pool &to) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = model.streams;
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
           (family.in_bytes + family.out_bytes) * from.capacity);
    for (uint32_t place = 0; place < from.capacity; ++place)
        if (StreamSession *session = to.sessions[place] = from.sessions[place]) session->pool = &to;
    to.used = from.used;
    return LW_OK;
}

// `link`: what points to the pool.
lw_status grow(const Model &model, Pool **link) {
    Pool *old = *link;
    const uint64_t wanted = uint64_t{2} * old->capacity, most = model.streams.most;
    const uint32_t capacity = static_cast<uint32_t>(wanted < most ? wanted : most);
    lw_status status = LW_OK;
    Pool *larger = create(model, capacity, &status);
    if (!larger) return status;
    status = take_over(model, *old, *larger);
    if (status != LW_OK) {
        larger->destroy(model.gpu(), *model.source.allocator);
        return status;
    }
    larger->next = old->next;
    *link = larger;
    old->destroy(model.gpu(), *model.source.allocator);
    return LW_OK;
}

} // namespace

lw_status take_place(const Model &model, StreamSession &session) {
    StreamFamily &family = model.streams;
    if (family.most == 0)
        return fail(LW_UNSUPPORTED, "a stream of %.120s takes more than this GPU binds at once (%u bytes)",
                    model.plan().name()->c_str(), model.gpu().limits.maxStorageBufferRange);
    Pool **link = &family.pools;
    while (*link && (*link)->used == (*link)->capacity && (*link)->capacity == family.most)
        link = &(*link)->next;
    if (!*link) {
        lw_status status = LW_OK;
        *link = create(model, 1, &status);
        if (!*link) return status;
    } else if ((*link)->used == (*link)->capacity) {
        if (lw_status status = grow(model, link)) return status;
    }
    Pool &pool = **link;
    uint32_t place = 0;
    while (pool.sessions[place]) ++place;
    pool.sessions[place] = &session;
    ++pool.used;
    session.pool = &pool;
    session.place = place;
    return LW_OK;
}

void give_place(StreamSession &session) {
    const Model &model = *session.model;
    Pool *pool = session.pool;
    pool->sessions[session.place] = nullptr;
    if (--pool->used > 0) return;
    Pool **link = &model.streams.pools;
    while (*link != pool) link = &(*link)->next;
    *link = pool->next;
    pool->destroy(model.gpu(), *model.source.allocator);
}

} // namespace longwave::runtime::vulkan
