// A run entry piece by piece. On a GPU alone it is one; a mixed one goes to and fro between the device and the
// processor, whose arena holds its ports and all that its own steps read and write.
#include "formats/artifact/geometry.h"
#include "runtime/vulkan/run/session.h"

namespace longwave::runtime::vulkan {
namespace {

// What the piece's steps of that kind move: out of the processor's arena for the device to take, or back.
void move(const RunSession &session, uint32_t entry, const Piece &piece, fb::StepKind kind) {
    const Recording &recording = session.recordings[entry];
    const Device &processor = processor_of(session);
    for (uint32_t i = piece.first; i < piece.last; ++i) {
        const fb::Step &step = *recording.entry->steps()->Get(i);
        if (step.kind() != kind) continue;
        const Area area = area_of(*step.args()->Get(0)->place(), entry, step.bytes());
        uint8_t *exchange = session.exchange.data + recording.scalars[i];
        if (kind == fb::StepKind::to_device)
            processor.read(*session.fall_back.session, area, 1, area.bytes, exchange, area.bytes);
        else processor.write(*session.fall_back.session, area, exchange);
    }
}

lw_status run_piece(const RunSession &session, uint32_t entry, const Piece &piece, const Extent &extent,
                    Crew *crew) {
    if (piece.processor) {
        Extent part = extent;
        part.first = piece.first;
        part.last = piece.last;
        return processor_of(session).run(*session.fall_back.session, entry, 0, part, crew);
    }
    move(session, entry, piece, fb::StepKind::to_device);
    if (lw_status status = session.recordings[entry].commands.submit(session.gpu(), piece.commands))
        return status;
    move(session, entry, piece, fb::StepKind::to_processor);
    return LW_OK;
}

} // namespace

const Device &processor_of(const RunSession &session) { return *session.model->source.processor; }

lw_status run_pieces(const RunSession &session, uint32_t entry, const Extent &extent, Crew *crew) {
    const Recording &recording = session.recordings[entry];
    for (uint32_t i = 0; recording.mixed && i < recording.n_inputs; ++i)
        processor_of(session).write(*session.fall_back.session,
                                    area_of(*recording.inputs[i].place, entry, recording.inputs[i].bytes),
                                    session.exchange.data + recording.inputs[i].offset);
    for (uint32_t p = 0; p < recording.n_pieces; ++p)
        if (lw_status status = run_piece(session, entry, recording.pieces[p], extent, crew)) return status;
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
