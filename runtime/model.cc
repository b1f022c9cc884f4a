#include "runtime/model.h"
#include "formats/artifact/features.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/verify.h"
#include "runtime/file.h"
#include "runtime/status.h"
#include <cstring>
#include <new>

using namespace longwave;
using namespace longwave::runtime;

Bases lw_model::bases(uint8_t *state, uint8_t *arena) const {
    Bases bases;
    // Kernels take their inputs through the same descriptor as their outputs; V12 keeps every output out of the weights.
    bases.space[static_cast<size_t>(fb::Space::weights)] = const_cast<uint8_t *>(view.weights().data);
    bases.space[static_cast<size_t>(fb::Space::derived)] = derived.data;
    bases.space[static_cast<size_t>(fb::Space::state)] = state;
    bases.space[static_cast<size_t>(fb::Space::arena)] = arena;
    return bases;
}

namespace longwave::runtime {

const uint8_t *weights_identity(const lw_model &model) {
    for (const fb::Segment *segment : *model.plan().segments())
        if (segment->kind() == fb::SegmentKind::weights) return segment->hash()->data();
    return model.view.header().root;
}

const fb::Entry *largest_run(const lw_model &model) {
    const fb::Entry *largest = nullptr;
    for (const fb::Entry *entry : *model.plan().entries())
        if (entry->kind() == fb::EntryKind::run && (!largest || entry->block() > largest->block())) largest = entry;
    return largest;
}

namespace {

lw_status no_memory(const char *what, uint64_t bytes) { return fail(LW_NO_MEMORY, {"no memory for ", what, ": ", bytes, " bytes"}); }

lw_status refused(const artifact::Broken &broken) {
    if (broken.no_memory) return no_memory("the artifact's check", broken.a);
    const lw_status status = broken.rule == 2 && broken.a > broken.b ? LW_BAD_VERSION
                             : broken.rule == 17                     ? LW_NO_VARIANT
                             : broken.rule == 20                     ? LW_NO_MEMORY
                                                                     : LW_BAD_ARTIFACT;
    return fail(status, {"rule V", uint64_t{broken.rule}, ": ", broken.text, " ", broken.a, ", ", broken.b});
}

// The targets that are there, for someone whose processor runs none of them.
lw_status no_variant(const lw_model &model, const char *wanted) {
    const auto &variants = *model.plan().variants();
    const char *names[4] = {"", "", "", ""};
    for (uint32_t i = 0; i < variants.size() && i < 4; ++i) names[i] = variants.Get(i)->target()->c_str();
    return fail(LW_NO_VARIANT,
                {wanted ? "the code for " : "no code for this processor; there is: ", wanted ? wanted : "",
                 wanted ? " is missing or needs another processor; there is: " : "", names[0], " ", names[1], " ", names[2], " ", names[3]});
}

lw_status check(lw_model &model, const uint8_t *file, uint64_t size, const lw_open_options &options) {
    artifact::Memory memory = {
        [](void *context, size_t bytes) {
            const auto *allocator = static_cast<const lw_allocator *>(context);
            return allocator->allocate(allocator->context, bytes, line);
        },
        [](void *context, void *block, size_t bytes) {
            const auto *allocator = static_cast<const lw_allocator *>(context);
            allocator->release(allocator->context, block, bytes);
        },
        &model.allocator,
    };
    artifact::Request request;
    request.file = file;
    request.size = size;
    request.front = model.file.data;
    request.front_size = model.file.size;
    request.memory_limit = options.memory_limit;
    request.memory = &memory;
    if (const artifact::Broken broken = artifact::verify(request, &model.view)) return refused(broken);

    const artifact::Host host = artifact::host();
    model.variant = model.view.variant(host.machine, host.features, options.variant);
    if (!model.variant && model.plan().kernels()->size() > 0) return no_variant(model, options.variant);
    return LW_OK;
}

bool trusted(const lw_model &model, const lw_open_options &options) {
    const artifact::Header &header = model.view.header();
    return (header.flags & artifact::flag_signed) && options.check_signature &&
           options.check_signature(options.signature_context, header.key, header.root, header.signature) != 0;
}

lw_status load_code(lw_model &model, const lw_open_options &options) {
    if (!model.variant) return LW_OK;
    if (!options.allow_unsigned_code && !trusted(model, options))
        return fail(LW_UNSIGNED_CODE,
                    {"the code of ", model.plan().name()->c_str(), " has no signature that is trusted here, and allow_unsigned_code is not set"});
    const artifact::Bytes image = model.view.segment(model.variant->segment());
    switch (model.code.load(image.data, image.size, model.plan().segments()->Get(model.variant->segment())->hash()->data())) {
    case Code::Fault::none: return LW_OK;
    case Code::Fault::memory: return no_memory("code", image.size);
    case Code::Fault::hash: return fail(LW_BAD_ARTIFACT, {"rule V19: the code changed while it was loaded"});
    case Code::Fault::protect: break;
    }
    return fail(LW_DEVICE, {"the system does not let this process execute loaded code (mprotect)"});
}

lw_status build_tables(lw_model &model) {
    const auto &kernels = *model.plan().kernels();
    uint64_t dims = 0;
    for (const fb::Kernel *kernel : kernels)
        for (const fb::KernelArg *arg : *kernel->args()) dims += artifact::count(arg->dims());
    Parts measure(nullptr);
    measure.take<Kernel>(kernels.size());
    measure.take<Dimension>(dims);
    if (!model.tables.allocate(model.allocator, measure.used())) return no_memory("the kernel table", measure.used());
    Parts parts(model.tables.data);
    model.kernels = parts.take<Kernel>(kernels.size());
    Dimension *next = parts.take<Dimension>(dims);
    for (uint32_t k = 0; k < kernels.size(); ++k) {
        model.kernels[k] = {model.code.at(model.variant->entry()->Get(k)), kernels.Get(k), next};
        for (const fb::KernelArg *arg : *kernels.Get(k)->args())
            for (uint32_t d = 0; d < artifact::count(arg->dims()); ++d) {
                const fb::Dim &dim = *arg->dims()->Get(d);
                *next++ = {0, static_cast<int32_t>(dim.extent()), dim.stride(), 0};
            }
    }
    return LW_OK;
}

// What a prepare entry takes while it runs: descriptors, scratch and arena.
uint64_t prepare_bytes(const lw_model &model) {
    const fb::Entry *entry = model.view.prepare();
    if (!entry) return 0;
    Program program;
    Parts measure(nullptr);
    program.build(*entry, model.kernels, Bases{}, scratch_needed(*entry, model.variant), measure);
    measure.take<uint8_t>(entry->arena_bytes());
    return measure.used();
}

// V20 has looked at what the plan says; tables, scratch and descriptors count as well. Before any of it is taken.
lw_status check_memory(const lw_model &model, uint64_t limit) {
    if (limit == 0) return LW_OK;
    lw_model_info info{};
    info.struct_size = sizeof info;
    lw_model_get_info(&model, &info);
    const uint64_t use = info.has_stream ? info.stream_memory_bytes : info.run_memory_bytes, start = prepare_bytes(model);
    const uint64_t needed = info.artifact_bytes + info.derived_bytes + model.tables.size + (use > start ? use : start);
    return needed <= limit ? LW_OK : fail(LW_NO_MEMORY, {"rule V20: memory: needed, limit ", needed, ", ", limit});
}

// Runs the prepare entry into the derived space; its arena and descriptors live no longer than this.
lw_status prepare(lw_model &model) {
    if (!model.derived.allocate(model.allocator, model.plan().derived_bytes())) return no_memory("derived tables", model.plan().derived_bytes());
    memset(model.derived.data, 0, model.derived.size);
    const fb::Entry *entry = model.view.prepare();
    if (!entry) return LW_OK;
    Program program;
    const uint64_t scratch = scratch_needed(*entry, model.variant), bytes = prepare_bytes(model);
    Block block;
    if (!block.allocate(model.allocator, bytes)) return no_memory("preparing the model", bytes);
    Parts parts(block.data);
    // The arena's address is part of the descriptors, so it is taken first; both passes use the same amount.
    uint8_t *arena = parts.take<uint8_t>(entry->arena_bytes());
    program.build(*entry, model.kernels, model.bases(nullptr, arena), scratch, parts);
    const fb::Step *failed = nullptr;
    {
        FlushDenormals mode;
        failed = program.run(0, Extent{});
    }
    block.release(model.allocator);
    if (failed) return fail(LW_DEVICE, {"a kernel failed while preparing: ", failed->name() ? failed->name()->c_str() : "unnamed step"});
    return LW_OK;
}

lw_status set_up(lw_model &model, const uint8_t *file, uint64_t size, const lw_open_options &options) {
    model.artifact_bytes = size;
    if (lw_status status = check(model, file, size, options)) return status;
    if (lw_status status = load_code(model, options)) return status;
    if (lw_status status = build_tables(model)) return status;
    if (lw_status status = check_memory(model, options.memory_limit)) return status;
    return prepare(model);
}

struct Opening {
    lw_open_options options;
    lw_model *model = nullptr;
};

lw_status begin(const lw_open_options *options, Opening *opening) {
    if (!read_options(options, &opening->options)) return fail(LW_INVALID_ARGUMENT, {"struct_size of lw_open_options is not set"});
    const lw_allocator &allocator = opening->options.allocator ? *opening->options.allocator : standard_allocator;
    if (!allocator.allocate || !allocator.release) return fail(LW_INVALID_ARGUMENT, {"the allocator lacks a function"});
    void *memory = allocator.allocate(allocator.context, sizeof(lw_model), line);
    if (!memory) return no_memory("the model", sizeof(lw_model));
    opening->model = new (memory) lw_model{};
    opening->model->allocator = allocator;
    return LW_OK;
}

lw_status end(Opening &opening, lw_status status, lw_model **out) {
    if (status == LW_OK) *out = opening.model;
    else lw_model_close(opening.model);
    return status;
}

// Copies the file, or maps it and copies only header and plan.
lw_status take_file(lw_model &model, File &file, const char *path, const lw_open_options &options, const uint8_t **bytes) {
    alignas(8) uint8_t front[artifact::header_bytes];
    artifact::Header header;
    if (file.size() >= sizeof front && !file.read(front, sizeof front))
        return fail(LW_IO, {path, ": cannot be read: errno ", uint64_t(file.error())});
    if (const artifact::Broken broken = artifact::verify_header(front, file.size(), &header)) return refused(broken); // before memory is spent on it
    if (options.map_weights) {
        model.mapping = *bytes = file.map();
        if (!model.mapping) return fail(LW_IO, {path, ": cannot be mapped: errno ", uint64_t(file.error())});
        const uint64_t size = header.plan_offset + header.plan_bytes;
        if (!model.file.allocate(model.allocator, size)) return no_memory("the plan", size);
        memcpy(model.file.data, model.mapping, size);
        return LW_OK;
    }
    if (!model.file.allocate(model.allocator, file.size())) return no_memory("the artifact", file.size());
    memcpy(model.file.data, front, sizeof front);
    if (!file.read(model.file.data + sizeof front, file.size() - sizeof front))
        return fail(LW_IO, {path, ": cannot be read: errno ", uint64_t(file.error())});
    *bytes = model.file.data;
    return LW_OK;
}

} // namespace
} // namespace longwave::runtime

lw_status lw_model_open(const char *path, const lw_open_options *options, lw_model **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    if (!path) return fail(LW_INVALID_ARGUMENT, {"path is NULL"});
    File file;
    if (!file.open(path))
        return fail(file.missing() ? LW_NOT_FOUND : LW_IO, {path, file.missing() ? ": no such file" : ": cannot be opened as a file: errno ",
                                                            file.missing() ? Piece("") : Piece(uint64_t(file.error()))});
    Opening opening;
    if (lw_status status = begin(options, &opening)) return status;
    const uint8_t *bytes = nullptr;
    lw_status status = take_file(*opening.model, file, path, opening.options, &bytes);
    if (status == LW_OK) {
        opening.model->artifact_bytes = file.size();
        status = set_up(*opening.model, bytes, file.size(), opening.options);
    }
    return end(opening, status, out);
}

lw_status lw_model_open_memory(const void *bytes, size_t size, const lw_open_options *options, lw_model **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, {"out is NULL"});
    *out = nullptr;
    if (!bytes) return fail(LW_INVALID_ARGUMENT, {"bytes is NULL"});
    Opening opening;
    if (lw_status status = begin(options, &opening)) return status;
    lw_model &model = *opening.model;
    artifact::Header header;
    if (const artifact::Broken broken = artifact::verify_header(static_cast<const uint8_t *>(bytes), size, &header))
        return end(opening, refused(broken), out);
    if (!model.file.allocate(model.allocator, size)) return end(opening, no_memory("the artifact", size), out);
    memcpy(model.file.data, bytes, size);
    return end(opening, set_up(model, model.file.data, size, opening.options), out);
}

void lw_model_close(lw_model *model) {
    if (!model) return;
    const lw_allocator allocator = model->allocator;
    model->code.unload();
    model->derived.release(allocator);
    model->tables.release(allocator);
    model->file.release(allocator);
    if (model->mapping) File::unmap(model->mapping, model->artifact_bytes);
    allocator.release(allocator.context, model, sizeof *model);
}
