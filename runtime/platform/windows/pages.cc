#include "runtime/platform/pages.h"
#include "runtime/platform/windows/system.h"

namespace longwave::platform {

uint64_t code_bytes(uint64_t bytes) {
    SYSTEM_INFO info;
    GetSystemInfo(&info);
    return (bytes + info.dwPageSize - 1) / info.dwPageSize * info.dwPageSize;
}

uint8_t *allocate_code(uint64_t bytes) {
    return static_cast<uint8_t *>(
        VirtualAlloc(nullptr, code_bytes(bytes), MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

bool make_executable(uint8_t *code, uint64_t bytes) {
    DWORD before;
    return VirtualProtect(code, code_bytes(bytes), PAGE_EXECUTE_READ, &before) &&
           FlushInstructionCache(GetCurrentProcess(), code, bytes);
}

void release_code(uint8_t *code, uint64_t) { VirtualFree(code, 0, MEM_RELEASE); }

} // namespace longwave::platform
