// What a stream remembers: the fields of its state, declared once for all stream entries of an artifact,
// which advance the same state in blocks of their own.
#pragma once
#include "compiler/ir/step.h"
#include <map>
#include <tuple>

namespace longwave::compiler {

enum class StateKind : uint8_t {
    history, // the newest rows of a value, in a ring
    carry,   // what an op hands from row to row
    copy     // the past in a form that belongs to one block: only where one entry owns the stream
};

struct StateField {
    std::string layer, name;
    StateKind kind = StateKind::carry;
    Elem elem = Elem::f32;
    std::vector<uint32_t> dims; // slowest first
    uint64_t offset = 0;        // 64-aligned, in the order of declaration

    uint64_t bytes() const { return bytes_of(elem, dims); }
};

class StateRecord {
public:
    // Declares a field, or finds it again by layer, name and owner (the op in that layer, so that two of them
    // may call theirs alike); an entry that sees it otherwise than another is a defect.
    BufferId field(const std::string &layer, const std::string &name, const std::string &owner,
                   StateKind kind, Elem elem, const std::vector<uint32_t> &dims);

    const std::vector<StateField> &fields() const { return fields_; }
    const StateField &at(BufferId id) const { return fields_[id & ~state_buffer]; }
    uint64_t bytes() const { return bytes_; }

private:
    std::vector<StateField> fields_;
    std::map<std::tuple<std::string, std::string, std::string>, BufferId> known_;
    uint64_t bytes_ = 0;
};

} // namespace longwave::compiler
