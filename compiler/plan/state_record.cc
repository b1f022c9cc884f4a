#include "compiler/plan/state_record.h"
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/geometry.h"
#include <algorithm>
#include <fmt/format.h>
#include <set>

namespace longwave::compiler {

BufferId StateRecord::add(StateField field, const std::string &op) {
    const auto [entry, fresh] = known_.try_emplace({field.layer, field.name, op},
                                                   state_buffer | static_cast<BufferId>(fields_.size()));
    if (!fresh) return entry->second;
    const bool taken = std::any_of(fields_.begin(), fields_.end(), [&](const StateField &other) {
        return other.layer == field.layer && other.name == field.name;
    });
    if (taken) field.name += " of " + op;
    order_.push_back(fields_.size());
    fields_.push_back(std::move(field));
    return entry->second;
}

BufferId StateRecord::history(StateField field) {
    field.kind = StateKind::history;
    return add(std::move(field), "");
}

BufferId StateRecord::carry(const std::string &layer, const std::string &name, const std::string &op,
                            Elem elem, const std::vector<uint32_t> &dims) {
    return add({.layer = layer, .name = name, .elem = elem, .dims = dims}, op);
}

Status StateRecord::hold(BufferId field, const HostScalar &scalar) {
    std::set<std::string> names{scalar.name};
    for (const StateField &other : fields_) {
        if (!other.scalar) continue;
        names.insert(other.scalar->name);
        if (other.scalar->name == scalar.name && !(*other.scalar == scalar))
            return Status::input(
                fmt::format("scalar {} is also one of layer {}, with another unit, initial number, "
                            "range or smoothing; give both the same, or other names",
                            scalar.name, other.layer));
    }
    if (names.size() > artifact::most_host_scalars)
        return Status::input(fmt::format("a model has at most {} scalars", artifact::most_host_scalars));
    fields_[field & ~state_buffer].scalar = scalar;
    return Status::ok();
}

void StateRecord::arrange() {
    std::sort(order_.begin(), order_.end(), [&](size_t a, size_t b) {
        return std::tie(fields_[a].layer, fields_[a].name) < std::tie(fields_[b].layer, fields_[b].name);
    });
    bytes_ = 0;
    for (size_t i : order_) {
        fields_[i].offset = bytes_;
        bytes_ = to_lines(bytes_ + fields_[i].bytes());
    }
}

std::vector<const StateField *> StateRecord::fields() const {
    std::vector<const StateField *> list;
    for (size_t i : order_) list.push_back(&fields_[i]);
    return list;
}

} // namespace longwave::compiler
