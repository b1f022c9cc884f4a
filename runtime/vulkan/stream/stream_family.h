// What the streams of a model on a GPU have in common.
//
// What a stream has of its own is cut into parts: each field of the state, the cache of each entry, the arena. In a
// pool of `capacity` streams part p of stream s lies at p.before · capacity + s · p.bytes: the same part of all
// streams side by side, so that a descriptor over it reaches every one, and the limit of a descriptor's range is one
// of a part, not of a whole stream. Kernels find theirs by the table of streams (formats/artifact/modules.fbs).
#pragma once
#include "runtime/vulkan/device/pipelines.h"

namespace longwave::runtime::vulkan {

struct Pool;          // streams.h
struct StreamSession; // streams.h

// Command buffers of an entry: one for each of the patterns of steps that fire in a block, up to so many; beyond them
// several patterns take turns in one.
inline uint32_t recordings(const fb::Entry &entry) { return entry.period() < 16 ? entry.period() : 16; }

struct Part {
    fb::Space space = fb::Space::state;
    uint32_t entry = 0;             // of a cache
    uint64_t offset = 0, bytes = 0; // in its space; whole multiples of 64
    uint64_t before = 0;            // bytes of a stream in parts before it
};

// A call of a stream entry, or of its rebuild.
struct StreamCall {
    uint32_t entry = 0;
    const fb::Step *step = nullptr;
    const Pipeline *pipeline = nullptr;
    uint32_t scalars = 0;
    uint32_t row_words() const { return pipeline->buffers - 1 + scalars; } // of its table
};

// Rows that all streams bring or take, between the part and where the host put or finds them (move.comp).
struct StreamMove {
    const Part *part = nullptr;
};

// Of one model.
struct StreamFamily {
    Part *parts = nullptr;
    StreamCall *calls = nullptr;         // of each entry: its steps, then its rebuild steps
    StreamMove *moves = nullptr;         // the input's, then for each entry those of its outputs
    uint32_t *first_call = nullptr;      // of each entry
    uint32_t *first_output = nullptr;    // likewise, among the moves
    uint32_t *first_recording = nullptr; // likewise: an entry has recordings(entry) of them
    const Pipeline *move = nullptr;
    uint32_t n_parts = 0, n_calls = 0, n_moves = 0, n_recordings = 0;
    uint64_t stream_bytes = 0;            // of all parts of a stream
    uint64_t in_bytes = 0, out_bytes = 0; // that one block at most takes and brings
    uint64_t most = 0;                    // streams of a pool, by the device's limits
    Pool *pools = nullptr;                // a list
    StreamSession *waiting = nullptr;     // whose blocks were put down: a list

    // Measuring and real parts, as everywhere.
    void lay_out(const fb::Plan &plan, Parts &parts);
    void bind(const Gpu &gpu, const fb::Plan &plan, const Pipelines &pipelines);
    uint32_t dispatches() const { return n_calls + n_moves; } // numbered: the calls, then the moves
    const Pipeline &pipeline(uint32_t dispatch) const {
        return dispatch < n_calls ? *calls[dispatch].pipeline : *move;
    }
    const Part *part_of(fb::Space space, uint32_t entry, uint64_t offset) const;

private:
    void bind_moves(const fb::Plan &plan);
};

// What kernels read: a row of a move's table, in words from where its buffers begin; and workgroups of a dispatch.
inline constexpr uint32_t move_threads = 64; // of a workgroup
struct MoveRow {
    uint32_t from, to, words, unused;
};
struct Groups {
    VkDispatchIndirectCommand counts;
    uint32_t unused;
};

} // namespace longwave::runtime::vulkan
