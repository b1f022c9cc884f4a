#include "runtime/vulkan/stream/scheduler.h"
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/stream/blocks.h"
#include "runtime/vulkan/stream/pool.h"
#include "runtime/vulkan/stream/stream_session.h"
#include <new>

namespace longwave::runtime::vulkan {
namespace {

// The calling thread's scheduler, made when there is none, with one stream more. Null: no memory.
StreamScheduler *join(const Model &model) {
    const pthread_t self = pthread_self();
    const platform::Hold list(model.schedulers->lock);
    StreamScheduler *scheduler = model.schedulers->first;
    while (scheduler && !pthread_equal(scheduler->thread, self)) scheduler = scheduler->next;
    if (!scheduler) {
        Block block;
        if (!block.allocate(*model.source.allocator, sizeof(StreamScheduler))) return nullptr;
        scheduler = new (block.data) StreamScheduler;
        scheduler->memory = block;
        scheduler->thread = self;
        scheduler->next = model.schedulers->first;
        model.schedulers->first = scheduler;
    }
    ++scheduler->streams;
    return scheduler;
}

// One stream less; the last one takes the scheduler with it.
void leave(const Model &model, StreamScheduler &scheduler) {
    const platform::Hold list(model.schedulers->lock);
    if (--scheduler.streams > 0) return;
    StreamScheduler **link = &model.schedulers->first;
    while (*link != &scheduler) link = &(*link)->next;
    *link = scheduler.next;
    Block block = scheduler.memory;
    scheduler.~StreamScheduler();
    block.release(*model.source.allocator);
}

} // namespace

lw_status begin_stream(const Model &model, uint8_t *memory, Session **out) {
    StreamScheduler *scheduler = join(model);
    if (!scheduler)
        return fail(LW_NO_MEMORY, "no memory for a scheduler of streams: %zu bytes", sizeof(StreamScheduler));
    StreamSession *session = new (memory) StreamSession;
    session->model = &model;
    session->scheduler = scheduler;
    lw_status status = LW_OK;
    {
        const StreamHold hold(*session);
        status = take_place(*session);
    }
    if (status == LW_OK) *out = handle_of(*session);
    else leave(model, *scheduler);
    return status;
}

void end_stream(StreamSession &session) {
    const Model &model = *session.model;
    StreamScheduler &scheduler = *session.scheduler;
    {
        const StreamHold hold(session);
        while (session.n_begun > 0) (void)wait_stream(session);
        give_place(session);
    }
    leave(model, scheduler);
}

StreamHold::StreamHold(const StreamSession &a, const StreamSession &b)
    : first_(a.scheduler), second_(b.scheduler) {
    if (first_ > second_) {
        StreamScheduler *other = first_;
        first_ = second_;
        second_ = other;
    }
    first_->lock.take();
    if (second_ != first_) second_->lock.take();
}

StreamHold::~StreamHold() {
    if (second_ != first_) second_->lock.give();
    first_->lock.give();
}

} // namespace longwave::runtime::vulkan
