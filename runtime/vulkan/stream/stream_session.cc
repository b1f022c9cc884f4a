// The memory of one stream on a GPU. Input is staged in memory that host and device share, and outputs of a block lie
// there; everything else here (saved states, reset) is a transfer of its own that is waited for.
#include "runtime/stream/samples.h"
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/stream/streams.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

const StreamFamily &family_of(const StreamSession &session) { return session.model->streams; }

// The first failure is kept until somebody asks.
void keep(StreamSession &session, lw_status status) {
    if (session.status == LW_OK) session.status = status;
}

uint64_t address(const StreamSession &session, const Part &part, uint64_t offset) {
    return session.pool->at(part, session.place) + (offset - part.offset);
}

// Records and waits; the staged input goes first.
template <class Record> lw_status transfer(StreamSession &session, const Record &record) {
    const Gpu &gpu = session.gpu();
    Commands &commands = session.pool->commands;
    if (lw_status status = begin_commands(gpu, commands)) return status;
    record_input(session, commands.buffer);
    barrier(gpu, commands.buffer);
    record(commands.buffer);
    barrier(gpu, commands.buffer);
    barrier(gpu, commands.buffer, VK_ACCESS_HOST_READ_BIT);
    if (lw_status status = commands.end(gpu)) return status;
    if (lw_status status = commands.submit(gpu)) return status;
    session.staged_bytes = 0;
    return LW_OK;
}

// Calls visit(part, offset, bytes) for what of the area lies in each part.
template <class Visit> void each_part(const StreamSession &session, const Area &area, const Visit &visit) {
    const StreamFamily &family = family_of(session);
    const uint64_t end = area.offset + area.bytes;
    for (uint32_t p = 0; p < family.n_parts; ++p) {
        const Part &part = family.parts[p];
        if (part.space != area.space || (part.space == fb::Space::cache && part.entry != area.entry))
            continue;
        const uint64_t from = area.offset > part.offset ? area.offset : part.offset,
                       part_end = part.offset + part.bytes, to = end < part_end ? end : part_end;
        if (from < to) visit(part, from, to - from);
    }
}

bool holds_input(const StreamSession &session, const Area &area) {
    return session.staged_bytes > 0 && area.space == fb::Space::state && area.offset <= session.staged_from &&
           session.staged_from + session.staged_bytes <= area.offset + area.bytes;
}

// Room for so many bytes behind the input that is staged already. Null: there is none.
uint8_t *stage(StreamSession &session, const Area &area) {
    const StreamFamily &family = family_of(session);
    if (session.staged_bytes > 0 && (area.offset != session.staged_from + session.staged_bytes ||
                                     session.staged_bytes + area.bytes > family.in_bytes))
        keep(session, transfer(session, [](VkCommandBuffer) {}));
    if (area.bytes > family.in_bytes || session.status != LW_OK) return nullptr;
    if (session.staged_bytes == 0) session.staged_from = area.offset;
    const Pool &pool = *session.pool;
    uint8_t *to = pool.exchange.data + pool.staging(family, session.place) + session.staged_bytes;
    session.staged_bytes += area.bytes;
    return to;
}

const fb::Place &input_place(const StreamSession &session) {
    const StreamFamily &family = family_of(session);
    return *session.model->plan().entries()->Get(family.calls[0].entry)->inputs()->Get(0)->place();
}

// Whether the area is a part of the input's ring that fits where input is staged.
bool is_input(const StreamSession &session, const Area &area) {
    const StreamFamily &family = family_of(session);
    if (area.space != fb::Space::state || area.bytes > family.in_bytes || family.n_calls == 0) return false;
    const Part *ring = family.part_of(fb::Space::state, 0, input_place(session).offset());
    return ring && area.offset >= ring->offset && area.offset + area.bytes <= ring->offset + ring->bytes;
}

// The output rows of the last block, when the area is one of them.
const uint8_t *find_output(const StreamSession &session, const Area &area) {
    if (!session.brought || area.entry != session.entry) return nullptr;
    const fb::Entry &entry = *session.model->plan().entries()->Get(session.entry);
    for (uint32_t i = 0; i < entry.outputs()->size(); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        if (port.place()->space() != area.space || session.block % port.period() != port.phase()) continue;
        const uint64_t begin = offset_of(*port.place(), session.block / port.period()),
                       bytes = uint64_t{port.rows()} * port.row_bytes();
        if (area.offset >= begin && area.offset < begin + bytes)
            return session.pool->exchange.data + output_at(session, i) + (area.offset - begin);
    }
    return nullptr;
}

} // namespace

lw_status check_idle(const Gpu &gpu, Commands &commands) {
    if (!gpu.abandoned && commands.idle(gpu)) return LW_OK;
    return fail(LW_TIMEOUT, "the GPU still works on what it did not finish in time");
}

lw_status begin_commands(const Gpu &gpu, Commands &commands) {
    if (lw_status status = check_idle(gpu, commands)) return status;
    return commands.begin(gpu, true);
}

uint64_t stream_bytes() { return to_line(sizeof(StreamSession)); }

lw_status begin_stream(const Model &model, uint8_t *memory, Session **out) {
    StreamSession *session = new (memory) StreamSession{};
    session->model = &model;
    if (lw_status status = take_place(model, *session)) return status;
    *out = reinterpret_cast<Session *>(session);
    return LW_OK;
}

void end_stream(StreamSession &session) {
    if (session.waiting) run_waiting(*session.model);
    give_place(session);
}

// ---- memory -----------------------------------------------------------------------------------------------

void record_input(const StreamSession &session, VkCommandBuffer commands) {
    if (session.staged_bytes == 0) return;
    const StreamFamily &family = family_of(session);
    const Pool &pool = *session.pool;
    const Part &ring = *family.part_of(fb::Space::state, 0, session.staged_from);
    const VkBufferCopy copy{pool.staging(family, session.place), address(session, ring, session.staged_from),
                            session.staged_bytes};
    session.gpu().vk.vkCmdCopyBuffer(commands, pool.exchange.buffer, pool.device.buffer, 1, &copy);
}

uint64_t output_at(const StreamSession &session, uint32_t port) {
    const StreamFamily &family = family_of(session);
    const fb::Entry &entry = *session.model->plan().entries()->Get(session.entry);
    uint64_t at = session.pool->staging(family, session.place) + family.in_bytes;
    for (uint32_t i = 0; i < port; ++i)
        at += to_line(uint64_t{entry.outputs()->Get(i)->rows()} * entry.outputs()->Get(i)->row_bytes());
    return at;
}

void clear_stream(StreamSession &session, const Area &area) {
    if (is_input(session, area)) {
        if (uint8_t *to = stage(session, area)) memset(to, 0, area.bytes);
        return;
    }
    if (holds_input(session, area)) session.staged_bytes = 0;
    keep(session, transfer(session, [&](VkCommandBuffer commands) {
             each_part(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
                 session.gpu().vk.vkCmdFillBuffer(commands, session.pool->device.buffer,
                                                  address(session, part, offset), bytes, 0);
             });
         }));
}

void copy_stream(StreamSession &to, const StreamSession &from, const Area &area) {
    StreamSession &source = const_cast<StreamSession &>(from); // its input goes on its way
    if (holds_input(to, area)) to.staged_bytes = 0;
    if (source.staged_bytes > 0) keep(to, transfer(source, [](VkCommandBuffer) {}));
    keep(to, transfer(to, [&](VkCommandBuffer commands) {
             each_part(to, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
                 const VkBufferCopy copy{address(from, part, offset), address(to, part, offset), bytes};
                 to.gpu().vk.vkCmdCopyBuffer(commands, from.pool->device.buffer, to.pool->device.buffer, 1,
                                             &copy);
             });
         }));
}

namespace {

// Calls move(part, offset, bytes) in pieces that fit the exchange buffer.
template <class Move> void in_pieces(StreamSession &session, const Area &area, const Move &move) {
    each_part(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
        for (uint64_t done = 0, piece; done < bytes && session.status == LW_OK; done += piece) {
            piece = bytes - done < transfer_bytes ? bytes - done : transfer_bytes;
            keep(session, move(part, offset + done, piece));
        }
    });
}

} // namespace

void write_stream(StreamSession &session, const Area &area, const uint8_t *from) {
    if (holds_input(session, area)) session.staged_bytes = 0;
    const Pool &pool = *session.pool;
    in_pieces(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
        memcpy(pool.exchange.data + pool.transfers_at, from + (offset - area.offset), bytes);
        const VkBufferCopy copy{pool.transfers_at, address(session, part, offset), bytes};
        return transfer(session, [&](VkCommandBuffer commands) {
            session.gpu().vk.vkCmdCopyBuffer(commands, pool.exchange.buffer, pool.device.buffer, 1, &copy);
        });
    });
}

void read_stream(StreamSession &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
                 uint64_t to_stride) {
    if (const uint8_t *at = find_output(session, area))
        return copy_rows(at, stride, to, to_stride, rows, area.bytes);
    const Pool &pool = *session.pool;
    for (uint64_t r = 0; r < rows; ++r) {
        Area row = area;
        row.offset += r * stride;
        in_pieces(session, row, [&](const Part &part, uint64_t offset, uint64_t bytes) {
            const VkBufferCopy copy{address(session, part, offset), pool.transfers_at, bytes};
            const lw_status status = transfer(session, [&](VkCommandBuffer commands) {
                session.gpu().vk.vkCmdCopyBuffer(commands, pool.device.buffer, pool.exchange.buffer, 1,
                                                 &copy);
            });
            if (status == LW_OK)
                memcpy(to + r * to_stride + (offset - row.offset), pool.exchange.data + pool.transfers_at,
                       bytes);
            return status;
        });
    }
}

uint64_t put_stream(StreamSession &session, const Area &area, uint64_t stride, const Samples &samples) {
    uint8_t *to = stage(session, area);
    return to ? convert(samples, to, stride) : 0;
}

// ---- work -------------------------------------------------------------------------------------------------

lw_status run_stream(StreamSession &session, uint32_t entry, uint64_t block) {
    session.brought = false;
    session.entry = entry;
    session.block = block;
    session.waiting = true;
    session.next = session.model->streams.waiting;
    session.model->streams.waiting = &session;
    return LW_OK;
}

lw_status settle_stream(StreamSession &session) {
    if (session.waiting) run_waiting(*session.model);
    const lw_status status = session.status;
    session.status = LW_OK;
    return status;
}

} // namespace longwave::runtime::vulkan
