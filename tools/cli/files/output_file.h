// The file that a command writes.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::cli {

// Call it before the work. Fault::usage: `path` is one of the files that the command reads, under
// any name. Fault::device: no file can be written there. The message names `flag`.
Status check_output(const std::string &flag, const std::string &path, const std::vector<std::string> &inputs);

// Replaces the file atomically: after any failure or signal the path has the old or the new
// content. Follows links. Writes directly to devices and pipes.
Status write_output(const std::string &path, std::span<const uint8_t> bytes);

} // namespace longwave::cli
