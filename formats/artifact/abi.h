// The number that ties a kernel's code to the argument list the plan was checked against.
#pragma once
#include "formats/artifact/schema.h"
#include <cstdint>

namespace longwave::artifact {

// BLAKE2b-256 over: the text of the specification, a zero byte, then for each argument kind u8,
// elem u8, alignment u16, high i32, multiple i32, number of dimensions u32, and for each dimension
// extent u32, stride i32.
void kernel_hash(const fb::Kernel &kernel, uint8_t (&hash)[32]);
// Its first 8 bytes, little-endian.
uint64_t kernel_abi(const fb::Kernel &kernel);

} // namespace longwave::artifact
