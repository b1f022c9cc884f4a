// Opens a model that the program contains: its bytes are read where they lie, and all memory is the
// caller's.
#include "formats/artifact/static_model.h"
#include "formats/base/same_bytes.h"
#include "runtime/core/model.h"
#include "runtime/core/status.h"
#include "runtime/cpu/device_cpu.h"
#include "runtime/model/tables.h"
#include "runtime/platform/cpu.h"
#include <new>

using namespace longwave;
using namespace longwave::runtime;

namespace {

// The caller's memory, handed out from front to back. What is released is free again once all
// behind it is.
struct GivenMemory {
    uint8_t *next, *end;

    static void *allocate(void *context, size_t size, size_t alignment) {
        GivenMemory &memory = *static_cast<GivenMemory *>(context);
        const size_t gap = -reinterpret_cast<uintptr_t>(memory.next) & (alignment - 1);
        const size_t left = static_cast<size_t>(memory.end - memory.next);
        if (gap > left || size > left - gap) return nullptr;
        uint8_t *block = memory.next + gap;
        memory.next = block + size;
        return block;
    }
    static void release(void *context, void *block, size_t size) {
        GivenMemory &memory = *static_cast<GivenMemory *>(context);
        uint8_t *at = static_cast<uint8_t *>(block);
        if (at + size == memory.next) memory.next = at;
    }
};

const artifact::StaticModel &of(const lw_static_model *model) {
    return *reinterpret_cast<const artifact::StaticModel *>(model);
}

lw_status check_stamp(const lw_static_model *given) {
    if (!given) return fail(LW_INVALID_ARGUMENT, "model is NULL");
    if (reinterpret_cast<uintptr_t>(given) % line != 0 ||
        !same_bytes(of(given).magic, artifact::static_magic, sizeof artifact::static_magic))
        return fail(LW_BAD_ARTIFACT, "this is not a model that `longwave compile --emit static` wrote");
    const artifact::StaticModel &model = of(given);
    const artifact::Header &header = *reinterpret_cast<const artifact::Header *>(model.at(model.file));
    if (model.layout != artifact::static_layout || header.major != artifact::format_major ||
        header.minor > artifact::format_minor)
        return fail(LW_BAD_VERSION, {"the model is of format ", uint32_t{header.major}, ".",
                                     uint32_t{header.minor}, " and static layout ", uint32_t{model.layout},
                                     ", this library of another: take both from one version"});
    return LW_OK;
}

lw_status check_machine(const artifact::StaticModel &model, const char *target) {
    const artifact::Host host = platform::host();
    if (model.machine == host.machine && (model.features & ~host.features) == 0) return LW_OK;
    return fail(LW_NO_VARIANT, {"the model was compiled for ", target, ", which this CPU is not"});
}

// Where the weights lie; null: in the model itself.
lw_status check_weights(const artifact::StaticModel &model, const void *weights, size_t bytes) {
    if (model.weights == 0 && !weights) return LW_OK;
    if (model.weights == 0)
        return fail(LW_INVALID_ARGUMENT, "the model contains its weights; open it with lw_model_open_static");
    if (!weights || reinterpret_cast<uintptr_t>(weights) % line != 0)
        return fail(LW_INVALID_ARGUMENT,
                    {"the weights are a file beside the model; give lw_model_open_static_weights its bytes, "
                     "aligned to ",
                     uint64_t{line}});
    const auto &front = *static_cast<const artifact::WeightsFront *>(weights);
    if (bytes < sizeof front || !same_bytes(front.magic, artifact::weights_magic, sizeof front.magic))
        return fail(LW_BAD_ARTIFACT,
                    "this is not a file of weights that `longwave compile --emit static` wrote");
    if (front.stamp != model.weights)
        return fail(LW_BAD_ARTIFACT,
                    "the weights are those of another model: take both files from one compilation");
    if (bytes - sizeof front != front.bytes)
        return fail(LW_BAD_ARTIFACT, {"the file of weights has ", uint64_t{bytes}, " bytes, not ",
                                      front.bytes + sizeof front});
    return LW_OK;
}

// Everything but memory.
void fill_in(const artifact::StaticModel &given, const void *weights, lw_model &model) {
    const uint8_t *values =
        weights ? static_cast<const uint8_t *>(weights) + sizeof(artifact::WeightsFront) : nullptr;
    model.view = artifact::View::of_program(given.at(given.file), values);
    model.artifact_bytes = given.file_bytes;
    model.budget.limit = addressable; // the memory is the limit
    model.variant = model.plan().variants()->Get(0);
    model.device = model.cpu = &cpu_device;
}

// Bytes of the memory that a model takes.
uint64_t needed(lw_model &measured) {
    Parts parts(nullptr), tables(nullptr);
    parts.take<GivenMemory>(1);
    parts.take<lw_model>(1);
    lay_out_tables(measured, tables);
    return parts.used() + tables.used() + to_line(measured.device->needs(measured.source()).kept);
}

lw_status set_up(const artifact::StaticModel &given, lw_model &model) {
    Parts measure(nullptr);
    lay_out_tables(model, measure);
    if (!model.tables.allocate(model.allocator, measure.used())) return no_memory("tables", measure.used());
    Parts parts(model.tables.data);
    Function *functions = lay_out_tables(model, parts);
    for (uint32_t k = 0; k < given.functions; ++k)
        functions[k] = reinterpret_cast<Function>(const_cast<void *>(given.function(k)));
    model.code.use(functions);
    return model.device->open(model.source(), &model.on_device);
}

} // namespace

lw_status lw_model_static_size(const lw_static_model *given, size_t *size, size_t *alignment) {
    if (!size || !alignment) return fail(LW_INVALID_ARGUMENT, "size or alignment is NULL");
    if (lw_status status = check_stamp(given)) return status;
    lw_model measured{};
    fill_in(of(given), nullptr, measured);
    *size = to_size(needed(measured));
    *alignment = line;
    return LW_OK;
}

lw_status lw_model_open_static(const lw_static_model *given, void *memory, size_t size, lw_model **out) {
    return lw_model_open_static_weights(given, nullptr, 0, memory, size, out);
}

lw_status lw_model_open_static_weights(const lw_static_model *given, const void *weights,
                                       size_t weights_bytes, void *memory, size_t size, lw_model **out) {
    if (!out) return fail(LW_INVALID_ARGUMENT, "out is NULL");
    *out = nullptr;
    if (lw_status status = check_stamp(given)) return status;
    lw_model measured{};
    fill_in(of(given), nullptr, measured);
    if (lw_status status = check_machine(of(given), measured.variant->target()->c_str())) return status;
    if (lw_status status = check_weights(of(given), weights, weights_bytes)) return status;
    if (!memory || reinterpret_cast<uintptr_t>(memory) % line != 0)
        return fail(LW_INVALID_ARGUMENT, {"memory is NULL or not aligned to ", uint64_t{line}});
    const uint64_t bytes = needed(measured);
    if (size < bytes)
        return fail(LW_TOO_SMALL, {"the model needs ", bytes, " bytes, given ", uint64_t{size}});
    uint8_t *at = static_cast<uint8_t *>(memory);
    GivenMemory *given_memory = new (at) GivenMemory{at + to_line(sizeof(GivenMemory)), at + size};
    const lw_allocator allocator = {GivenMemory::allocate, GivenMemory::release, given_memory};
    lw_model *model = new (GivenMemory::allocate(given_memory, to_line(sizeof(lw_model)), line)) lw_model{};
    model->allocator = allocator;
    model->budget.used = bytes;
    fill_in(of(given), weights, *model);
    const lw_status status = set_up(of(given), *model);
    if (status == LW_OK) *out = model;
    else lw_model_close(model);
    return status;
}
