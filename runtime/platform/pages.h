// Pages of memory that become code.
#pragma once
#include <cstdint>

namespace longwave::platform {

// What allocate_code takes for so many bytes: complete pages.
uint64_t code_bytes(uint64_t bytes);
// Memory for an image of code, of code_bytes(bytes). The caller fills it. Null: the system gives none.
uint8_t *allocate_code(uint64_t bytes);
// Makes what was written executable and no longer writable. False: the system does not allow it.
bool make_executable(uint8_t *code, uint64_t bytes);
void release_code(uint8_t *code, uint64_t bytes);

} // namespace longwave::platform
