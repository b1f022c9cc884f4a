// The safetensors format: 8 bytes of header length, a JSON header, the tensors' bytes without gaps.
#pragma once
#include "formats/package/package.h"
#include <span>

namespace longwave::package {

// The same as read_safetensors on bytes in memory; `source` names them in messages. Reports every
// wrong tensor, one line each. Element types: F32 as it is; F16, BF16 and BOOL (0 or 1) exactly;
// F64 and I64 rounded to the nearest float32 (I64 is exact up to 2^24; an F64 beyond the float32
// range becomes infinite, which the package reader then refuses). Any other type is refused by
// name.
Expected<std::map<std::string, Tensor>> parse_safetensors(std::span<const uint8_t> bytes,
                                                          const std::string &source);

// The same as read_safetensors. Tensors of F32 and BF16 stay in a file of at least `mapped_from`
// bytes.
Expected<std::map<std::string, Tensor>> read_safetensors(const std::string &path, uint64_t mapped_from);

} // namespace longwave::package
