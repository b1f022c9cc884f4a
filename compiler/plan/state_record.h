// The state of a stream: the fields that all stream entries of an artifact read and update.
//
// The ops declare the state: older rows of a value (history) and recurrent values (carry).
// Algorithms and targets add nothing to it. They may only ask for more rows of a history (`keeps`)
// and for a larger ring. What an algorithm derives from the past (spectra, running sums) is a cache
// of one entry.
#pragma once
#include "compiler/ir/graph.h"
#include "compiler/ir/step.h"
#include "formats/base/expected.h"
#include <map>
#include <optional>
#include <tuple>

namespace longwave::compiler {

enum class StateKind : uint8_t {
    history, // the newest rows of a value, in a ring
    carry    // recurrent state: an op updates it in place
};

struct StateField {
    std::string layer, name;
    StateKind kind = StateKind::carry;
    Elem elem = Elem::f32;
    std::vector<uint32_t> dims; // slowest first; history: rows of the ring, elements of a row
    // history: rows of a value with this clock, row r in ring slot r mod dims[0]
    ir::Clock clock;
    // A history that lies channel by channel: rows of its ring, and elements of a row by row. Its dims are
    // channels and slots: the first rows of the ring stand again behind its end. 0: row by row.
    uint32_t ring = 0, row = 0;
    uint32_t needs = 0;               // history: rows that a saved state must have
    uint32_t keeps = 0;               // history: rows that this artifact saves; at least `needs`
    uint64_t offset = 0;              // 64-aligned; StateRecord::arrange sets it
    std::optional<BufferId> initial;  // weights with the bytes of a new stream; none: zeros
    std::optional<HostScalar> scalar; // that it holds

    uint64_t bytes() const { return bytes_of(elem, dims); }
};

class StateRecord {
public:
    // Declares the history of a value, or finds it again by layer and name.
    BufferId history(StateField field);
    // Declares recurrent state, or finds it again: every entry asks for it. `op` distinguishes two
    // ops of a layer that use the same name.
    BufferId carry(const std::string &layer, const std::string &name, const std::string &op, Elem elem,
                   const std::vector<uint32_t> &dims);
    // What a new stream has in a field: weights of as many bytes. All entries give the same.
    void begin(BufferId field, BufferId weights) { fields_[field & ~state_buffer].initial = weights; }
    // The field holds the numbers of a scalar. Several fields may hold one.
    Status hold(BufferId field, const HostScalar &scalar);
    // Sorts the fields by layer and name and sets their offsets, when all entries are planned. So
    // the order does not depend on planning.
    void arrange();

    // In the order of declaration; after `arrange` in that of the state.
    std::vector<const StateField *> fields() const;
    const StateField &at(BufferId id) const { return fields_[id & ~state_buffer]; }
    uint64_t bytes() const { return bytes_; } // after `arrange`

private:
    BufferId add(StateField field, const std::string &op);

    std::vector<StateField> fields_; // by number of the buffer
    std::vector<size_t> order_;
    std::map<std::tuple<std::string, std::string, std::string>, BufferId> known_; // layer, name, op
    uint64_t bytes_ = 0;
};

} // namespace longwave::compiler
