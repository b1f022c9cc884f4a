// Hands each call of the core to runs (run/session.h) or to streams (stream/stream_session.h).
// Calls for a stream hold its scheduler, so that several threads may drive the streams of one
// device.
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/run/session.h"
#include "runtime/vulkan/stream/pool.h"
#include "runtime/vulkan/stream/scheduler.h"
#include "runtime/vulkan/stream/stream_session.h"

namespace longwave::runtime::vulkan {
namespace {

// The derived tables lie on the device, and the host has no address of them.
const uint8_t *derived(const DeviceModel &) { return nullptr; }

bool is_stream(const Session &session) { return header_of(session).kind == fb::EntryKind::stream; }
StreamSession &stream_of(Session &session) { return static_cast<StreamSession &>(header_of(session)); }
// A read submits commands for the session: to the device it changes the device.
StreamSession &stream_of(const Session &session) { return stream_of(const_cast<Session &>(session)); }
RunSession &run_of(Session &session) { return static_cast<RunSession &>(header_of(session)); }
const RunSession &run_of(const Session &session) {
    return static_cast<const RunSession &>(header_of(session));
}

// Streams of all blocks share the memory of their family (stream/pool.h).
uint64_t session_bytes(const ModelSource &source, const SessionKind &kind) {
    return kind.entries == fb::EntryKind::stream ? to_line(sizeof(StreamSession))
                                                 : run_session_bytes(source, kind.workers);
}

uint64_t own_bytes(const DeviceModel &on, fb::EntryKind kind) {
    const Model &model = model_of(on);
    return kind == fb::EntryKind::stream ? first_stream_bytes(model) : run_device_bytes(model.plan());
}

lw_status begin(const DeviceModel &on, const SessionKind &kind, uint8_t *memory, Session **out) {
    const Model &model = model_of(on);
    if (kind.entries == fb::EntryKind::stream) return begin_stream(model, memory, out);
    return begin_run_session(model, kind.workers, memory, out);
}

void end(Session *session) {
    if (is_stream(*session)) end_stream(stream_of(*session));
    else end_run_session(run_of(*session));
}

void clear(Session &session, const Area &area) {
    if (!is_stream(session)) return clear_input(run_of(session), area);
    const StreamHold hold(stream_of(session));
    clear_stream(stream_of(session), area);
}

void copy(Session &to, const Session &from, const Area &area) { // the core copies between streams only
    const StreamHold hold(stream_of(to), stream_of(from));
    copy_stream(stream_of(to), stream_of(from), area);
}

void write(Session &session, const Area &area, const uint8_t *from) {
    if (!is_stream(session)) return write_input(run_of(session), area, from);
    const StreamHold hold(stream_of(session));
    write_stream(stream_of(session), area, from);
}

void read(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
          uint64_t to_stride) {
    if (!is_stream(session)) return read_output(run_of(session), area, rows, stride, to, to_stride);
    const StreamHold hold(stream_of(session));
    read_stream(stream_of(session), area, rows, stride, to, to_stride);
}

uint64_t put(Session &session, const Area &area, uint64_t stride, const Samples &samples) {
    if (!is_stream(session)) return put_input(run_of(session), area, stride, samples);
    const StreamHold hold(stream_of(session));
    return put_stream(stream_of(session), area, stride, samples);
}

lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
              ThreadPool *thread_pool) {
    if (!is_stream(session)) return run_entry(run_of(session), entry, extent, thread_pool);
    const StreamHold hold(stream_of(session));
    return enqueue_stream(stream_of(session), entry, block);
}

lw_status rebuild(Session &session, uint32_t entry, uint32_t step, uint64_t firing) {
    const StreamHold hold(stream_of(session));
    return rebuild_stream(stream_of(session), entry, step, firing);
}

lw_status wait(Session &session) {
    const StreamHold hold(stream_of(session));
    return wait_stream(stream_of(session));
}

void start(Session &session) {
    const StreamHold hold(stream_of(session));
    if (stream_of(session).enqueued) start_enqueued(*stream_of(session).scheduler);
}

} // namespace

const Device calls = {fb::DeviceKind::gpu,
                      model_needs,
                      open_model,
                      close_model,
                      derived,
                      session_bytes,
                      begin,
                      end,
                      clear,
                      copy,
                      write,
                      read,
                      put,
                      run,
                      rebuild,
                      wait,
                      own_bytes,
                      start};

} // namespace longwave::runtime::vulkan
