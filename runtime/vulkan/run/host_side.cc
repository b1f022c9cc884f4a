#include "runtime/vulkan/run/host_side.h"
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/run/session.h"

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

template <class PortOf> bool same_shape(const flatbuffers::Vector<flatbuffers::Offset<PortOf>> *a,
                                        const flatbuffers::Vector<flatbuffers::Offset<PortOf>> *b) {
    if (count(a) != count(b)) return false;
    for (uint32_t i = 0; i < count(a); ++i)
        if (a->Get(i)->rows() != b->Get(i)->rows() || a->Get(i)->row_bytes() != b->Get(i)->row_bytes())
            return false;
    return true;
}

// The CPU's run entry with the same ports and capacity. UINT32_MAX: there is none.
uint32_t counterpart(const fb::Plan &plan, const fb::Entry &of) {
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.kind() == fb::EntryKind::run && of_cpu(entry) && entry.block() == of.block() &&
            same_shape(entry.inputs(), of.inputs()) && same_shape(entry.outputs(), of.outputs()))
            return e;
    }
    return UINT32_MAX;
}

} // namespace

bool host_takes_part(const ModelSource &source) {
    bool any = gpu_of(source.device).fall_back;
    for (const fb::Entry *entry : *source.view->plan().entries()) any = any || artifact::mixed(*entry);
    return any;
}

lw_status open_host_side(Model &model) {
    for (const fb::Entry *entry : *model.plan().entries())
        // Streams never fall back, so only offline entries need a counterpart.
        if (model.gpu().fall_back && entry->kind() == fb::EntryKind::run && of_gpu(*entry) &&
            counterpart(model.plan(), *entry) == UINT32_MAX)
            return fail(LW_UNSUPPORTED,
                        "fall_back: %.100s has no offline entry of %u ticks for the CPU: compile "
                        "it again, or open the device without fall_back",
                        model.plan().name()->c_str(), entry->block());
    return model.source.cpu->open(model.source, &model.cpu_layers);
}

void close_host_side(Model &model) {
    if (model.cpu_layers) model.source.cpu->close(model.cpu_layers);
    model.cpu_layers = nullptr;
}

uint64_t host_side_bytes(const ModelSource &source, uint32_t workers) {
    return host_takes_part(source) ? source.cpu->session_bytes(source, {fb::EntryKind::run, workers}) : 0;
}

lw_status begin_host_side(RunSession &session, uint32_t workers, uint8_t *memory) {
    const Model &model = *session.model;
    if (!model.cpu_layers) return LW_OK;
    return model.source.cpu->begin(*model.cpu_layers, {fb::EntryKind::run, workers}, memory,
                                   &session.host_side.session);
}

void end_host_side(RunSession &session) {
    if (session.host_side.session) session.model->source.cpu->end(session.host_side.session);
    session.host_side.session = nullptr;
}

bool falls_back(const RunSession &session, lw_status failed) {
    return failed != LW_OK && session.gpu().fall_back && session.gpu().proving == 0;
}

lw_status run_on_cpu(RunSession &session, const Recording &recording, const Extent &extent,
                     ThreadPool *thread_pool) {
    const Device &cpu = *session.model->source.cpu;
    const fb::Plan &plan = session.model->plan();
    const uint32_t index = counterpart(plan, *recording.entry);
    const fb::Entry &entry = *plan.entries()->Get(index);
    // A GPU that timed out may still write its outputs, so these come from the CPU's arena.
    for (uint32_t i = 0; i < recording.n_inputs; ++i)
        cpu.write(*session.host_side.session,
                  area_of(*entry.inputs()->Get(i)->place(), index, recording.inputs[i].bytes),
                  session.exchange.data + recording.inputs[i].offset);
    const lw_status status = cpu.run(*session.host_side.session, index, 0, extent, thread_pool);
    session.host_side.computed = status == LW_OK;
    if (status == LW_OK) ++session.gpu().stats.fallen_back;
    return status;
}

void read_from_host(const RunSession &session, const Recording &recording, const Area &area, uint64_t rows,
                    uint8_t *to, uint64_t to_stride) {
    const fb::Plan &plan = session.model->plan();
    const uint32_t index = counterpart(plan, *recording.entry);
    for (uint32_t i = 0; i < recording.n_outputs; ++i) {
        const uint64_t begin = offset_of(*recording.outputs[i].place, 0);
        if (recording.outputs[i].place->space() != area.space || area.offset < begin ||
            area.offset >= begin + recording.outputs[i].bytes)
            continue;
        const fb::OutputPort &port = *plan.entries()->Get(index)->outputs()->Get(i);
        Area there = area_of(*port.place(), index, area.bytes);
        there.offset += area.offset - begin;
        session.model->source.cpu->read(*session.host_side.session, there, rows, port.row_bytes(), to,
                                        to_stride);
        return;
    }
}

} // namespace longwave::runtime::vulkan
