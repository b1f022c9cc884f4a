#include "compiler/planner/storage.h"

namespace longwave::compiler {

namespace {
constexpr uint64_t alignment = 64;
uint64_t aligned(uint64_t n) { return (n + alignment - 1) / alignment * alignment; }
} // namespace

BufferId Storage::weights(const std::string &name, const Packed &packed) {
    const size_t size = packed.bytes.size();
    std::string content(packed.bytes.begin(), packed.bytes.end());
    if (auto found = by_content_.find(content); found != by_content_.end()) return found->second;
    Buffer buffer{
        .name = name, .space = Space::weights, .bytes = size, .offset = aligned(weight_bytes_.size())};
    weight_bytes_.resize(buffer.offset);
    weight_bytes_.insert(weight_bytes_.end(), content.begin(), content.end());
    BufferId id = shared_buffer | static_cast<BufferId>(buffers_.size());
    buffers_.push_back(std::move(buffer));
    by_content_.emplace(std::move(content), id);
    return id;
}

BufferId Storage::derived(const std::string &key, uint64_t bytes, bool *fresh) {
    auto [entry, inserted] = by_key_.try_emplace(key, 0);
    *fresh = inserted;
    if (inserted) {
        entry->second = shared_buffer | static_cast<BufferId>(buffers_.size());
        buffers_.push_back({.name = key, .space = Space::derived, .bytes = bytes, .offset = derived_bytes_});
        derived_bytes_ = aligned(derived_bytes_ + bytes);
    }
    return entry->second;
}

} // namespace longwave::compiler
