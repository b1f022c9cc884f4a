// A batch (longwave/batch.h): blocks of several streams in one run of the device.
#pragma once
#include "longwave/batch.h"
#include "runtime/stream/memory.h"

struct lw_batch {
    const lw_model *model;
    uint64_t bytes;
    uint32_t most;                           // streams that run together
    longwave::runtime::Batch *joined;        // null where `most` is 1
    longwave::runtime::BatchMember *members; // [most]
    lw_stream **group;                       // [most]
};

namespace longwave::runtime {

// Streams of a call, wherever the caller has them.
struct StreamList {
    const void *list;
    size_t n;
    lw_stream *(*stream)(const void *list, size_t i);
    lw_stream *at(size_t i) const { return stream(list, i); }
};

// Marks the streams as held: push leaves a full block pending, which run_pending then runs.
// LW_INVALID_ARGUMENT, and none is held: a stream is NULL, of another model, or occurs twice.
lw_status hold_streams(const lw_batch &batch, const StreamList &streams);
void release_streams(const StreamList &streams);

// Runs one block of each held stream that has one and room for its rows, those of one entry
// together. The first failure; the streams of others went on. *ran: whether any had one.
lw_status run_pending(lw_batch &batch, const StreamList &streams, bool *ran);

} // namespace longwave::runtime
