#include "compiler/plan/state_record.h"
#include "compiler/plan/rounding.h"
#include <algorithm>

namespace longwave::compiler {

BufferId StateRecord::field(const std::string &layer, const std::string &name, const std::string &owner,
                            StateKind kind, Elem elem, const std::vector<uint32_t> &dims) {
    const auto [entry, fresh] =
        known_.try_emplace({layer, name, owner}, state_buffer | static_cast<BufferId>(fields_.size()));
    if (fresh) {
        const bool taken = std::any_of(fields_.begin(), fields_.end(), [&](const StateField &field) {
            return field.layer == layer && field.name == name;
        });
        fields_.push_back({.layer = layer,
                           .name = taken ? name + " of " + owner : name,
                           .kind = kind,
                           .elem = elem,
                           .dims = dims,
                           .offset = bytes_});
        bytes_ = to_lines(bytes_ + fields_.back().bytes());
    }
    return entry->second;
}

} // namespace longwave::compiler
