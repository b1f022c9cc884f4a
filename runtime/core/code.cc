#include "runtime/core/code.h"
#include "formats/artifact/hash.h"
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>

namespace longwave::runtime {

uint64_t Code::memory_for(uint64_t image_bytes) {
    const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
    return (image_bytes + page - 1) / page * page;
}

Code::Fault Code::load(artifact::Bytes image, const uint8_t *expected_hash,
                       const flatbuffers::Vector<uint32_t> &entries, Function *table) {
    const uint64_t bytes = memory_for(image.size);
    void *memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Fault::memory;
    base_ = static_cast<uint8_t *>(memory);
    mapped_ = bytes;
    release_ = [](const Code &code) { munmap(code.base_, code.mapped_); };
    memcpy(base_, image.data, image.size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(base_, image.size, digest);
    if (!artifact::equal_hash(digest, expected_hash)) {
        unload();
        return Fault::hash;
    }
    if (mprotect(base_, mapped_, PROT_READ | PROT_EXEC) != 0) {
        unload();
        return Fault::protect;
    }
    __builtin___clear_cache(reinterpret_cast<char *>(base_), reinterpret_cast<char *>(base_ + image.size));
    for (uint32_t k = 0; k < entries.size(); ++k)
        table[k] = reinterpret_cast<Function>(base_ + entries.Get(k));
    functions_ = table;
    return Fault::none;
}

} // namespace longwave::runtime
