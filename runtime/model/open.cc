// Opens a model: asks the budget before it takes memory, and checks every byte before it uses one.
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/verify.h"
#include "runtime/core/model.h"
#include "runtime/core/status.h"
#include "runtime/cpu/device_cpu.h"
#include "runtime/model/info.h"
#include "runtime/model/linked_kernels.h"
#include "runtime/model/tables.h"
#include "runtime/model/trust.h"
#include "runtime/platform/cpu.h"
#include "runtime/platform/files.h"
#include "runtime/run/runner.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace longwave::runtime {

namespace {

// A block that lives as long as the model.
lw_status keep(lw_model &model, const char *what, uint64_t bytes, Block *block) {
    if (lw_status status = model.budget.take(what, to_line(bytes))) return status;
    return block->allocate(model.allocator, bytes) ? LW_OK : no_memory(what, bytes);
}

// ---- checking ----

lw_status refused(const Budget &budget, const artifact::Broken &broken) {
    if (broken.no_memory) {
        if (lw_status status = budget.allows("the artifact's check", to_line(broken.a))) return status;
        return no_memory("the artifact's check", broken.a);
    }
    if (broken.rule == 20) return budget.refuse("the artifact", broken.a);
    const lw_status status = broken.rule == 2 && broken.a > broken.b ? LW_BAD_VERSION
                             : broken.rule == 17                     ? LW_NO_VARIANT
                                                                     : LW_BAD_ARTIFACT;
    return fail(status, {"rule V", uint64_t{broken.rule}, ": ", broken.text, " ", broken.a, ", ", broken.b});
}

// LW_NO_VARIANT, with the targets that the artifact has.
lw_status no_variant(const lw_model &model, const char *wanted) {
    char names[192]; // of at most 16 targets; longer lists are cut, as every message is
    size_t n = 0;
    for (const fb::CodeVariant *variant : *model.plan().variants()) {
        if (n > 0 && n + 1 < sizeof names) names[n++] = ' ';
        for (const char *from = variant->target()->c_str(); *from && n + 1 < sizeof names;)
            names[n++] = *from++;
    }
    names[n] = 0;
    return fail(LW_NO_VARIANT,
                {wanted ? "the code for " : "no code for this CPU; there is: ", wanted ? wanted : "",
                 wanted ? " is missing or needs another CPU; there is: " : "", names});
}

// Memory for the check itself, which is given back when it ends; within the budget like all other.
const artifact::Memory checking_memory = {
    [](void *context, size_t bytes) -> void * {
        const lw_model &model = *static_cast<const lw_model *>(context);
        if (model.budget.allows("the artifact's check", to_line(bytes)) != LW_OK) return nullptr;
        return model.allocator.allocate(model.allocator.context, bytes, line);
    },
    [](void *context, void *block, size_t bytes) {
        const lw_model &model = *static_cast<const lw_model *>(context);
        model.allocator.release(model.allocator.context, block, bytes);
    },
    nullptr,
};

lw_status check(lw_model &model, const uint8_t *file, uint64_t size, const lw_open_options &options) {
    artifact::Memory memory = checking_memory;
    memory.context = &model;
    artifact::Request request;
    request.file = file;
    request.size = size;
    request.front = model.file.data;
    request.front_size = model.file.size;
    request.memory_limit = model.budget.limit;
    if (model.mapping) { // V20 counts the whole file, but only the plan is copied
        const uint64_t mapped = size - model.file.size;
        request.memory_limit +=
            mapped < UINT64_MAX - request.memory_limit ? mapped : UINT64_MAX - request.memory_limit;
    }
    request.memory = &memory;
    if (const artifact::Broken broken = artifact::verify(request, &model.view))
        return refused(model.budget, broken);

    const artifact::Host host = platform::host();
    model.variant = model.view.variant(host.machine, host.features, options.variant);
    if (!model.variant && model.plan().kernels()->size() > 0) return no_variant(model, options.variant);
    return LW_OK;
}

// ---- making ready ----

lw_status load_code(lw_model &model, const lw_open_options &options, Function *table) {
    if (!model.variant) return LW_OK;
    if (artifact::detached(*model.variant)) return link_kernels(model, options.kernels, table);
    const artifact::Bytes image = model.view.segment(model.variant->segment());
    if (lw_status status = model.budget.take("code", Code::memory_for(image.size))) return status;
    const uint8_t *hash = model.plan().segments()->Get(model.variant->segment())->hash()->data();
    switch (model.code.load(image, hash, *model.variant->entry(), table)) {
    case Code::Fault::none: return LW_OK;
    case Code::Fault::memory: return no_memory("code", image.size);
    case Code::Fault::hash: return fail(LW_BAD_ARTIFACT, "rule V19: the code changed while it was loaded");
    case Code::Fault::protect: break;
    }
    return fail(LW_DEVICE, "the system does not let this process execute loaded code (mprotect)");
}

// Artifacts up to format 2.3: what a saved state depends on. Later ones have plan().identity().
void identify(lw_model &model) {
    if (model.plan().identity()) return;
    artifact::Hasher hasher;
    hasher.update(model.plan().computation()->data(), model.plan().computation()->size());
    for (const fb::Segment *segment : *model.plan().segments())
        if (segment->kind() == fb::SegmentKind::weights)
            hasher.update(segment->hash()->data(), artifact::hash_bytes);
    hasher.update(model.plan().layout()->data(), model.plan().layout()->size());
    hasher.finish(model.identity);
}

// What is left must do for a stream or, where there is none, a run.
lw_status check_use(const lw_model &model) {
    if (model.streams.size() == 0)
        return largest_run(model) ? model.budget.allows("a run", runner_bytes(model)) : LW_OK;
    size_t size, alignment;
    const lw_stream_options options = plain_stream(model);
    if (lw_status status = lw_stream_size(&model, &options, &size, &alignment)) return status;
    return model.budget.allows("a stream", size + model.own_stream_bytes);
}

lw_status set_up(lw_model &model, const uint8_t *file, uint64_t size, const lw_open_options &options) {
    if (lw_status status = check(model, file, size, options)) return status;
    if (lw_status status = check_trust(model, options)) return status;
    identify(model);
    Parts measure(nullptr);
    lay_out_tables(model, measure);
    if (lw_status status = keep(model, "tables", measure.used(), &model.tables)) return status;
    Parts parts(model.tables.data);
    Function *table = lay_out_tables(model, parts);
    if (lw_status status = load_code(model, options, table)) return status;

    const ModelNeeds needs = model.device->needs(model.source());
    if (lw_status status = model.budget.take("programs and derived tables", needs.kept)) return status;
    if (lw_status status = model.budget.allows("preparing", needs.passing)) return status;
    if (lw_status status = check_use(model)) return status;
    if (lw_status status = model.device->open(model.source(), &model.on_device)) return status;
    if (!model.device->own_bytes) return LW_OK;
    model.own_run_bytes = model.device->own_bytes(*model.on_device, fb::EntryKind::run);
    model.own_stream_bytes = model.device->own_bytes(*model.on_device, fb::EntryKind::stream);
    return check_use(model);
}

// ---- the bytes ----

struct Opening {
    lw_open_options options;
    lw_model *model = nullptr;
};

lw_status begin(const lw_open_options *options, uint64_t file_bytes, Opening *opening) {
    if (lw_status status = read_options(options, &opening->options, "lw_open_options")) return status;
    if (lw_status status = check_trust_options(opening->options)) return status;
    if (opening->options.device && opening->options.device->version != lw_device::interface_version)
        return fail(LW_INVALID_ARGUMENT, "lw_open_options.device is of another version of the library");
    const lw_allocator &allocator =
        opening->options.allocator ? *opening->options.allocator : standard_allocator;
    if (!allocator.allocate || !allocator.release)
        return fail(LW_INVALID_ARGUMENT, "the allocator lacks a function");
    Budget budget;
    budget.given = opening->options.memory_limit > 0;
    budget.limit = budget.given ? opening->options.memory_limit : artifact::default_memory_limit(file_bytes);
    if (budget.limit > addressable) budget.limit = addressable;
    if (lw_status status = budget.take("the model", to_line(sizeof(lw_model)))) return status;
    void *memory = allocator.allocate(allocator.context, sizeof(lw_model), line);
    if (!memory) return no_memory("the model", sizeof(lw_model));
    opening->model = new (memory) lw_model{};
    opening->model->allocator = allocator;
    opening->model->budget = budget;
    opening->model->artifact_bytes = file_bytes;
    opening->model->device = opening->model->cpu = &cpu_device;
    const lw_device *device = opening->model->asked = opening->options.device;
    if (device) opening->model->device = device->calls;
    return LW_OK;
}

lw_status end(Opening &opening, lw_status status, lw_model **out) {
    if (status == LW_OK) *out = opening.model;
    else lw_model_close(opening.model);
    return status;
}

// Copies the file, or maps it and copies only header and plan.
lw_status take_file(lw_model &model, platform::File &file, const char *path, bool map,
                    const uint8_t **bytes) {
    alignas(8) uint8_t front[artifact::header_bytes];
    artifact::Header header;
    if (file.size() >= sizeof front && !file.read(front, sizeof front))
        return fail(LW_IO, {path, ": cannot be read: errno ", uint64_t(file.error())});
    if (const artifact::Broken broken = artifact::verify_header(front, file.size(), &header))
        return refused(model.budget, broken); // before memory is spent on it
    if (map) {
        model.mapping = *bytes = file.map();
        model.unmap = platform::File::unmap;
        if (!model.mapping) return fail(LW_IO, {path, ": cannot be mapped: errno ", uint64_t(file.error())});
        if (lw_status status = keep(model, "the plan", header.plan_offset + header.plan_bytes, &model.file))
            return status;
        memcpy(model.file.data, model.mapping, model.file.size);
        return LW_OK;
    }
    if (lw_status status = keep(model, "the artifact", file.size(), &model.file)) return status;
    memcpy(model.file.data, front, sizeof front);
    if (!file.read(model.file.data + sizeof front, file.size() - sizeof front))
        return fail(LW_IO, {path, ": cannot be read: errno ", uint64_t(file.error())});
    *bytes = model.file.data;
    return LW_OK;
}

} // namespace
} // namespace longwave::runtime

lw_status lw_model_open(const char *path, const lw_open_options *options, lw_model **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    if (!path) return fail(LW_INVALID_ARGUMENT, "path is NULL");
    platform::File file;
    if (!file.open(path)) {
        if (file.missing()) return fail(LW_NOT_FOUND, {path, ": no such file"});
        if (file.irregular()) return fail(LW_IO, {path, ": is not a regular file"});
        return fail(LW_IO, {path, ": cannot be opened: errno ", uint64_t(file.error())});
    }
    Opening opening;
    if (lw_status status = begin(options, file.size(), &opening)) return status;
    const uint8_t *bytes = nullptr;
    lw_status status = take_file(*opening.model, file, path, opening.options.map_weights != 0, &bytes);
    if (status == LW_OK) status = set_up(*opening.model, bytes, file.size(), opening.options);
    return end(opening, status, out);
}

lw_status lw_model_open_memory(const void *bytes, size_t size, const lw_open_options *options,
                               lw_model **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    if (!bytes) return fail(LW_INVALID_ARGUMENT, "bytes is NULL");
    Opening opening;
    if (lw_status status = begin(options, size, &opening)) return status;
    lw_model &model = *opening.model;
    artifact::Header header;
    if (const artifact::Broken broken =
            artifact::verify_header(static_cast<const uint8_t *>(bytes), size, &header))
        return end(opening, refused(model.budget, broken), out);
    if (lw_status status = keep(model, "the artifact", size, &model.file)) return end(opening, status, out);
    memcpy(model.file.data, bytes, size);
    return end(opening, set_up(model, model.file.data, size, opening.options), out);
}
