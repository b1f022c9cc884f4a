// Input waits in memory that the host and the device share, and the outputs of a block lie there.
// Every other access (saved states, reset) is a copy of its own that this file waits for.
#include "runtime/vulkan/stream/stream_session.h"
#include "runtime/core/samples.h"
#include "runtime/vulkan/stream/pool.h"
#include "runtime/vulkan/stream/scheduler.h"
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

const StreamFamily &family_of(const StreamSession &session) { return *session.model->family; }

// Keeps the first failure until wait_stream reports it.
void keep(StreamSession &session, lw_status status) {
    if (session.status == LW_OK) session.status = status;
}

uint64_t address(const StreamSession &session, const Part &part, uint64_t offset) {
    return session.pool->at(part, session.place) + (offset - part.offset);
}

// Records commands after the copy of the staged input, submits them and waits.
template <class Record> lw_status submit_now(StreamSession &session, const Record &record) {
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
    session.coming_in().staged_bytes = 0;
    return LW_OK;
}

// Calls visit(part, offset, bytes) for the bytes of the area in each part.
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
    const StreamBlock &block = session.coming_in();
    return block.staged_bytes > 0 && area.space == fb::Space::state && area.offset <= block.staged_from &&
           block.staged_from + block.staged_bytes <= area.offset + area.bytes;
}

// Room for area.bytes after the input that is staged already. Null: there is none.
uint8_t *stage(StreamSession &session, const Area &area) {
    const StreamFamily &family = family_of(session);
    StreamBlock &block = session.coming_in();
    if (block.staged_bytes > 0 && (area.offset != block.staged_from + block.staged_bytes ||
                                   block.staged_bytes + area.bytes > family.in_bytes))
        keep(session, submit_now(session, [](VkCommandBuffer) {}));
    if (area.bytes > family.in_bytes || session.status != LW_OK) return nullptr;
    if (block.staged_bytes == 0) block.staged_from = area.offset;
    const Pool &pool = *session.pool;
    const uint32_t index = static_cast<uint32_t>(&block - session.blocks);
    uint8_t *to = pool.exchange.data + pool.staging(family, session.place, index) + block.staged_bytes;
    block.staged_bytes += area.bytes;
    return to;
}

const fb::Place &input_place(const StreamSession &session) {
    const StreamFamily &family = family_of(session);
    return *session.model->plan().entries()->Get(family.calls[0].entry)->inputs()->Get(0)->place();
}

// Whether the area is a part of the input's ring that fits the staging memory.
bool is_input(const StreamSession &session, const Area &area) {
    const StreamFamily &family = family_of(session);
    if (area.space != fb::Space::state || area.bytes > family.in_bytes || family.n_calls == 0) return false;
    const Part *ring = family.part_of(fb::Space::state, 0, input_place(session).offset());
    return ring && area.offset >= ring->offset && area.offset + area.bytes <= ring->offset + ring->bytes;
}

// The area in the exchange buffer, if it is an output of the block that was waited for last; else
// null.
const uint8_t *find_output(const StreamSession &session, const Area &area) {
    const StreamBlock &block = session.blocks[session.read_from()];
    if (!session.has_output || area.entry != block.entry) return nullptr;
    const fb::Entry &entry = *session.model->plan().entries()->Get(block.entry);
    for (uint32_t i = 0; i < entry.outputs()->size(); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        if (port.place()->space() != area.space || block.block % port.period() != port.phase()) continue;
        const uint64_t begin = offset_of(*port.place(), block.block / port.period()),
                       bytes = uint64_t{port.rows()} * port.row_bytes();
        if (area.offset >= begin && area.offset < begin + bytes)
            return session.pool->exchange.data + output_at(session, session.read_from(), i) +
                   (area.offset - begin);
    }
    return nullptr;
}

} // namespace

// ---- memory ----

void record_input(const StreamSession &session, VkCommandBuffer commands) {
    const StreamBlock &block = session.coming_in();
    if (block.staged_bytes == 0) return;
    const StreamFamily &family = family_of(session);
    const Pool &pool = *session.pool;
    const uint32_t index = static_cast<uint32_t>(&block - session.blocks);
    const Part &ring = *family.part_of(fb::Space::state, 0, block.staged_from);
    const VkBufferCopy copy{pool.staging(family, session.place, index),
                            address(session, ring, block.staged_from), block.staged_bytes};
    session.gpu().vk.vkCmdCopyBuffer(commands, pool.exchange.buffer, pool.device.buffer, 1, &copy);
}

uint64_t output_at(const StreamSession &session, uint32_t block, uint32_t port) {
    const StreamFamily &family = family_of(session);
    const fb::Entry &entry = *session.model->plan().entries()->Get(session.blocks[block].entry);
    uint64_t at = session.pool->staging(family, session.place, block) + family.in_bytes;
    for (uint32_t i = 0; i < port; ++i)
        at += to_line(uint64_t{entry.outputs()->Get(i)->rows()} * entry.outputs()->Get(i)->row_bytes());
    return at;
}

void clear_stream(StreamSession &session, const Area &area) {
    if (is_input(session, area)) {
        if (uint8_t *to = stage(session, area)) memset(to, 0, area.bytes);
        return;
    }
    if (holds_input(session, area)) session.coming_in().staged_bytes = 0;
    keep(session, submit_now(session, [&](VkCommandBuffer commands) {
             each_part(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
                 session.gpu().vk.vkCmdFillBuffer(commands, session.pool->device.buffer,
                                                  address(session, part, offset), bytes, 0);
             });
         }));
}

void copy_stream(StreamSession &to, StreamSession &from, const Area &area) {
    if (holds_input(to, area)) to.coming_in().staged_bytes = 0;
    if (from.coming_in().staged_bytes > 0) keep(to, submit_now(from, [](VkCommandBuffer) {}));
    keep(to, submit_now(to, [&](VkCommandBuffer commands) {
             each_part(to, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
                 const VkBufferCopy copy{address(from, part, offset), address(to, part, offset), bytes};
                 to.gpu().vk.vkCmdCopyBuffer(commands, from.pool->device.buffer, to.pool->device.buffer, 1,
                                             &copy);
             });
         }));
}

namespace {

// Calls copy(part, offset, bytes) in chunks that fit the exchange buffer.
template <class Copy> void in_chunks(StreamSession &session, const Area &area, const Copy &copy_chunk) {
    each_part(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
        for (uint64_t done = 0, chunk; done < bytes && session.status == LW_OK; done += chunk) {
            chunk = bytes - done < state_copy_bytes ? bytes - done : state_copy_bytes;
            keep(session, copy_chunk(part, offset + done, chunk));
        }
    });
}

} // namespace

void write_stream(StreamSession &session, const Area &area, const uint8_t *from) {
    if (holds_input(session, area)) session.coming_in().staged_bytes = 0;
    const Pool &pool = *session.pool;
    in_chunks(session, area, [&](const Part &part, uint64_t offset, uint64_t bytes) {
        memcpy(pool.exchange.data + pool.state_copies_at, from + (offset - area.offset), bytes);
        const VkBufferCopy copy{pool.state_copies_at, address(session, part, offset), bytes};
        return submit_now(session, [&](VkCommandBuffer commands) {
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
        in_chunks(session, row, [&](const Part &part, uint64_t offset, uint64_t bytes) {
            const VkBufferCopy copy{address(session, part, offset), pool.state_copies_at, bytes};
            const lw_status status = submit_now(session, [&](VkCommandBuffer commands) {
                session.gpu().vk.vkCmdCopyBuffer(commands, pool.device.buffer, pool.exchange.buffer, 1,
                                                 &copy);
            });
            if (status == LW_OK)
                memcpy(to + r * to_stride + (offset - row.offset), pool.exchange.data + pool.state_copies_at,
                       bytes);
            return status;
        });
    }
}

uint64_t put_stream(StreamSession &session, const Area &area, uint64_t stride, const Samples &samples) {
    uint8_t *to = stage(session, area);
    return to ? convert(samples, to, stride) : 0;
}

// ---- work ----

lw_status enqueue_stream(StreamSession &session, uint32_t entry, uint64_t block) {
    if (session.enqueued) start_enqueued(*session.scheduler);
    StreamBlock &coming_in = session.coming_in();
    coming_in.entry = entry;
    coming_in.block = block;
    coming_in.submission = 0;
    coming_in.status = LW_OK;
    ++session.n_begun;
    if (session.n_begun == most_blocks_in_flight) session.has_output = false; // it takes their place
    session.enqueued = true;
    session.next = session.scheduler->enqueued;
    session.scheduler->enqueued = &session;
    return LW_OK;
}

lw_status wait_stream(StreamSession &session) {
    if (session.enqueued && session.n_begun == 1) start_enqueued(*session.scheduler);
    if (session.n_begun > 0) {
        StreamBlock &oldest = session.blocks[session.oldest];
        wait_for(session.gpu(), *session.pool, oldest.submission);
        keep(session, oldest.status);
        session.has_output = oldest.status == LW_OK;
        session.oldest = session.wrap(session.oldest + 1);
        --session.n_begun;
    }
    const lw_status status = session.status;
    session.status = LW_OK;
    return status;
}

} // namespace longwave::runtime::vulkan
