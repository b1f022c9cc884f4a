// The layout and the calls that all streams of a model share. Immutable once the model is open.
//
// The memory of a stream has parts: each field of the state, the cache of each entry, the arena. In
// a pool of `capacity` streams, part p of stream s begins at byte p.before * capacity + s *
// p.bytes. So the same part of all streams is contiguous and one descriptor reaches them all. The
// device's limit on a descriptor then applies to a part, not to a stream. A kernel finds its
// stream's part in the table of streams (formats/artifact/modules.fbs).
#pragma once
#include "runtime/vulkan/device/pipelines.h"

namespace longwave::runtime::vulkan {

// Command buffers of an entry: one for each pattern of steps that fire in a block, at most 16. With
// more patterns, those that are equal modulo 16 share a command buffer, which is then recorded
// again.
inline uint32_t recordings(const fb::Entry &entry) { return entry.period() < 16 ? entry.period() : 16; }

struct Part {
    fb::Space space = fb::Space::state;
    uint32_t entry = 0;             // of a cache
    uint64_t offset = 0, bytes = 0; // in its space; multiples of 64
    uint64_t before = 0;            // bytes of one stream in the parts before this one
};

// A kernel call of a stream entry, or of its rebuild steps. Or a chain: several of them in one
// dispatch.
struct StreamCall {
    uint32_t entry = 0;
    const fb::Step *step = nullptr; // of a chain its first
    const Pipeline *pipeline = nullptr;
    uint32_t scalars = 0;
    const fb::Chain *chain = nullptr;
    uint32_t chained = 0;  // the chain that begins with this step, in StreamFamily::calls; 0: none does
    bool in_chain = false; // a chain computes it, and it has no dispatch of its own

    uint32_t row_words() const; // of its table, per stream; 0: it has none
};

// The rows of one port of all streams, between the pool's staging memory and the part they belong
// to (transfer.comp).
struct StreamTransfer {
    const Part *part = nullptr;
};

struct StreamFamily {
    Part *parts = nullptr;
    StreamCall *calls = nullptr;         // of each entry: its steps, then its rebuild steps; chains
    StreamTransfer *transfers = nullptr; // the input's, then the outputs' of each entry
    uint32_t *first_call = nullptr;      // of each entry
    uint32_t *first_output = nullptr;    // of each entry, in `transfers`
    uint32_t *first_recording = nullptr; // of each entry, which has recordings(entry) of them
    const Pipeline *transfer = nullptr;  // the kernel of all transfers
    uint32_t n_parts = 0, n_calls = 0, n_transfers = 0, n_recordings = 0;
    uint64_t stream_bytes = 0;            // all parts of one stream
    uint64_t in_bytes = 0, out_bytes = 0; // the most that one block takes and brings
    uint64_t staging_bytes() const { return most_blocks_in_flight * (in_bytes + out_bytes); } // of a stream
    uint64_t most = 0; // streams of one pool, by the device's limits; 0: not even one

    // Call it first with measuring parts, then with real ones.
    void lay_out(const fb::Plan &plan, Parts &parts);
    void bind(const Gpu &gpu, const fb::Plan &plan, const Pipelines &pipelines);
    const Part *part_of(fb::Space space, uint32_t entry, uint64_t offset) const;

private:
    void bind_transfers(const fb::Plan &plan);
    void bind_chains(const fb::Plan &plan, const Pipelines &pipelines);
};

// One stream's row in the table of a transfer, in 32-bit words from where its two buffers begin.
inline constexpr uint32_t transfer_threads = 64; // per workgroup
struct TransferRow {
    uint32_t from, to, words, unused;
};

} // namespace longwave::runtime::vulkan
