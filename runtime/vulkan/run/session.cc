#include "runtime/vulkan/run/session.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/samples.h"
#include "runtime/vulkan/device/gpu.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

// Lays out a buffer of one entry. Entries share it, because only one runs at a time.
struct Layout {
    uint64_t used;

    uint64_t take(uint64_t bytes) {
        const uint64_t at = used;
        used += to_line(bytes);
        return at;
    }
};

// The bytes of the buffers that all entries share, and of the session itself.
struct Sizes {
    uint64_t memory = 0, arena = 0, scalars = 0, exchange = 0;
    uint64_t in_place = 0; // the exchange buffer where inputs and outputs stay in the arena
};

template <class PortOf> void lay_out_ports(const flatbuffers::Vector<flatbuffers::Offset<PortOf>> *ports,
                                           Layout &exchange, Port *to) {
    for (uint32_t i = 0; i < count(ports); ++i) {
        const PortOf &port = *ports->Get(i);
        const uint64_t bytes = uint64_t{port.rows()} * port.row_bytes(), at = exchange.take(bytes);
        if (to) new (to + i) Port{port.place(), at, bytes};
    }
}

// Splits the steps into maximal ranges of one device. With null it only counts. An entry without
// steps has one range.
uint32_t split(const fb::Entry &entry, DeviceSegment *segments) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count(entry.steps()) || n == 0; ++i) {
        const bool any = i < count(entry.steps()), cpu = any && entry.steps()->Get(i)->cpu();
        if (i == 0 || cpu != entry.steps()->Get(i - 1)->cpu()) {
            if (segments) new (segments + n) DeviceSegment{i, i, cpu, VK_NULL_HANDLE};
            ++n;
        }
        if (segments && any) segments[n - 1].last = i + 1;
    }
    return n;
}

// With measuring parts it only measures.
Sizes lay_out(const fb::Plan &plan, const fb::Entry &entry, Parts &parts, Recording *recording) {
    const uint32_t steps = count(entry.steps()), n_segments = split(entry, nullptr);
    DeviceSegment *segments = parts.take<DeviceSegment>(n_segments);
    VkDescriptorSet *sets = parts.take<VkDescriptorSet>(steps);
    uint64_t *exchanged = parts.take<uint64_t>(steps);
    Port *inputs = parts.take<Port>(count(entry.inputs())),
         *outputs = parts.take<Port>(count(entry.outputs()));
    Layout scalars{zeros_bytes}, exchange{overflow_bytes};
    bool tails = false;
    for (uint32_t i = 0; i < steps; ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        const uint64_t at = artifact::moves(step) ? exchange.take(step.bytes())
                                                  : scalars.take(scalars_of(plan, step) * sizeof(int32_t));
        if (exchanged) exchanged[i] = at, sets[i] = VK_NULL_HANDLE;
        tails |= step.kind() == fb::StepKind::zero_tail && !step.cpu();
    }
    const bool mixed = artifact::mixed(entry);
    const uint64_t without_ports = exchange.used;
    lay_out_ports(entry.inputs(), exchange, inputs);
    lay_out_ports(entry.outputs(), exchange, outputs);
    const Sizes sizes{.arena = entry.arena_bytes(),
                      .scalars = scalars.used,
                      .exchange = exchange.used,
                      .in_place = mixed ? exchange.used : without_ports};
    if (!recording) return sizes;
    recording->entry = &entry;
    recording->mixed = mixed;
    recording->device_segments = segments;
    recording->n_segments = split(entry, segments);
    recording->sets = sets;
    recording->exchanged = exchanged;
    recording->inputs = inputs;
    recording->outputs = outputs;
    recording->n_inputs = count(entry.inputs());
    recording->n_outputs = count(entry.outputs());
    recording->depends_on_rows = tails;
    return sizes;
}

void widen(uint64_t &most, uint64_t bytes) { most = bytes > most ? bytes : most; }

Sizes lay_out(const fb::Plan &plan, uint8_t *memory, RunSession **out) {
    Parts parts(memory);
    Sizes sizes;
    RunSession *session = parts.take<RunSession>(1);
    const uint32_t entries = plan.entries()->size();
    Recording *recordings = parts.take<Recording>(entries);
    if (session) (new (session) RunSession{})->recordings = recordings;
    for (uint32_t e = 0; e < entries; ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        Recording *recording = recordings ? new (recordings + e) Recording{} : nullptr;
        if (!of_gpu(entry) || entry.kind() != fb::EntryKind::run) continue;
        const Sizes wanted = lay_out(plan, entry, parts, recording);
        widen(sizes.arena, wanted.arena);
        widen(sizes.scalars, wanted.scalars);
        widen(sizes.exchange, wanted.exchange);
        widen(sizes.in_place, wanted.in_place);
    }
    if (out) *out = session;
    sizes.memory = parts.used();
    return sizes;
}

// A command buffer for each segment of the GPU.
lw_status create_buffers(const Gpu &gpu, Recording &recording) {
    if (lw_status status = recording.commands.create(gpu)) return status;
    bool taken = false;
    for (uint32_t p = 0; p < recording.n_segments; ++p) {
        DeviceSegment &segment = recording.device_segments[p];
        if (segment.cpu) continue;
        if (!taken) segment.commands = recording.commands.buffer;
        else if (lw_status status = recording.commands.allocate(gpu, 1, &segment.commands)) return status;
        taken = true;
    }
    return LW_OK;
}

lw_status create(RunSession &session, const Sizes &sizes) {
    const Gpu &gpu = session.gpu();
    using Where = DeviceBuffer::Where;
    if (lw_status status = session.arena.create(gpu, sizes.arena, Where::device, "a run")) return status;
    if (lw_status status = session.scalars.create(gpu, sizes.scalars, Where::both, "scalars of a run"))
        return status;
    // The CPU would run a failed entry again from its inputs, which the arena no longer holds.
    session.in_place = session.arena.data && !gpu.fall_back;
    if (lw_status status = session.exchange.create(gpu, session.in_place ? sizes.in_place : sizes.exchange,
                                                   Where::host, "inputs and outputs"))
        return status;
    if (sizes.scalars > 0) memset(session.scalars.data, 0, zeros_bytes);
    for (uint32_t e = 0; e < session.model->plan().entries()->size(); ++e) {
        Recording &recording = session.recordings[e];
        if (!recording.entry) continue;
        if (lw_status status = create_buffers(gpu, recording)) return status;
        if (lw_status status = create_sets(session, recording)) return status;
    }
    return LW_OK;
}

// The area where the host reads or writes it, if it is part of a port of the entry; else null.
uint8_t *find(const RunSession &session, const Area &area, bool output) {
    const Recording &recording = session.recordings[area.entry];
    const Port *ports = output ? recording.outputs : recording.inputs;
    for (uint32_t i = 0; i < (output ? recording.n_outputs : recording.n_inputs); ++i) {
        const uint64_t begin = offset_of(*ports[i].place, 0);
        if (ports[i].place->space() == area.space && area.offset >= begin &&
            area.offset < begin + ports[i].bytes)
            return session.in_place && !recording.mixed
                       ? session.arena.data + area.offset
                       : session.exchange.data + ports[i].offset + (area.offset - begin);
    }
    return nullptr;
}

} // namespace

DeviceBuffer RunSession::buffer_of(fb::Space space) const {
    if (const DeviceTable *table = model->table(space)) return table->memory;
    return space == fb::Space::arena ? arena : DeviceBuffer{}; // rule V12: a run has no other
}

uint64_t run_session_bytes(const ModelSource &source, uint32_t workers) {
    return lay_out(source.view->plan(), nullptr, nullptr).memory + host_side_bytes(source, workers);
}

uint64_t run_device_bytes(const fb::Plan &plan) {
    const Sizes sizes = lay_out(plan, nullptr, nullptr);
    return sizes.arena + sizes.scalars + sizes.exchange;
}

lw_status begin_run_session(const Model &model, uint32_t workers, uint8_t *memory, Session **out) {
    RunSession *session = nullptr;
    const Sizes sizes = lay_out(model.plan(), memory, &session);
    session->model = &model;
    lw_status status = begin_host_side(*session, workers, memory + sizes.memory);
    if (status == LW_OK) status = create(*session, sizes);
    if (status == LW_OK) *out = handle_of(*session);
    else end_run_session(*session);
    return status;
}

void end_run_session(RunSession &session) {
    const Gpu &gpu = session.gpu();
    for (uint32_t e = 0; e < session.model->plan().entries()->size(); ++e) {
        Recording &recording = session.recordings[e];
        recording.commands.destroy(gpu);
        if (recording.pool && !gpu.leaked)
            gpu.vk.vkDestroyDescriptorPool(gpu.device, recording.pool, nullptr);
        recording.pool = VK_NULL_HANDLE;
    }
    end_host_side(session);
    session.exchange.destroy(gpu);
    session.scalars.destroy(gpu);
    session.arena.destroy(gpu);
}

void clear_input(RunSession &session, const Area &area) {
    if (uint8_t *at = find(session, area, false)) memset(at, 0, area.bytes);
}

void write_input(RunSession &session, const Area &area, const uint8_t *from) {
    if (uint8_t *at = find(session, area, false)) memcpy(at, from, area.bytes);
}

uint64_t put_input(RunSession &session, const Area &area, uint64_t stride, const Samples &samples) {
    uint8_t *at = find(session, area, false);
    return at ? convert(samples, at, stride) : 0;
}

void read_output(const RunSession &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride) {
    const Recording &recording = session.recordings[area.entry];
    if (session.host_side.computed) return read_from_host(session, recording, area, rows, to, to_stride);
    if (recording.mixed)
        return cpu_of(session).read(*session.host_side.session, area, rows, stride, to, to_stride);
    const uint8_t *at = find(session, area, true);
    if (at) copy_rows(at, stride, to, to_stride, rows, area.bytes);
}

static lw_status run_on_gpu(RunSession &session, uint32_t entry, const Extent &extent,
                            ThreadPool *thread_pool) {
    Recording &recording = session.recordings[entry];
    const Gpu &gpu = session.gpu();
    const uint64_t rows = recording.depends_on_rows ? extent.rows : 0;
    (void)recording.commands.idle(gpu);
    if (lw_status status = gpu.usable()) return status;
    if (recording.recorded_for != rows) {
        recording.recorded_for = UINT64_MAX;
        if (lw_status status = record(session, recording, rows)) return status;
        recording.recorded_for = rows;
        ++gpu.stats.recordings;
    }
    put_scalars(session, recording, extent);
    uint32_t &overflow = *reinterpret_cast<uint32_t *>(session.exchange.data);
    overflow = 0;
    if (lw_status status = run_segments(session, entry, extent, thread_pool)) return status;
    ++gpu.stats.runs;
    gpu.stats.submissions += recording.submissions;
    gpu.stats.moved_bytes += recording.transferred;
    gpu.stats.dispatches += recording.dispatches;
    gpu.stats.fills += recording.fills;
    if (!recording.fp16 || overflow == 0) return LW_OK;
    return fail(LW_NOT_FINITE,
                "a layer gives values beyond float16 (65,504), which --gpu-storage f16 cannot store: "
                "run the model on the CPU, or compile it without that option");
}

lw_status run_entry(RunSession &session, uint32_t entry, const Extent &extent, ThreadPool *thread_pool) {
    session.host_side.computed = false;
    const lw_status status = run_on_gpu(session, entry, extent, thread_pool);
    if (!falls_back(session, status)) return status;
    return run_on_cpu(session, session.recordings[entry], extent, thread_pool);
}

// Runs an entry segment by segment. A mixed entry alternates between the GPU and the CPU. The arena
// of the CPU then holds the ports and everything that the steps of the CPU read and write.

namespace {

// Copies what the segment's steps of that kind transfer, between the CPU's arena and the exchange
// buffer.
void transfer(const RunSession &session, uint32_t entry, const DeviceSegment &segment, fb::StepKind kind) {
    const Recording &recording = session.recordings[entry];
    const Device &cpu = cpu_of(session);
    for (uint32_t i = segment.first; i < segment.last; ++i) {
        const fb::Step &step = *recording.entry->steps()->Get(i);
        if (step.kind() != kind) continue;
        const Area area = area_of(*step.args()->Get(0)->place(), entry, step.bytes());
        uint8_t *exchange = session.exchange.data + recording.exchanged[i];
        if (kind == fb::StepKind::to_device)
            cpu.read(*session.host_side.session, area, 1, area.bytes, exchange, area.bytes);
        else cpu.write(*session.host_side.session, area, exchange);
    }
}

lw_status run_segment(const RunSession &session, uint32_t entry, const DeviceSegment &segment,
                      const Extent &extent, ThreadPool *thread_pool) {
    if (segment.cpu) {
        Extent part = extent;
        part.first = segment.first;
        part.last = segment.last;
        return cpu_of(session).run(*session.host_side.session, entry, 0, part, thread_pool);
    }
    transfer(session, entry, segment, fb::StepKind::to_device);
    if (lw_status status = session.recordings[entry].commands.submit(session.gpu(), segment.commands))
        return status;
    transfer(session, entry, segment, fb::StepKind::to_cpu);
    return LW_OK;
}

} // namespace

const Device &cpu_of(const RunSession &session) { return *session.model->source.cpu; }

lw_status run_segments(const RunSession &session, uint32_t entry, const Extent &extent,
                       ThreadPool *thread_pool) {
    const Recording &recording = session.recordings[entry];
    for (uint32_t i = 0; recording.mixed && i < recording.n_inputs; ++i)
        cpu_of(session).write(*session.host_side.session,
                              area_of(*recording.inputs[i].place, entry, recording.inputs[i].bytes),
                              session.exchange.data + recording.inputs[i].offset);
    for (uint32_t p = 0; p < recording.n_segments; ++p)
        if (lw_status status = run_segment(session, entry, recording.device_segments[p], extent, thread_pool))
            return status;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
