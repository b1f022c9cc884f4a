// What a file is that is no compiled model, told by its first bytes, and what to do with it.
#pragma once
#include "formats/base/status.h"
#include <string>
#include <string_view>

namespace longwave::cli {

// Fault::input, with the kind of the file and the way out, if the bytes are of a kind that is known
// here. A compiled model is none: also a damaged one, whose first bytes are still its own.
Status refuse_other_file(const std::string &path, std::string_view first_bytes);

// The same of the file at this path. One that cannot be read is left to whoever opens it.
Status refuse_other_file(const std::string &path);

} // namespace longwave::cli
