#include "compiler/planner/state_record.h"

namespace longwave::compiler {

namespace {
constexpr uint64_t alignment = 64;
} // namespace

BufferId StateRecord::field(const std::string &layer, const std::string &name, StateKind kind, Elem elem,
                            const std::vector<uint32_t> &dims) {
    const auto [entry, fresh] =
        known_.try_emplace({layer, name}, state_buffer | static_cast<BufferId>(fields_.size()));
    if (fresh) {
        fields_.push_back(
            {.layer = layer, .name = name, .kind = kind, .elem = elem, .dims = dims, .offset = bytes_});
        bytes_ = (bytes_ + fields_.back().bytes() + alignment - 1) / alignment * alignment;
    }
    return entry->second;
}

} // namespace longwave::compiler
