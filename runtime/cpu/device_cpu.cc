#include "runtime/cpu/device_cpu.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/entries.h"
#include "runtime/core/memory.h"
#include "runtime/core/samples.h"
#include "runtime/core/status.h"
#include "runtime/core/thread_pool.h"
#include "runtime/cpu/batch.h"
#include "runtime/cpu/session.h"
#include "runtime/platform/kernels.h"
#include <algorithm>
#include <cstring>
#include <new>

namespace longwave::runtime {

namespace {

using artifact::count;

// ---- layouts: each function is called once with measuring parts and once with real ones ----

void lay_out_model(const ModelSource &source, Parts &parts, DeviceModel *model) {
    const fb::Plan &plan = source.view->plan();
    const auto &kernels = *plan.kernels();
    uint64_t dims = 0;
    for (const fb::Kernel *kernel : kernels)
        for (const fb::KernelArg *arg : *kernel->args()) dims += count(arg->dims());
    Kernel *kernel_table = parts.take<Kernel>(kernels.size());
    Dimension *next = parts.take<Dimension>(dims);
    const uint32_t entries = plan.entries()->size();
    Program *steps = parts.take<Program>(entries), *rebuild = parts.take<Program>(entries);
    for (uint32_t k = 0; kernel_table && k < kernels.size(); ++k) {
        new (kernel_table + k) Kernel{source.functions[k], kernels.Get(k), next};
        for (const fb::KernelArg *arg : *kernels.Get(k)->args())
            for (uint32_t d = 0; d < count(arg->dims()); ++d) {
                const fb::Dim &dim = *arg->dims()->Get(d);
                *next++ = {0, static_cast<int32_t>(dim.extent()), dim.stride(), 0};
            }
    }
    for (uint32_t e = 0; e < entries; ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        const bool here = ours(source, entry, entry.kind());
        Program measuring;
        (steps ? new (steps + e) Program{} : &measuring)
            ->build(here ? entry.steps() : nullptr, kernel_table, parts);
        (rebuild ? new (rebuild + e) Program{} : &measuring)
            ->build(here ? entry.rebuild() : nullptr, kernel_table, parts);
    }
    if (!model) return;
    model->kernels = kernel_table;
    model->steps = steps;
    model->rebuild = rebuild;
}

uint64_t model_bytes(const ModelSource &source) {
    Parts measure(nullptr);
    measure.take<DeviceModel>(1);
    lay_out_model(source, measure, nullptr);
    return measure.used();
}

// Whether sessions of the kind run the entry.
bool runs(const ModelSource &source, const fb::Entry &entry, const SessionKind &kind) {
    return ours(source, entry, kind.entries) && entry.block() <= kind.most_block;
}

// What a session of one kind needs at most of what its entries share.
struct Shared {
    uint64_t arena = 0, scratch = 0;

    Shared(const ModelSource &source, const SessionKind &kind) {
        for (const fb::Entry *entry : *source.view->plan().entries()) {
            if (!runs(source, *entry, kind)) continue;
            arena = std::max(arena, entry->arena_bytes());
            scratch = std::max({scratch, scratch_needed(entry->steps(), source.variant),
                                scratch_needed(entry->rebuild(), source.variant)});
        }
    }
};

void place_memory(const ModelSource &source, const SessionKind &kind, Parts &parts, Session *session) {
    const fb::Plan &plan = source.view->plan();
    const Shared shared(source, kind);
    const uint32_t entries = plan.entries()->size();
    const bool stream = kind.entries == fb::EntryKind::stream;
    session->caches = parts.take<uint8_t *>(entries);
    session->workers = parts.take<Worker>(kind.workers);
    session->rebuild = parts.take<Frame>(entries);
    session->state = parts.take<uint8_t>(stream ? plan.state_bytes() : 0);
    for (uint32_t e = 0; e < entries; ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        uint8_t *cache = parts.take<uint8_t>(runs(source, entry, kind) ? entry.cache_bytes() : 0);
        if (session->caches) session->caches[e] = cache;
    }
    session->arena = session->newest = parts.take<uint8_t>(shared.arena);
    for (uint32_t w = 0; w < kind.workers; ++w) {
        char *scratch = parts.take<char>(shared.scratch);
        Frame *frames = parts.take<Frame>(entries);
        if (session->workers) new (session->workers + w) Worker{{scratch, shared.scratch, 0}, frames};
    }
}

// With `model` null it only measures.
uint64_t lay_out_session(const ModelSource &source, const SessionKind &kind, const DeviceModel *model,
                         uint8_t *memory, Session **out) {
    Parts parts(memory);
    Session measuring, *const made = parts.take<Session>(1);
    Session *const session = made ? new (made) Session{} : &measuring;
    session->model = model;
    place_memory(source, kind, parts, session);
    const Kernel *kernels = model ? model->kernels : nullptr;
    const auto &entries = *source.view->plan().entries();
    for (uint32_t e = 0; e < entries.size(); ++e) {
        const fb::Entry &entry = *entries.Get(e);
        if (!runs(source, entry, kind)) continue;
        const Spaces spaces = model ? spaces_of(*session, e, session->arena) : Spaces{};
        Frame frame;
        for (uint32_t w = 0; w < kind.workers; ++w) {
            Worker *worker = session->workers ? session->workers + w : nullptr;
            (worker ? new (worker->frames + e) Frame{} : &frame)
                ->build(entry.steps(), kernels, spaces, worker ? &worker->scratch : nullptr, parts);
        }
        (session->rebuild ? new (session->rebuild + e) Frame{} : &frame)
            ->build(entry.rebuild(), kernels, spaces, session->workers ? &session->workers->scratch : nullptr,
                    parts);
    }
    if (out) *out = made;
    return parts.used();
}

// ---- models ----

uint64_t session_bytes(const ModelSource &source, const SessionKind &kind) {
    return lay_out_session(source, kind, nullptr, nullptr, nullptr);
}

ModelNeeds needs(const ModelSource &source) {
    const bool prepares = source.view->prepare() != nullptr;
    return {model_bytes(source) + to_line(source.view->plan().derived_bytes()),
            prepares ? session_bytes(source, {fb::EntryKind::prepare}) : 0};
}

lw_status begin(const DeviceModel &model, const SessionKind &kind, uint8_t *memory, Session **out) {
    Session *session = nullptr;
    lay_out_session(model.source, kind, &model, memory, &session);
    *out = session;
    return LW_OK;
}

void end(Session *) {} // its memory is the caller's

lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
              ThreadPool *thread_pool);

// Runs the prepare entry into the derived space; its arena and frame live no longer than this.
lw_status prepare(const DeviceModel &model) {
    const auto &entries = *model.plan().entries();
    uint32_t index = 0;
    while (index < entries.size() && entries.Get(index)->kind() != fb::EntryKind::prepare) ++index;
    if (index == entries.size()) return LW_OK;
    const uint64_t bytes = session_bytes(model.source, {fb::EntryKind::prepare});
    Block block;
    if (!block.allocate(*model.source.allocator, bytes)) return no_memory("preparing the model", bytes);
    Session *session = nullptr;
    lw_status status = begin(model, {fb::EntryKind::prepare}, block.data, &session);
    if (status == LW_OK) {
        status = run(*session, index, 0, Extent{}, nullptr);
        end(session);
    }
    block.release(*model.source.allocator);
    return status;
}

void close(DeviceModel *model) {
    const lw_allocator allocator = *model->source.allocator;
    model->derived.release(allocator);
    Block tables = model->tables; // holds the model itself
    tables.release(allocator);
}

lw_status open(const ModelSource &source, DeviceModel **out) {
    const fb::Plan &plan = source.view->plan();
    Block tables;
    if (!tables.allocate(*source.allocator, model_bytes(source)))
        return no_memory("programs", model_bytes(source));
    Parts parts(tables.data);
    DeviceModel *model = new (parts.take<DeviceModel>(1)) DeviceModel{};
    model->source = source;
    model->tables = tables;
    lay_out_model(source, parts, model);
    lw_status status = LW_OK;
    if (plan.derived_bytes() == 0) {
        status = prepare(*model);
    } else if (model->derived.allocate(*source.allocator, plan.derived_bytes())) {
        memset(model->derived.data, 0, model->derived.size);
        status = prepare(*model);
    } else {
        status = no_memory("derived tables", plan.derived_bytes());
    }
    if (status == LW_OK) *out = model;
    else close(model);
    return status;
}

// ---- memory of a session ----

uint8_t *at(const Session &session, const Area &area) {
    switch (area.space) {
    case fb::Space::state: return session.state + area.offset;
    case fb::Space::arena: return session.newest + area.offset;
    case fb::Space::cache: return session.caches[area.entry] + area.offset;
    case fb::Space::weights:
    case fb::Space::derived: break;
    }
    return nullptr; // the core reads and writes neither
}

void clear(Session &session, const Area &area) { memset(at(session, area), 0, area.bytes); }
void copy(Session &to, const Session &from, const Area &area) {
    memcpy(at(to, area), at(from, area), area.bytes);
}
void write(Session &session, const Area &area, const uint8_t *from) {
    memcpy(at(session, area), from, area.bytes);
}

void read(const Session &session, const Area &area, uint64_t rows, uint64_t stride, uint8_t *to,
          uint64_t to_stride) {
    copy_rows(at(session, area), stride, to, to_stride, rows, area.bytes);
}

uint64_t put(Session &session, const Area &area, uint64_t stride, const Samples &samples) {
    return convert(samples, at(session, area), stride);
}

// ---- work ----

// Workers take the tiles of a step as they become free. No bit of a result depends on the worker.
struct Tiles {
    Session *session;
    const Program *program;
    const Call *call;
    const Extent *extent;
    uint32_t entry;
    uint64_t firing;
    std::atomic<uint32_t> next{0};
    std::atomic<bool> failed{false};

    static void work(void *context, uint32_t worker) {
        Tiles &tiles = *static_cast<Tiles *>(context);
        Frame &frame = tiles.session->workers[worker].frames[tiles.entry];
        const platform::KernelMode mode;
        for (;;) {
            const uint32_t tile = tiles.next.fetch_add(1, std::memory_order_relaxed);
            if (tile >= tiles.call->tiles || tiles.failed.load(std::memory_order_relaxed)) return;
            if (!tiles.program->run(*tiles.call, frame, tiles.firing, tile, *tiles.extent))
                tiles.failed = true;
        }
    }
};

// Calls watch(call, before) around every step that fires. An empty watch costs nothing.
template <class Watch> lw_status run_steps(Session &session, uint32_t entry, uint64_t block,
                                           const Extent &extent, ThreadPool *thread_pool,
                                           const Watch &watch) {
    const platform::KernelMode mode;
    const Program &program = session.model->steps[entry];
    Frame &frame = session.workers[0].frames[entry];
    session.newest = session.arena;
    const bool alone = !thread_pool || thread_pool->workers() == 1;
    const uint32_t last = std::min(extent.last, program.size());
    for (uint32_t i = extent.first; i < last; ++i) {
        const Call &call = program[i];
        uint64_t firing = block;
        if (call.period > 1) {
            if (block % call.period != call.phase) continue;
            firing = block / call.period;
        }
        watch(call, true);
        if (alone || call.tiles == 1 || call.ordered) {
            for (uint32_t tile = 0; tile < call.tiles; ++tile)
                if (!program.run(call, frame, firing, tile, extent)) return kernel_failed(call);
        } else {
            Tiles tiles{&session, &program, &call, &extent, entry, firing};
            thread_pool->run(Tiles::work, &tiles);
            if (tiles.failed) return kernel_failed(call);
        }
        watch(call, false);
    }
    return LW_OK;
}

lw_status run(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
              ThreadPool *thread_pool) {
    return run_steps(session, entry, block, extent, thread_pool, [](const Call &, bool) {});
}

lw_status rebuild(Session &session, uint32_t entry, uint32_t step, uint64_t firing) {
    const platform::KernelMode mode;
    const Program &program = session.model->rebuild[entry];
    for (uint32_t tile = 0; tile < program[step].tiles; ++tile)
        if (!program.run(program[step], session.rebuild[entry], firing, tile, Extent{}))
            return kernel_failed(program[step]);
    return LW_OK;
}

lw_status wait(Session &) { return LW_OK; } // `run` has run it

const uint8_t *derived(const DeviceModel &model) { return model.derived.data; }

} // namespace

lw_status run_watched(Session &session, uint32_t entry, uint64_t block, const Extent &extent,
                      ThreadPool *thread_pool, const StepWatch &watch) {
    return run_steps(session, entry, block, extent, thread_pool,
                     [&](const Call &call, bool before) { watch.tell(watch.context, *call.plan, before); });
}

constexpr fb::DeviceKind kind = fb::DeviceKind::cpu;
#ifdef LW_FREESTANDING // without batches
const Device cpu_device = {kind,  needs, open,  close, derived, session_bytes, begin,   end,
                           clear, copy,  write, read,  put,     run,           rebuild, wait};
#else
const Device cpu_device = {kind,          needs,       open,        close,    derived, session_bytes,
                           begin,         end,         clear,       copy,     write,   read,
                           put,           run,         rebuild,     wait,     nullptr, nullptr,
                           batch_streams, batch_bytes, begin_batch, run_batch};
#endif

} // namespace longwave::runtime
