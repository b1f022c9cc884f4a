// A device runs blocks of many streams together, so push leaves a whole block. A submission begins
// them all and returns while the device works; a flush also waits for them. The device has one list
// of streams with such blocks for all threads. Each stream in it carries the number of the thread
// that pushed it last, and both take the streams of their own thread. So threads share nothing but
// the list, under a lock held for a few instructions.
#include "runtime/stream/flush.h"
#include "longwave/vulkan.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"

namespace longwave::runtime {
namespace {

// The number of the calling thread, from 1; no other thread of the process ever has it.
uint64_t this_thread() {
    static std::atomic<uint64_t> threads{0};
    thread_local uint64_t number = 0;
    if (number == 0) number = threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return number;
}

class ListLock {
public:
    explicit ListLock(const lw_device &device) : locked_(device.unflushed_locked) {
        while (locked_.exchange(true, std::memory_order_acquire)) {
        }
    }
    ~ListLock() { locked_.store(false, std::memory_order_release); }
    ListLock(const ListLock &) = delete;
    ListLock &operator=(const ListLock &) = delete;

private:
    std::atomic<bool> &locked_;
};

bool has_block(const lw_stream &stream) {
    return stream.state->life == Life::open && stream.state->pending >= next_entry(stream).block;
}

void remove(lw_stream &stream) {
    *stream.link = stream.next;
    if (stream.next) stream.next->link = stream.link;
    stream.flushed_by = 0;
}

// Takes the calling thread's streams out of the list.
lw_stream *take_own(const lw_device &device) {
    const uint64_t self = this_thread();
    const ListLock lock(device);
    lw_stream *taken = nullptr;
    for (lw_stream *stream = device.unflushed, *next; stream; stream = next) {
        next = stream->next;
        if (stream->flushed_by != self) continue;
        remove(*stream);
        stream->next = taken;
        taken = stream;
    }
    return taken;
}

void put_back(lw_stream *streams) {
    for (lw_stream *stream = streams, *next; stream; stream = next) {
        next = stream->next;
        add_to_flush(*stream);
    }
}

// Begins the next block of each stream that has one, and room for its rows. Returns whether any
// began.
bool begin_blocks(lw_stream *streams, bool later, lw_status &first) {
    bool any = false;
    for (lw_stream *stream = streams; stream; stream = stream->next) {
        if (!has_block(*stream) || !room_for_block(*stream, next_entry(*stream))) continue;
        lw_status status = LW_OK;
        if (stream->n_begun == most_begun(*stream)) status = end_block(*stream, Keep::all);
        if (status == LW_OK) status = begin_block(*stream, next_entry(*stream));
        keep_first(first, status);
        stream->newest_later = later && stream->n_begun > 0;
        any = true;
    }
    for (lw_stream *stream = streams; stream; stream = stream->next)
        if (stream->n_begun > 0 && stream->device().start) stream->device().start(*stream->session);
    return any;
}

// Whether the newest block may be in flight when the next begins.
bool may_stay(const lw_stream &stream) {
    return stream.device().start && stream.begun[stream.n_begun - 1].entry == stream.own;
}

// Begins blocks of the calling thread's streams. `later`: pull leaves them in flight.
lw_status submit(const lw_device &device, bool later) {
    lw_status first = LW_OK;
    lw_stream *const streams = take_own(device);
    for (lw_stream *stream = streams; stream; stream = stream->next) stream->newest_later = false;
    (void)begin_blocks(streams, later, first);
    for (lw_stream *stream = streams; stream; stream = stream->next)
        if (stream->n_begun > 0 && !may_stay(*stream)) keep_first(first, end_blocks(*stream));
    put_back(streams);
    return first;
}

} // namespace

void add_to_flush(lw_stream &stream) {
    if (!runs_together(stream) || (!has_block(stream) && stream.n_begun == 0)) return;
    const lw_device &device = *stream.model->asked;
    const uint64_t self = this_thread();
    const ListLock lock(device);
    if (stream.flushed_by == 0) {
        stream.next = device.unflushed;
        stream.link = &device.unflushed;
        if (stream.next) stream.next->link = &stream.next;
        device.unflushed = &stream;
    }
    stream.flushed_by = self;
}

void remove_from_flush(lw_stream &stream) {
    if (!runs_together(stream)) return;
    const lw_device &device = *stream.model->asked;
    const ListLock lock(device);
    if (stream.flushed_by != 0) remove(stream);
}

lw_status run_next(lw_stream &stream, const StreamEntry &entry) {
    if (!runs_together(stream)) return run_block(stream, entry, Keep::all);
    add_to_flush(stream);
    const lw_status status = submit(*stream.model->asked, false);
    return stream.state->life == Life::failed ? status : LW_OK; // else another stream failed
}

} // namespace longwave::runtime

using namespace longwave::runtime;

lw_status lw_device_submit(lw_device *device) { return device ? submit(*device, true) : LW_OK; }

lw_status lw_device_flush(lw_device *device) {
    if (!device) return LW_OK;
    lw_status first = LW_OK;
    lw_stream *const streams = take_own(*device);
    for (bool any = true; any;) {
        any = begin_blocks(streams, false, first);
        for (lw_stream *stream = streams; stream; stream = stream->next)
            keep_first(first, end_blocks(*stream));
    }
    put_back(streams); // a block that found no room in the queue runs in a later flush
    return first;
}
