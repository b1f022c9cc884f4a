#include "runtime/watch/watched_cpu.h"
#include "runtime/core/device.h"
#include "runtime/core/memory.h"
#include "runtime/platform/clock.h"
#include <new>

namespace longwave::runtime {
namespace {

struct WatchedDevice : lw_device {
    Told told;
    Prepared prepared;
    void *context;
};

// The CPU's model, and what it was opened from: sessions ask it for their entries.
struct WatchedModel {
    ModelSource source;
    DeviceModel *model;
    const WatchedDevice *device;
};

// Before the CPU's session, in the same memory.
struct WatchedSession {
    const WatchedModel *model;
    Session *session;
};

// The CPU does not know that there is a device before it.
ModelSource own(const ModelSource &source) {
    ModelSource result = source;
    result.device = nullptr;
    return result;
}
const WatchedModel &of(const DeviceModel &model) { return reinterpret_cast<const WatchedModel &>(model); }
const WatchedSession &of(const Session &session) { return reinterpret_cast<const WatchedSession &>(session); }
const Device &cpu_of(const Session &session) { return *of(session).model->source.cpu; }

using platform::clock_ns;

// ---- models
ModelNeeds needs(const ModelSource &source) {
    ModelNeeds needs = source.cpu->needs(own(source));
    needs.kept += to_line(sizeof(WatchedModel));
    return needs;
}

lw_status open(const ModelSource &source, DeviceModel **out) {
    void *memory = source.allocator->allocate(source.allocator->context, sizeof(WatchedModel), line);
    if (!memory) {
        lw_set_last_error("no memory for a watched model");
        return LW_NO_MEMORY;
    }
    auto *made =
        new (memory) WatchedModel{own(source), nullptr, static_cast<const WatchedDevice *>(source.device)};
    const lw_status status = source.cpu->open(made->source, &made->model);
    if (status != LW_OK) {
        source.allocator->release(source.allocator->context, memory, sizeof(WatchedModel));
        return status;
    }
    if (made->device->prepared)
        made->device->prepared(made->device->context, source.cpu->derived(*made->model),
                               source.view->plan().derived_bytes());
    *out = reinterpret_cast<DeviceModel *>(made);
    return LW_OK;
}

void close(DeviceModel *model) {
    auto *made = reinterpret_cast<WatchedModel *>(model);
    const lw_allocator allocator = *made->source.allocator;
    made->source.cpu->close(made->model);
    allocator.release(allocator.context, made, sizeof *made);
}

const uint8_t *derived(const DeviceModel &model) { return of(model).source.cpu->derived(*of(model).model); }

// ---- sessions
uint64_t session_bytes(const ModelSource &source, const SessionKind &kind) {
    return to_line(sizeof(WatchedSession)) + source.cpu->session_bytes(own(source), kind);
}

lw_status begin(const DeviceModel &model, const SessionKind &kind, uint8_t *memory, Session **out) {
    auto *made = new (memory) WatchedSession{&of(model), nullptr};
    *out = reinterpret_cast<Session *>(made);
    return of(model).source.cpu->begin(*of(model).model, kind, memory + to_line(sizeof(WatchedSession)),
                                       &made->session);
}

void end(Session *session) { cpu_of(*session).end(of(*session).session); }

void clear(Session &session, const Area &area) { cpu_of(session).clear(*of(session).session, area); }
void copy(Session &to, const Session &from, const Area &area) {
    cpu_of(to).copy(*of(to).session, *of(from).session, area);
}
void write(Session &session, const Area &area, const uint8_t *from) {
    cpu_of(session).write(*of(session).session, area, from);
}
void read(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
          uint64_t to_stride) {
    cpu_of(session).read(*of(session).session, area, rows, stride, to, to_stride);
}
uint64_t put(Session &session, const Area &area, uint64_t stride, const Samples &samples) {
    return cpu_of(session).put(*of(session).session, area, stride, samples);
}

// ---- work: one step after another
lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent, ThreadPool *pool) {
    const WatchedSession &watched = of(session);
    const WatchedDevice &device = *watched.model->device;
    const fb::Entry &planned = *watched.model->source.view->plan().entries()->Get(entry);
    if (!device.told) return cpu_of(session).run(*watched.session, entry, block, extent, pool);
    const uint32_t steps = planned.steps()->size(), last = extent.last < steps ? extent.last : steps;
    StepRun whole{entry, all_steps, block, clock_ns(), 0};
    for (uint32_t i = extent.first; i < last; ++i) {
        const fb::Step &step = *planned.steps()->Get(i);
        if (block % step.period() != step.phase()) continue;
        Extent one = extent;
        one.first = i;
        one.last = i + 1;
        StepRun run{entry, i, block, clock_ns(), 0};
        const lw_status status = cpu_of(session).run(*watched.session, entry, block, one, pool);
        if (status != LW_OK) return status;
        run.end_ns = clock_ns();
        device.told(device.context, run);
    }
    whole.end_ns = clock_ns();
    device.told(device.context, whole);
    return LW_OK;
}

lw_status rebuild(Session &session, uint32_t entry, uint32_t step, uint64_t firing) {
    return cpu_of(session).rebuild(*of(session).session, entry, step, firing);
}
lw_status wait(Session &session) { return cpu_of(session).wait(*of(session).session); }

const Device calls = {fb::DeviceKind::cpu,
                      needs,
                      open,
                      close,
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
                      wait};

} // namespace

lw_device *watched_cpu_create(Told told, void *context, Prepared prepared) {
    auto *made = new (std::nothrow) WatchedDevice;
    if (!made) return nullptr;
    made->version = lw_device::interface_version;
    made->calls = &calls;
    made->told = told;
    made->prepared = prepared;
    made->context = context;
    return made;
}

void watched_cpu_destroy(lw_device *device) { delete static_cast<WatchedDevice *>(device); }

} // namespace longwave::runtime
