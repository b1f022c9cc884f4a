// A device runs blocks of many streams together, so push leaves a whole block and a flush runs them
// all. The device has one list of such streams for all threads. Each stream in it carries the
// number of the thread that pushed it last, and a flush takes the streams of its own thread. So
// threads share nothing but the list, under a lock held for a few instructions.
#include "runtime/stream/flush.h"
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

} // namespace

void add_to_flush(lw_stream &stream) {
    if (!runs_together(stream) || !has_block(stream)) return;
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
    const lw_status status = lw_device_flush(const_cast<lw_device *>(stream.model->asked));
    return stream.state->life == Life::failed ? status : LW_OK; // else another stream failed
}

} // namespace longwave::runtime

using namespace longwave::runtime;

// Starts a block of every stream before it waits for the first one.
lw_status lw_device_flush(lw_device *device) {
    if (!device) return LW_OK;
    lw_status first = LW_OK;
    lw_stream *const streams = take_own(*device);
    for (bool any = true; any;) {
        any = false;
        for (lw_stream *stream = streams; stream; stream = stream->next) {
            const StreamEntry &entry = next_entry(*stream);
            stream->begun = nullptr;
            if (!has_block(*stream) || !room_for_block(*stream, entry)) continue;
            (void)begin_block(*stream, entry); // end_block reports a failure
            stream->begun = &entry;
            any = true;
        }
        for (lw_stream *stream = streams; stream; stream = stream->next) {
            if (!stream->begun) continue;
            const lw_status status = end_block(*stream, *stream->begun, Keep::all);
            if (first == LW_OK) first = status;
        }
    }
    for (lw_stream *stream = streams, *next; stream; stream = next) {
        next = stream->next;
        add_to_flush(*stream); // a block that found no room in the queue runs in a later flush
    }
    return first;
}
