#include "runtime/platform/pages.h"
#include <sys/mman.h>
#include <unistd.h>

namespace longwave::platform {

uint64_t code_bytes(uint64_t bytes) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return (bytes + page - 1) / page * page;
}

uint8_t *allocate_code(uint64_t bytes) {
    void *memory =
        mmap(nullptr, code_bytes(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<uint8_t *>(memory);
}

bool make_executable(uint8_t *code, uint64_t bytes) {
    if (mprotect(code, code_bytes(bytes), PROT_READ | PROT_EXEC) != 0) return false;
    __builtin___clear_cache(reinterpret_cast<char *>(code), reinterpret_cast<char *>(code + bytes));
    return true;
}

void release_code(uint8_t *code, uint64_t bytes) { munmap(code, code_bytes(bytes)); }

} // namespace longwave::platform
