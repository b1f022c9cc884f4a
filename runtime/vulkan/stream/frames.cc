// Which frame a submission takes, and waiting for it.
#include "runtime/vulkan/device/failure.h"
#include "runtime/vulkan/stream/pool.h"

namespace longwave::runtime::vulkan {

Frame &Pool::next_frame() {
    Frame *oldest = frames;
    for (Frame &frame : frames) {
        if (frame.waited) return frame;
        if (frame.submission < oldest->submission) oldest = &frame;
    }
    return *oldest;
}

void wait_for(const Gpu &gpu, Pool &pool, uint64_t submission) {
    Frame *frame = nullptr;
    for (Frame &any : pool.frames)
        if (!any.waited && any.submission == submission) frame = &any;
    if (!frame) return;
    frame->waited = true;
    const lw_status status = frame->commands.wait(gpu);
    if (status == LW_OK) return;
    for (uint32_t place = 0; place < pool.capacity; ++place) {
        if (!pool.sessions[place]) continue;
        for (StreamBlock &block : pool.sessions[place]->blocks)
            if (block.submission == submission) block.status = status;
    }
}

lw_status check_idle(const Gpu &gpu, Commands &commands) {
    if (!gpu.leaked && commands.idle(gpu)) return LW_OK;
    return fail(LW_TIMEOUT, "the GPU still works on what it did not finish in time");
}

lw_status begin_commands(const Gpu &gpu, Commands &commands) {
    if (lw_status status = check_idle(gpu, commands)) return status;
    if (lw_status status = commands.begin(gpu, true)) return status;
    barrier(gpu, commands.buffer);
    return LW_OK;
}

} // namespace longwave::runtime::vulkan
