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

class Storage {
public:
    // `counted`: for drafts, which need the buffers and never the bytes.
    enum class Weights : uint8_t { kept, counted };
    explicit Storage(Weights mode = Weights::kept) : mode_(mode) {}

    // Packed little-endian bytes; 64-aligned in the segment. Equal bytes give the same buffer.
    BufferId weights(const std::string &name, Packed packed);
    // A buffer that prepare steps fill, found again by `key`. *fresh says whether the caller must
    // add those steps.
    BufferId derived(const std::string &key, uint64_t bytes, bool *fresh);

    EntryPlan &prepare() { return prepare_; }
    const Buffer &buffer(BufferId id) const { return buffers_[id & ~shared_buffer]; }
    uint64_t weight_bytes() const { return weight_bytes_; }
    std::vector<artifact::SegmentPart> take_weights(); // the segment, once
    uint64_t derived_bytes() const { return derived_bytes_; }
    const EntryPlan &prepare() const { return prepare_; }

private:
    BufferId add(const std::string &name, uint64_t bytes);

    Weights mode_;
    std::vector<Buffer> buffers_;
    std::vector<artifact::SegmentPart> weights_;
    uint64_t weight_bytes_ = 0, derived_bytes_ = 0;
    std::map<std::string, BufferId> by_hash_, by_key_;
    EntryPlan prepare_{.kind = EntryPlan::Kind::prepare};
};

// Between which steps each buffer of an entry is alive.

// Sets Buffer::first and last, and the period of the plan.
void measure_lifetimes(EntryPlan &plan);

} // namespace longwave::compiler
