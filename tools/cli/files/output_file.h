// The file that a verb writes.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace longwave::cli {

// Before the work: Fault::usage when `path` is one of the files that the same command reads, by whatever
// name; Fault::device when no file can be put there. `flag` is named in the message.
Status check_output(const std::string &flag, const std::string &path, const std::vector<std::string> &inputs);

// The old file or the whole new one, whatever happens and whatever signal comes; through links, and into
// devices and pipes.
Status write_output(const std::string &path, std::span<const uint8_t> bytes);

} // namespace longwave::cli
