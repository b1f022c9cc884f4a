#include "formats/artifact/abi.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include <cstring>

namespace longwave::artifact {

void kernel_hash(const fb::Kernel &kernel, uint8_t (&hash)[hash_bytes]) {
    Hasher hasher;
    hasher.update(kernel.spec()->c_str(), kernel.spec()->size() + 1);
    for (uint32_t i = 0; i < count(kernel.args()); ++i) {
        const fb::KernelArg &arg = *kernel.args()->Get(i);
        const uint8_t kinds[2] = {static_cast<uint8_t>(arg.kind()), static_cast<uint8_t>(arg.elem())};
        const uint16_t alignment = arg.alignment();
        const int32_t bounds[2] = {arg.high(), arg.multiple()};
        const uint32_t dims = count(arg.dims());
        hasher.update(kinds, sizeof kinds);
        hasher.update(&alignment, sizeof alignment);
        hasher.update(bounds, sizeof bounds);
        hasher.update(&dims, sizeof dims);
        if (dims > 0)
            hasher.update(arg.dims()->Data(), dims * sizeof(fb::Dim)); // a fixed little-endian struct
    }
    hasher.finish(hash);
}

uint64_t kernel_abi(const fb::Kernel &kernel) {
    uint8_t digest[hash_bytes];
    kernel_hash(kernel, digest);
    uint64_t abi;
    memcpy(&abi, digest, sizeof abi);
    return abi;
}

} // namespace longwave::artifact
