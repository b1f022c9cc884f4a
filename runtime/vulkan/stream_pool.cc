// Pools: where parts lie, descriptor sets over them, growing.
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/failure.h"
#include "runtime/vulkan/streams.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

bool gpu_stream(const fb::Entry &entry) { return of_gpu(entry) && entry.kind() == fb::EntryKind::stream; }

uint32_t scalars_of_kernel(const fb::Kernel &kernel) {
    uint32_t n = 0;
    for (const fb::KernelArg *arg : *kernel.args()) n += arg->kind() == fb::ArgKind::scalar;
    return n;
}

uint64_t bytes_of_field(const fb::StateField &field) {
    uint64_t bytes = 0;
    (void)artifact::field_bytes(field, &bytes); // V15
    return to_line(bytes);
}

bool own(fb::Space space) { return space != fb::Space::weights && space != fb::Space::derived; }

} // namespace

// ---- what a stream consists of ----------------------------------------------------------------------------

void StreamFamily::lay_out(const fb::Plan &plan, Parts &memory) {
    n_parts = count(plan.state()) + 1; // and the arena
    n_calls = 0;
    const uint32_t entries = plan.entries()->size();
    for (const fb::Entry *entry : *plan.entries()) {
        if (!gpu_stream(*entry)) continue;
        n_parts += entry->cache_bytes() > 0;
        n_calls += entry->steps()->size() + count(entry->rebuild());
    }
    parts = memory.take<Part>(n_parts);
    calls = memory.take<StreamCall>(n_calls);
    first_call = memory.take<uint32_t>(entries);
}

namespace {

struct Filling {
    StreamFamily &family;
    uint32_t parts = 0, calls = 0;

    void part(fb::Space space, uint32_t entry, uint64_t offset, uint64_t bytes) {
        new (family.parts + parts++) Part{space, entry, offset, bytes, family.stream_bytes};
        family.stream_bytes += bytes;
    }
};

uint64_t port_bytes(const fb::Entry &entry) {
    uint64_t bytes = 0;
    for (const fb::OutputPort *port : *entry.outputs())
        bytes += to_line(uint64_t{port->rows()} * port->row_bytes());
    return bytes;
}

void raise(uint64_t &most, uint64_t bytes) { most = bytes > most ? bytes : most; }
void lower(uint64_t &most, uint64_t limit) { most = limit < most ? limit : most; }

} // namespace

void StreamFamily::bind(const Gpu &gpu, const fb::Plan &plan, const Pipelines &pipelines) {
    Filling filling{*this};
    for (uint32_t i = 0; i < count(plan.state()); ++i) {
        const fb::StateField &field = *plan.state()->Get(i);
        filling.part(fb::Space::state, 0, field.offset(), bytes_of_field(field));
    }
    uint64_t arena = line;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        first_call[e] = filling.calls;
        if (!gpu_stream(entry)) continue;
        raise(arena, entry.arena_bytes());
        raise(in_bytes,
              to_line(uint64_t{entry.inputs()->Get(0)->rows()} * entry.inputs()->Get(0)->row_bytes()));
        raise(out_bytes, port_bytes(entry));
        if (entry.cache_bytes() > 0) filling.part(fb::Space::cache, e, 0, entry.cache_bytes());
        for (const auto *steps : {entry.steps(), entry.rebuild()})
            for (uint32_t i = 0; i < count(steps); ++i) {
                const fb::Step *step = steps->Get(i);
                new (calls + filling.calls++)
                    StreamCall{e, step, &pipelines[step->kernel()],
                               scalars_of_kernel(*plan.kernels()->Get(step->kernel()))};
            }
    }
    filling.part(fb::Space::arena, 0, 0, arena);
    n_parts = filling.parts;
    most = 1u << 20;
    for (uint32_t p = 0; p < n_parts; ++p) lower(most, gpu.limits.maxStorageBufferRange / parts[p].bytes);
    for (uint32_t c = 0; c < n_calls; ++c) {
        lower(most, gpu.limits.maxComputeWorkGroupCount[2] / calls[c].pipeline->module->grid()->z());
        lower(most, gpu.limits.maxStorageBufferRange / (uint64_t{4} * calls[c].row_words()));
    }
}

const Part *StreamFamily::part_of(fb::Space space, uint32_t entry, uint64_t offset) const {
    for (uint32_t p = 0; p < n_parts; ++p) {
        const Part &part = parts[p];
        if (part.space == space && (space != fb::Space::cache || part.entry == entry) &&
            offset >= part.offset && offset < part.offset + part.bytes)
            return &part;
    }
    return nullptr; // V12: none is asked for
}

// ---- a pool -----------------------------------------------------------------------------------------------

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
    uint64_t *numbers_at = parts.take<uint64_t>(family.n_calls);
    VkDescriptorSet *sets = parts.take<VkDescriptorSet>(family.n_calls);
    if (!pool) return nullptr;
    new (pool) Pool{};
    for (uint32_t i = 0; i < capacity; ++i) sessions[i] = nullptr;
    pool->sessions = sessions;
    pool->numbers_at = numbers_at;
    pool->sets = sets;
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

void write_set(const Model &model, const Pool &pool, uint32_t index) {
    const Gpu &gpu = model.gpu();
    const StreamCall &call = model.streams.calls[index];
    const fb::Module &module = *call.pipeline->module;
    const fb::Kernel &kernel = *model.plan().kernels()->Get(call.step->kernel());
    const VkDescriptorBufferInfo table{pool.exchange.buffer, pool.numbers_at[index],
                                       uint64_t{4} * call.row_words() * pool.capacity};
    VkDescriptorBufferInfo buffers[64]; // V21
    VkWriteDescriptorSet writes[64];
    buffers[module.table()] = table;
    for (uint32_t a = 0; a < module.bindings()->size(); ++a) {
        const uint32_t binding = module.bindings()->Get(a);
        if (binding == artifact::unbound) continue;
        const fb::Place *place = call.step->args()->Get(a)->place();
        buffers[binding] = place ? descriptor(model, pool, call, *place, *kernel.args()->Get(a)) : table;
    }
    for (uint32_t b = 0; b < call.pipeline->buffers; ++b) {
        writes[b] = {};
        writes[b].sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET;
        writes[b].dstSet = pool.sets[index];
        writes[b].dstBinding = b;
        writes[b].descriptorCount = 1;
        writes[b].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[b].pBufferInfo = buffers + b;
    }
    gpu.vk.vkUpdateDescriptorSets(gpu.device, call.pipeline->buffers, writes, 0, nullptr);
}

lw_status create_sets(const Model &model, Pool &pool) {
    const Gpu &gpu = model.gpu();
    const StreamFamily &family = model.streams;
    if (family.n_calls == 0) return LW_OK;
    uint32_t buffers = 0;
    for (uint32_t c = 0; c < family.n_calls; ++c) buffers += family.calls[c].pipeline->buffers;
    const VkDescriptorPoolSize size{VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, buffers};
    VkDescriptorPoolCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO;
    info.maxSets = family.n_calls;
    info.poolSizeCount = 1;
    info.pPoolSizes = &size;
    LW_VK(gpu.vk, vkCreateDescriptorPool, gpu.device, &info, nullptr, &pool.descriptors);
    for (uint32_t c = 0; c < family.n_calls; ++c) {
        VkDescriptorSetAllocateInfo set{};
        set.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO;
        set.descriptorPool = pool.descriptors;
        set.descriptorSetCount = 1;
        set.pSetLayouts = &family.calls[c].pipeline->set;
        LW_VK(gpu.vk, vkAllocateDescriptorSets, gpu.device, &set, pool.sets + c);
        write_set(model, pool, c);
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
