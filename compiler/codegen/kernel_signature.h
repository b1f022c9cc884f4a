// What longwave-kgen tells about a kernel beside its object.
#pragma once
#include "formats/base/expected.h"
#include "schedules/contract/kernel.h"
#include <string>

namespace longwave::compiler {

// {"args":[{"name":"x","kind":"input","elem":"f32","dims":[[96,1],[4,96]]}, …],"scratch_bytes":0}
// Keys that are not known mean nothing. Fault::internal says what is wrong: whoever wrote the text
// is a program of ours, or somebody else.
Expected<schedules::Signature> parse_signature(const std::string &text);

} // namespace longwave::compiler
