#include "runtime/core/code.h"
#include "formats/artifact/hash.h"
#include <cstring>

namespace longwave::runtime {

Code::Fault Code::load(artifact::Bytes image, const uint8_t *expected_hash,
                       const flatbuffers::Vector<uint32_t> &entries, Function *table) {
    base_ = platform::allocate_code(image.size);
    if (!base_) return Fault::memory;
    bytes_ = image.size;
    release_ = [](const Code &code) { platform::release_code(code.base_, code.bytes_); };
    memcpy(base_, image.data, image.size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(base_, image.size, digest);
    if (!artifact::equal_hash(digest, expected_hash)) {
        unload();
        return Fault::hash;
    }
    if (!platform::make_executable(base_, bytes_)) {
        unload();
        return Fault::protect;
    }
    for (uint32_t k = 0; k < entries.size(); ++k)
        table[k] = reinterpret_cast<Function>(base_ + entries.Get(k));
    functions_ = table;
    return Fault::none;
}

} // namespace longwave::runtime
