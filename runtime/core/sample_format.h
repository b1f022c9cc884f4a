// Which sample formats an input takes, and what the options of a C caller say.
#pragma once
#include "formats/artifact/schema.h"
#include "longwave/longwave.h"

namespace longwave::runtime {

bool format_fits(lw_sample_format format, fb::InputKind kind);
const char *name_of(lw_sample_format format);
// The format whose values an input takes as they are.
lw_sample_format plain_format(fb::InputKind kind);
// The format of a C caller's options. LW_INVALID_ARGUMENT: the value is not an enumerator, or
// it is 0 and `kind` is audio, which has no default. `options`: name of the struct.
lw_status read_format(const char *options, fb::InputKind kind, lw_sample_format *format);

} // namespace longwave::runtime
