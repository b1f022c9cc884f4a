// A GPU as a device: the seam of runtime/core/device.h, for runs (session.h) and streams (streams.h).
#include "runtime/vulkan/run/model.h"
#include "runtime/vulkan/run/session.h"
#include "runtime/vulkan/stream/streams.h"
#include <stddef.h>

namespace longwave::runtime::vulkan {
namespace {

const uint8_t *derived(const DeviceModel &) { return nullptr; } // it lies on the device

// Which of the two a session is stands at its beginning. Null: a run's.
StreamSession *stream_of(const Session &session) {
    const auto *stream = reinterpret_cast<const StreamSession *>(&session);
    return stream->stream ? const_cast<StreamSession *>(stream) : nullptr;
}
static_assert(offsetof(StreamSession, stream) == 0 && offsetof(RunSession, stream) == 0);

void end_any(Session *session) {
    if (StreamSession *stream = stream_of(*session)) end_stream(*stream);
    else end_session(session);
}

void clear_any(Session &session, const Area &area) {
    if (StreamSession *stream = stream_of(session)) clear_stream(*stream, area);
    else clear(session, area);
}

void copy(Session &to, const Session &from, const Area &area) { // only streams do
    copy_stream(*stream_of(to), *stream_of(from), area);
}

void write_any(Session &session, const Area &area, const uint8_t *from) {
    if (StreamSession *stream = stream_of(session)) write_stream(*stream, area, from);
    else write(session, area, from);
}

void read_any(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
              uint64_t to_stride) {
    if (StreamSession *stream = stream_of(session)) read_stream(*stream, area, rows, stride, to, to_stride);
    else read(session, area, rows, stride, to, to_stride);
}

uint64_t put_any(Session &session, const Area &area, uint64_t stride, const Samples &samples) {
    if (StreamSession *stream = stream_of(session)) return put_stream(*stream, area, stride, samples);
    return put(session, area, stride, samples);
}

lw_status run_any(Session &session, uint32_t entry, uint64_t block, const Extent &extent, ThreadPool *thread_pool) {
    if (StreamSession *stream = stream_of(session)) return run_stream(*stream, entry, block);
    return run(session, entry, block, extent, thread_pool);
}

lw_status rebuild(Session &session, uint32_t entry, uint32_t step, uint64_t firing) {
    return rebuild_stream(*stream_of(session), entry, step, firing);
}

lw_status settle(Session &session) { return settle_stream(*stream_of(session)); }

} // namespace

const Device calls = {
    fb::DeviceKind::gpu, model_needs, open_model, close_model, derived, session_bytes, begin_session, end_any,
    clear_any,           copy,        write_any,  read_any,    put_any, run_any,       rebuild,       settle};

} // namespace longwave::runtime::vulkan
