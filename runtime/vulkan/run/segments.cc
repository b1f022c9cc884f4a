// A run entry piece by piece. On a GPU alone it is one; a mixed one goes to and fro between the device and the
// processor, whose arena holds its ports and all that its own steps read and write.
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/run/session.h"

namespace longwave::runtime::vulkan {
namespace {

// What the piece's steps of that kind move: out of the CPU's arena for the device to take, or back.
void move(const RunSession &session, uint32_t entry, const Piece &piece, fb::StepKind kind) {
    const Recording &recording = session.recordings[entry];
    const Device &cpu = cpu_of(session);
    for (uint32_t i = piece.first; i < piece.last; ++i) {
        const fb::Step &step = *recording.entry->steps()->Get(i);
        if (step.kind() != kind) continue;
        const Area area = area_of(*step.args()->Get(0)->place(), entry, step.bytes());
        uint8_t *exchange = session.exchange.data + recording.scalars[i];
        if (kind == fb::StepKind::to_device)
            cpu.read(*session.fall_back.session, area, 1, area.bytes, exchange, area.bytes);
        else cpu.write(*session.fall_back.session, area, exchange);
    }
}

lw_status run_piece(const RunSession &session, uint32_t entry, const Piece &piece, const Extent &extent,
                    ThreadPool *thread_pool) {
    if (piece.cpu) {
        Extent part = extent;
        part.first = piece.first;
        part.last = piece.last;
        return cpu_of(session).run(*session.fall_back.session, entry, 0, part, thread_pool);
    }
    move(session, entry, piece, fb::StepKind::to_device);
    if (lw_status status = session.recordings[entry].commands.submit(session.gpu(), piece.commands))
        return status;
    move(session, entry, piece, fb::StepKind::to_cpu);
    return LW_OK;
}

} // namespace

const Device &cpu_of(const RunSession &session) { return *session.model->source.cpu; }

lw_status run_pieces(const RunSession &session, uint32_t entry, const Extent &extent, ThreadPool *thread_pool) {
    const Recording &recording = session.recordings[entry];
    for (uint32_t i = 0; recording.mixed && i < recording.n_inputs; ++i)
        cpu_of(session).write(*session.fall_back.session,
                                    area_of(*recording.inputs[i].place, entry, recording.inputs[i].bytes),
                                    session.exchange.data + recording.inputs[i].offset);
    for (uint32_t p = 0; p < recording.n_pieces; ++p)
        if (lw_status status = run_piece(session, entry, recording.pieces[p], extent, thread_pool)) return status;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
