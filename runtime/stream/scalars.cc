#include "runtime/stream/scalars.h"
#include "formats/artifact/geometry.h"
#include "runtime/core/status.h"
#include "runtime/stream/blocks.h"
#include "runtime/stream/state.h"

namespace longwave::runtime {
namespace {

Area area_of(const fb::StateField &field, ScalarNumber which) {
    return {fb::Space::state, 0, field.offset() + static_cast<uint32_t>(which) * sizeof(float),
            sizeof(float)};
}

bool same_text(const char *a, const char *b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}

lw_status no_such_scalar(const lw_model &model, const char *name) {
    const auto *scalars = model.plan().scalars();
    keep_message({"no scalar ", name, "; the model has "});
    if (artifact::count(scalars) == 0) add_to_message({"none that a stream can change"});
    for (uint32_t i = 0; i < artifact::count(scalars); ++i)
        add_to_message({i ? ", " : "", scalars->Get(i)->name()->c_str()});
    return LW_NOT_FOUND;
}

} // namespace

const fb::HostScalar *find_scalar(const lw_model &model, const char *name) {
    const auto *scalars = model.plan().scalars();
    for (uint32_t i = 0; i < artifact::count(scalars); ++i)
        if (same_text(scalars->Get(i)->name()->c_str(), name)) return scalars->Get(i);
    return nullptr;
}

float read_scalar(const lw_stream &stream, const fb::HostScalar &scalar, ScalarNumber which) {
    float value = 0;
    for (const fb::StateField *field : *stream.model->plan().state())
        if (scalar_in(*stream.model, *field) == &scalar) {
            stream.device().read(*stream.session, area_of(*field, which), 1, 0,
                                 reinterpret_cast<uint8_t *>(&value), 0);
            break; // all have the same
        }
    return value;
}

void write_next(lw_stream &stream, const fb::HostScalar &scalar, float value) {
    for (const fb::StateField *field : *stream.model->plan().state())
        if (scalar_in(*stream.model, *field) == &scalar)
            stream.device().write(*stream.session, area_of(*field, ScalarNumber::next),
                                  reinterpret_cast<const uint8_t *>(&value));
}

void clear_but_scalars(lw_stream &stream) {
    const auto *scalars = stream.model->plan().scalars();
    float kept[artifact::most_host_scalars];
    for (uint32_t i = 0; i < artifact::count(scalars); ++i)
        kept[i] = read_scalar(stream, *scalars->Get(i), ScalarNumber::next);
    clear(stream);
    for (uint32_t i = 0; i < artifact::count(scalars); ++i) write_next(stream, *scalars->Get(i), kept[i]);
}

} // namespace longwave::runtime

using namespace longwave;
using namespace longwave::runtime;

lw_status lw_stream_set(lw_stream *stream, const char *name, float value) {
    if (!stream || !name) return fail(LW_INVALID_ARGUMENT, "stream or name is NULL");
    const fb::HostScalar *const scalar = find_scalar(*stream->model, name);
    if (!scalar) return no_such_scalar(*stream->model, name);
    if (!in_range(*scalar, value))
        return fail(LW_INVALID_ARGUMENT,
                    {"the value for scalar ", name, " is NaN, or not within lw_scalar_info.low and high"});
    if (stream->state->life == Life::failed) return not_open(*stream);
    if (lw_status status = end_blocks(*stream)) return status;
    write_next(*stream, *scalar, value);
    return wait(*stream);
}

lw_status lw_stream_get(const lw_stream *stream, const char *name, float *value) {
    if (!stream || !name || !value) return fail(LW_INVALID_ARGUMENT, "stream, name or value is NULL");
    const fb::HostScalar *const scalar = find_scalar(*stream->model, name);
    if (!scalar) return no_such_scalar(*stream->model, name);
    if (stream->state->life == Life::failed) return not_open(*stream);
    if (lw_status status = end_blocks(const_cast<lw_stream &>(*stream))) return status;
    const float next = read_scalar(*stream, *scalar, ScalarNumber::next);
    if (lw_status status = wait(*stream)) return status;
    *value = next;
    return LW_OK;
}
