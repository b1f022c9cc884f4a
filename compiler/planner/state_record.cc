#include "compiler/planner/state_record.h"
#include "compiler/planner/rounding.h"

namespace longwave::compiler {

BufferId StateRecord::field(const std::string &layer, const std::string &name, StateKind kind, Elem elem,
                            const std::vector<uint32_t> &dims) {
    const auto [entry, fresh] =
        known_.try_emplace({layer, name}, state_buffer | static_cast<BufferId>(fields_.size()));
    if (fresh) {
        fields_.push_back(
            {.layer = layer, .name = name, .kind = kind, .elem = elem, .dims = dims, .offset = bytes_});
        bytes_ = to_lines(bytes_ + fields_.back().bytes());
    }
    return entry->second;
}

} // namespace longwave::compiler
