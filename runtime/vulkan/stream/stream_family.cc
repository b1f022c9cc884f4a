// What a stream of a model consists of: its parts, the calls of all entries, what is moved.
#include "runtime/vulkan/stream/stream_family.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_schema.h"
#include <new>

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

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

} // namespace

uint32_t StreamCall::row_words() const {
    if (in_chain) return 0;
    return chain ? chain->descriptors()->size() : pipeline->buffers - 1 + scalars;
}

void StreamFamily::lay_out(const fb::Plan &plan, Parts &memory) {
    n_parts = count(plan.state()) + 1; // and the arena
    n_calls = n_transfers = n_recordings = 0;
    const uint32_t entries = plan.entries()->size();
    for (const fb::Entry *entry : *plan.entries()) {
        if (!gpu_stream(*entry)) continue;
        n_parts += entry->cache_bytes() > 0;
        n_calls += entry->steps()->size() + count(entry->rebuild());
        n_transfers += entry->outputs()->size();
        n_recordings += recordings(*entry);
    }
    if (n_recordings > 0) ++n_transfers; // the input's
    parts = memory.take<Part>(n_parts);
    calls = memory.take<StreamCall>(n_calls + most_chains(plan));
    transfers = memory.take<StreamTransfer>(n_transfers);
    first_call = memory.take<uint32_t>(entries);
    first_output = memory.take<uint32_t>(entries);
    first_recording = memory.take<uint32_t>(entries);
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
    bind_chains(plan, pipelines);
    transfer = &pipelines.transfer();
    bind_transfers(plan);
    most = 1u << 20;
    for (uint32_t p = 0; p < n_parts; ++p) lower(most, gpu.limits.maxStorageBufferRange / parts[p].bytes);
    for (uint32_t c = 0; c < n_calls; ++c) {
        if (calls[c].in_chain) continue;
        const uint32_t depth = calls[c].chain ? 1 : calls[c].pipeline->module->grid()->z();
        lower(most, gpu.limits.maxComputeWorkGroupCount[2] / depth);
        lower(most, gpu.limits.maxStorageBufferRange / (uint64_t{4} * calls[c].row_words()));
    }
    if (n_transfers == 0) return;
    lower(most, gpu.limits.maxComputeWorkGroupCount[2]);
    lower(most, gpu.limits.maxStorageBufferRange / staging_bytes());
}

void StreamFamily::bind_chains(const fb::Plan &plan, const Pipelines &pipelines) {
    for (uint32_t c = 0; c < pipelines.chain_count(); ++c) {
        const fb::Chain &chain = pipelines.chain(c);
        const uint32_t first = first_call[chain.entry()] + chain.first();
        const fb::Step *step = plan.entries()->Get(chain.entry())->steps()->Get(chain.first());
        for (uint32_t i = 0; i < chain.steps(); ++i) calls[first + i].in_chain = true;
        calls[first].chained = n_calls;
        StreamCall &call = *new (calls + n_calls++) StreamCall{chain.entry(), step, &pipelines.of_chain(c)};
        call.chain = &chain;
    }
}

void StreamFamily::bind_transfers(const fb::Plan &plan) {
    uint32_t next_transfer = 0, next_recording = 0;
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (!gpu_stream(entry)) continue;
        if (next_transfer == 0) // the ring of the input is the same field for all entries
            new (transfers + next_transfer++)
                StreamTransfer{part_of(fb::Space::state, e, entry.inputs()->Get(0)->place()->offset())};
        first_output[e] = next_transfer;
        for (const fb::OutputPort *port : *entry.outputs())
            new (transfers + next_transfer++)
                StreamTransfer{part_of(port->place()->space(), e, port->place()->offset())};
        first_recording[e] = next_recording;
        next_recording += recordings(entry);
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

} // namespace longwave::runtime::vulkan
