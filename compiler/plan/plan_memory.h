// Gives every buffer of an entry its offset: state buffers one after the other, arena buffers
// wherever their lifetimes leave room. Why here: last before bytes; only now are all buffers and
// all steps known. Needs: lifetimes (measure_lifetimes). Keeps: two buffers alive in the same step
// never overlap (artifact rule V10). Fails: never.
#pragma once
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/write.h"
#include <map>

namespace longwave::compiler {

void plan_memory(EntryPlan &plan);
std::string print(const EntryPlan &plan); // steps and buffers, for --dump-after plan_memory

// The memory that all entries share: weights in the layouts of the kernels (equal bytes are stored
// once), and buffers that the `prepare` entry fills when the model is opened.

// Numbers that the artifact stores once.
struct StoredNumbers {
    std::string name; // layer and what they are: "block.0.conv.weight"
    Elem elem = Elem::f32;
    artifact::SegmentPart part;
};

class Storage {
public:
    // `counted`: for drafts, which need the buffers and never the bytes.
    enum class Weights : uint8_t { kept, counted };
    explicit Storage(Weights mode = Weights::kept) : mode_(mode) {}
    // Numbers lie together only if they also do in `like`, the same model with other numbers: what is
    // equal by chance gets a place of its own.
    static Storage like(const Storage &other) {
        Storage storage;
        storage.digests_to_match_ = other.digests_;
        return storage;
    }

    // Packed little-endian bytes; 64-aligned in the segment. Equal bytes give the same buffer.
    BufferId weights(const std::string &name, Packed packed);
    // A buffer that prepare steps fill, found again by `key`. *fresh says whether the caller must
    // add those steps.
    BufferId derived(const std::string &key, uint64_t bytes, bool *fresh);

    EntryPlan &prepare() { return prepare_; }
    const Buffer &buffer(BufferId id) const { return buffers_[id & ~shared_buffer]; }
    uint64_t weight_bytes() const { return weight_bytes_; }
    const std::vector<StoredNumbers> &stored() const { return weights_; } // in order; until they are taken
    std::vector<artifact::SegmentPart> take_weights();                    // the segment, once
    uint64_t derived_bytes() const { return derived_bytes_; }
    const EntryPlan &prepare() const { return prepare_; }

private:
    BufferId add(const std::string &name, uint64_t bytes);

    Weights mode_;
    std::vector<Buffer> buffers_;
    std::vector<StoredNumbers> weights_;
    uint64_t weight_bytes_ = 0, derived_bytes_ = 0;
    std::map<std::string, BufferId> by_hash_, by_key_;
    std::vector<std::string> digests_, digests_to_match_; // of all numbers that were given, in order
    EntryPlan prepare_{.kind = EntryPlan::Kind::prepare};
};

// Between which steps each buffer of an entry is alive.

// Sets Buffer::first and last, and the period of the plan.
void measure_lifetimes(EntryPlan &plan);

} // namespace longwave::compiler
