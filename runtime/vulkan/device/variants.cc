#include "runtime/vulkan/device/variants.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/schema.h"
#include <new>
#include <string.h>

namespace longwave::runtime::vulkan {

void Choices::lay_out(const fb::Plan &plan, Parts &parts) {
    n_ = plan.kernels()->size();
    list_ = parts.take<Choice>(n_);
    for (uint32_t k = 0; list_ && k < n_; ++k) new (list_ + k) Choice{};
}

bool Choices::recall(const Gpu &gpu, const artifact::ModulesView &modules, const uint8_t *artifact) {
    Block block;
    const uint8_t *data = nullptr;
    uint64_t bytes = 0;
    if (!gpu.cache.read(Cache::Kind::variants, artifact, gpu.allocator, &block, &data, &bytes)) return false;
    bool good = bytes == n_ * sizeof(Choice);
    if (good) memcpy(list_, data, bytes);
    block.release(gpu.allocator);
    for (uint32_t k = 0; k < n_ && good; ++k)
        good = list_[k].number == 0 || (modules.of_kernel(k) && list_[k].number < modules.variants_of(k));
    for (uint32_t k = 0; k < n_ && !good; ++k) list_[k] = {};
    return good;
}

void Choices::keep(const Gpu &gpu, const uint8_t *artifact) const {
    gpu.cache.write(Cache::Kind::variants, artifact, list_, n_ * sizeof(Choice));
}

void Choices::hash(uint8_t (&digest)[artifact::hash_bytes]) const {
    artifact::Hasher hasher;
    for (uint32_t k = 0; k < n_; ++k) hasher.update(&list_[k].number, sizeof list_[k].number);
    hasher.finish(digest);
}

} // namespace longwave::runtime::vulkan
