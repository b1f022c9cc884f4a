// Runs an entry segment by segment. A mixed entry alternates between the GPU and the CPU. The arena
// of the CPU then holds the ports and everything that the steps of the CPU read and write.
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/run/session.h"

namespace longwave::runtime::vulkan {
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
