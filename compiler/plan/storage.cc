#include "compiler/plan/storage.h"
#include "compiler/plan/rounding.h"
#include "formats/artifact/hash.h"
#include <iterator>

namespace longwave::compiler {

BufferId Storage::weights(const std::string &name, Packed packed) {
    const size_t size = packed.bytes.size();
    if (mode_ == Weights::counted) return add(name, size);
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(packed.bytes.data(), size, digest);
    const auto [entry, inserted] = by_hash_.try_emplace(std::string(std::begin(digest), std::end(digest)), 0);
    if (!inserted) return entry->second;
    entry->second = add(name, size);
    weights_.push_back({buffer(entry->second).offset, std::move(packed.bytes)});
    return entry->second;
}

BufferId Storage::add(const std::string &name, uint64_t bytes) {
    const uint64_t offset = to_lines(weight_bytes_);
    buffers_.push_back({.name = name, .space = Space::weights, .bytes = bytes, .offset = offset});
    weight_bytes_ = offset + bytes;
    return shared_buffer | static_cast<BufferId>(buffers_.size() - 1);
}

std::vector<artifact::SegmentPart> Storage::take_weights() { return std::move(weights_); }

BufferId Storage::derived(const std::string &key, uint64_t bytes, bool *fresh) {
    auto [entry, inserted] = by_key_.try_emplace(key, 0);
    *fresh = inserted;
    if (inserted) {
        entry->second = shared_buffer | static_cast<BufferId>(buffers_.size());
        buffers_.push_back({.name = key, .space = Space::derived, .bytes = bytes, .offset = derived_bytes_});
        derived_bytes_ = to_lines(derived_bytes_ + bytes);
    }
    return entry->second;
}

} // namespace longwave::compiler
