// Blocks of many streams in one submission. The scheduler is held during every function here.
#pragma once
#include "runtime/vulkan/stream/stream_session.h"

namespace longwave::runtime::vulkan {

// Hands all enqueued blocks of the scheduler over. StreamBlock says what became of each.
void start_enqueued(StreamScheduler &scheduler);
// One firing of a rebuild step; waits for it.
lw_status rebuild_stream(StreamSession &session, uint32_t entry, uint32_t step, uint64_t firing);

} // namespace longwave::runtime::vulkan
