#include "runtime/vulkan/run/host_side.h"
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/device/failure.h"
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

// The processor's entry that takes what this one takes and gives what it gives. UINT32_MAX: there is none.
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

bool processor_takes_part(const ModelSource &source) {
    bool any = gpu_of(source.device).fall_back;
    for (const fb::Entry *entry : *source.view->plan().entries()) any = any || artifact::mixed(*entry);
    return any;
}

lw_status open_fall_back(Model &model) {
    for (const fb::Entry *entry : *model.plan().entries())
        if (model.gpu().fall_back && of_gpu(*entry) && counterpart(model.plan(), *entry) == UINT32_MAX)
            return fail(LW_UNSUPPORTED,
                        "fall_back: %.100s has no whole-sequence entry of the CPU of %u ticks: compile "
                        "it again, or leave fall_back out",
                        model.plan().name()->c_str(), entry->block());
    return model.source.cpu->open(model.source, &model.cpu_layers);
}

void close_fall_back(Model &model) {
    if (model.cpu_layers) model.source.cpu->close(model.cpu_layers);
    model.cpu_layers = nullptr;
}

uint64_t fall_back_bytes(const ModelSource &source, uint32_t workers) {
    return processor_takes_part(source) ? source.cpu->session_bytes(source, fb::EntryKind::run, workers)
                                        : 0;
}

lw_status begin_fall_back(RunSession &session, uint32_t workers, uint8_t *memory) {
    const Model &model = *session.model;
    if (!model.cpu_layers) return LW_OK;
    return model.source.cpu->begin(*model.cpu_layers, fb::EntryKind::run, workers, memory,
                                         &session.fall_back.session);
}

void end_fall_back(RunSession &session) {
    if (session.fall_back.session) session.model->source.cpu->end(session.fall_back.session);
    session.fall_back.session = nullptr;
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
    // A device that timed out may still read the inputs, and write the outputs: so those are read elsewhere.
    for (uint32_t i = 0; i < recording.n_inputs; ++i)
        cpu.write(*session.fall_back.session,
                        area_of(*entry.inputs()->Get(i)->place(), index, recording.inputs[i].bytes),
                        session.exchange.data + recording.inputs[i].offset);
    const lw_status status = cpu.run(*session.fall_back.session, index, 0, extent, thread_pool);
    session.fall_back.on = status == LW_OK;
    if (status == LW_OK) ++session.gpu().stats.fallen_back;
    return status;
}

void read_of_processor(const RunSession &session, const Recording &recording, const Area &area, uint64_t rows,
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
        session.model->source.cpu->read(*session.fall_back.session, there, rows, port.row_bytes(), to,
                                              to_stride);
        return;
    }
}

} // namespace longwave::runtime::vulkan
