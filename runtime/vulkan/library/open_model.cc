#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "runtime/vulkan/device/gpu.h"
#include "runtime/vulkan/device/variant_timer.h"
#include "runtime/vulkan/library/calls.h"
#include "runtime/vulkan/run/host_side.h"
#include "runtime/vulkan/stream/scheduler.h"
#include "runtime/vulkan/stream/stream_family.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {
namespace {

using artifact::count;

// What the model's memory holds; null while only measuring.
struct Tables {
    Model *model;
    StreamFamily *family;
};

Tables lay_out(const fb::Plan &plan, Parts &parts) {
    Model measured_model;
    StreamFamily measured_family;
    const Tables tables{parts.take<Model>(1), parts.take<StreamFamily>(1)};
    StreamSchedulers *schedulers = parts.take<StreamSchedulers>(1);
    Model *const model = tables.model ? new (tables.model) Model{} : &measured_model;
    StreamFamily *const family = tables.family ? new (tables.family) StreamFamily{} : &measured_family;
    model->pipelines.lay_out(plan, parts);
    family->lay_out(plan, parts);
    model->family = family;
    if (schedulers) model->schedulers = new (schedulers) StreamSchedulers;
    return tables;
}

uint64_t model_bytes(const fb::Plan &plan) {
    Parts measure(nullptr);
    lay_out(plan, measure);
    return measure.used();
}

lw_status no_memory(const char *what, uint64_t bytes) {
    return fail(LW_NO_MEMORY, "no memory for %s: %llu bytes", what, static_cast<unsigned long long>(bytes));
}

// Copies the segment and checks that the copy is what was verified.
lw_status copy_segment(const Model &model, uint32_t index, Block *copy) {
    const artifact::Bytes bytes = model.source.view->segment(index);
    if (!copy->allocate(*model.source.allocator, bytes.size)) return no_memory("modules", bytes.size);
    memcpy(copy->data, bytes.data, bytes.size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(copy->data, copy->size, digest);
    if (artifact::equal_hash(digest, model.plan().segments()->Get(index)->hash()->data())) return LW_OK;
    return fail(LW_BAD_ARTIFACT, "rule V19: the modules changed while they were read");
}

// Takes the modules of a segment if the device can run them and they use more shared memory than
// those taken before.
lw_status consider(Model &model, uint32_t index) {
    Block copy;
    artifact::ModulesView modules;
    lw_status status = copy_segment(model, index, &copy);
    if (status == LW_OK)
        if (const artifact::Broken broken =
                artifact::open_modules(model.plan(), {copy.data, copy.size}, &modules))
            status =
                fail(LW_BAD_ARTIFACT, "rule V%u: %s %llu, %llu", unsigned{broken.rule}, broken.text,
                     static_cast<unsigned long long>(broken.a), static_cast<unsigned long long>(broken.b));
    if (status == LW_OK) status = check_limits(model.gpu(), modules.manifest(), model.plan());
    if (status == LW_OK &&
        (!model.modules || modules.manifest().shared_bytes() > model.modules.manifest().shared_bytes())) {
        model.code.release(*model.source.allocator);
        model.code = copy;
        model.modules = modules;
    } else {
        copy.release(*model.source.allocator);
    }
    return status;
}

// Of the GPU targets that the device can run, takes the one with the most shared memory.
lw_status choose_modules(Model &model) {
    const fb::Plan &plan = model.plan();
    bool any = false;
    for (const fb::Entry *entry : *plan.entries()) any |= of_gpu(*entry);
    lw_status refused = fail(LW_UNSUPPORTED,
                             "%.120s was compiled without code for a GPU: compile it with "
                             "--target vulkan-32k (or vulkan-16k)",
                             plan.name()->c_str());
    if (!any) return refused;
    for (uint32_t i = 0; i < plan.segments()->size(); ++i) {
        if (plan.segments()->Get(i)->kind() != fb::SegmentKind::modules) continue;
        const lw_status status = consider(model, i);
        if (status == LW_OK) continue;
        refused = status;
        if (status != LW_UNSUPPORTED) return status; // another target would not help
    }
    return model.modules ? LW_OK : refused;
}

// The CPU prepares the derived tables; then those of the GPU are uploaded and the CPU's copy is freed.
lw_status upload_derived(Model &model) {
    const Range range = range_read(model.plan(), fb::Space::derived);
    if (range.bytes == 0) return LW_OK;
    const Device &cpu = *model.source.cpu;
    DeviceModel *prepared = model.cpu_layers;
    if (!prepared)
        if (lw_status status = cpu.open(model.source, &prepared)) return status;
    const lw_status status =
        fill_table(model.gpu(), range, cpu.derived(*prepared), "derived tables", &model.derived);
    if (prepared != model.cpu_layers) cpu.close(prepared);
    return status;
}

lw_status fill(Model &model, StreamFamily &family) {
    if (lw_status status = model.gpu().usable()) return status;
    if (lw_status status = choose_modules(model)) return status;
    if (host_takes_part(model.source))
        if (lw_status status = open_host_side(model)) return status;
    if (const Range range = range_read(model.plan(), fb::Space::weights); range.bytes > 0)
        if (lw_status status =
                fill_table(model.gpu(), range, model.source.view->weights().data, "weights", &model.weights))
            return status;
    if (lw_status status = upload_derived(model)) return status;
    if (lw_status status = model.pipelines.create(model.gpu(), model.modules, model.plan(),
                                                  model.source.view->header().root))
        return status;
    family.bind(model.gpu(), model.plan(), model.pipelines);
    return LW_OK;
}

} // namespace

ModelNeeds model_needs(const ModelSource &source) {
    const fb::Plan &plan = source.view->plan();
    const uint64_t weights = range_read(plan, fb::Space::weights).bytes,
                   derived = range_read(plan, fb::Space::derived).bytes;
    ModelNeeds needs{model_bytes(plan) + weights + derived,
                     upload_staging_bytes(weights > derived ? weights : derived)};
    uint64_t largest = 0;
    for (const fb::Segment *segment : *plan.segments())
        if (segment->kind() == fb::SegmentKind::modules && segment->size() > largest)
            largest = segment->size();
    // Our copy, and at least as much in the driver's pipelines.
    needs.kept += 2 * largest + transfer_code_bytes;
    needs.passing += largest; // of another target, while it is looked at
    const Gpu::Timing timing = gpu_of(source.device).timing;
    if (timing == Gpu::Timing::once || timing == Gpu::Timing::always) needs.passing += timer_bytes(plan);
    const bool kept = host_takes_part(source);
    if (!kept && derived == 0) return needs;
    const ModelNeeds prepared = source.cpu->needs(source);
    (kept ? needs.kept : needs.passing) += prepared.kept;
    needs.passing += prepared.passing;
    return needs;
}

lw_status open_model(const ModelSource &source, DeviceModel **out) {
    const uint64_t bytes = model_bytes(source.view->plan());
    Block memory;
    if (!memory.allocate(*source.allocator, bytes)) return no_memory("the model's tables", bytes);
    Parts parts(memory.data);
    const Tables tables = lay_out(source.view->plan(), parts);
    Model *model = tables.model;
    model->source = source; // NOLINT(clang-analyzer-core.CallAndMessage): there is memory
    model->memory = memory;
    if (lw_status status = fill(*model, *tables.family)) {
        close_model(reinterpret_cast<DeviceModel *>(model));
        return status;
    }
    *out = reinterpret_cast<DeviceModel *>(model);
    return LW_OK;
}

void close_model(DeviceModel *closing) {
    Model &model = *reinterpret_cast<Model *>(closing);
    const Gpu &gpu = model.gpu();
    const lw_allocator allocator = *model.source.allocator;
    close_host_side(model);
    model.pipelines.destroy(gpu);
    model.derived.memory.destroy(gpu);
    model.weights.memory.destroy(gpu);
    model.code.release(allocator);
    model.schedulers->~StreamSchedulers();
    Block memory = model.memory;
    memory.release(allocator);
}

} // namespace longwave::runtime::vulkan
