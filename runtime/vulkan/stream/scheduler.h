// Schedulers: the streams of a model, one scheduler for each thread that creates some.
//
// A scheduler owns the pools of its streams and the list of blocks that wait to run. Streams of one
// scheduler run together in one submission. Streams of two schedulers share nothing that changes,
// so two threads run their streams side by side. A stream may go to another thread: it stays in its
// scheduler, whose lock orders the two threads.
//
// Nobody holds the lock of the list and that of a scheduler at once. A copy between streams of two
// schedulers holds both of theirs, taken in the order of their addresses (StreamHold).
#pragma once
#include "runtime/platform/lock.h"
#include "runtime/vulkan/model/model.h"

namespace longwave::runtime::vulkan {

struct Pool;
struct StreamSession;

struct StreamScheduler {
    Block memory; // holds the scheduler itself
    StreamScheduler *next = nullptr;
    pthread_t thread{};    // that creates streams here; a later thread with the same id takes it over
    uint32_t streams = 0;  // under the lock of the list, as `next` and `thread`
    platform::Lock lock;   // for the lists below and the sessions of its streams
    Pool *pools = nullptr; // a list: those with room for a stream
    Pool *full = nullptr;  // a list: the others
    StreamSession *enqueued = nullptr; // a list: streams with a block that waits to run
};

struct StreamSchedulers {
    platform::Lock lock; // for the list, never held while the device works
    StreamScheduler *first = nullptr;
};

// Makes a session in the calling thread's scheduler. LW_NO_MEMORY, LW_UNSUPPORTED or a failure of
// the device: nothing is left behind.
lw_status begin_stream(const Model &model, uint8_t *memory, Session **out);
// Runs the stream's blocks, if any, and gives its memory back; with the last stream its
// scheduler's.
void end_stream(StreamSession &session);

// Holds the scheduler of one stream, or those of two, until the end of the scope. Every function of
// stream_session.h runs under it.
class StreamHold {
public:
    explicit StreamHold(const StreamSession &session) : StreamHold(session, session) {}
    StreamHold(const StreamSession &a, const StreamSession &b);
    ~StreamHold();
    StreamHold(const StreamHold &) = delete;
    StreamHold &operator=(const StreamHold &) = delete;

private:
    StreamScheduler *first_, *second_;
};

// Blocks of many streams in one submission. The scheduler is held during every function here.

// Hands all enqueued blocks of the scheduler over. StreamBlock says what became of each.
void start_enqueued(StreamScheduler &scheduler);
// One firing of a rebuild step; waits for it.
lw_status rebuild_stream(StreamSession &session, uint32_t entry, uint32_t step, uint64_t firing);

} // namespace longwave::runtime::vulkan
