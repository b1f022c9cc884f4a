// Reads a whole regular file.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::package {

// Fault::input with the path and the system's words: missing, not permitted, a folder or device, longer than
// `limit` bytes.
Expected<std::vector<uint8_t>> read_file(const std::string &path, uint64_t limit);

} // namespace longwave::package
