#include "runtime/core/sample_format.h"
#include "runtime/core/status.h"
#include <cstring>

namespace longwave::runtime {

bool format_fits(lw_sample_format format, fb::InputKind kind) {
    switch (format) {
    case LW_F32: return kind != fb::InputKind::tokens;
    case LW_S16: return kind == fb::InputKind::audio;
    case LW_I32: return kind == fb::InputKind::tokens;
    case LW_FORMAT_FORCE: break;
    }
    return false;
}

const char *name_of(lw_sample_format format) {
    return format == LW_F32 ? "LW_F32" : format == LW_S16 ? "LW_S16" : "LW_I32";
}

lw_sample_format plain_format(fb::InputKind kind) { return kind == fb::InputKind::tokens ? LW_I32 : LW_F32; }

lw_status read_format(const char *options, fb::InputKind kind, lw_sample_format *format) {
    uint32_t value;
    static_assert(sizeof value == sizeof *format);
    memcpy(&value, format, sizeof value);
    if (value > LW_I32)
        return fail(LW_INVALID_ARGUMENT,
                    {options, ".format is ", value, ": expected LW_F32, LW_S16 or LW_I32"});
    if (value > 0) return LW_OK;
    if (kind == fb::InputKind::audio)
        return fail(LW_INVALID_ARGUMENT, {options, ".format is not set: LW_S16 or LW_F32"});
    *format = plain_format(kind);
    return LW_OK;
}

} // namespace longwave::runtime
