// Test models whose artifacts have a state identity, so that they save their state by the names of
// fields.
#pragma once
#include "formats/artifact/hash.h"
#include "runtime/stream/saved_state.h"
#include "tests/support/tiny_model.h"
#include <algorithm>
#include <cstring>

namespace longwave::test {

// The draft with an identity, its fields named in ascending order ("0", "1", ...). Histories keep
// all rows of their ring but one block of `block` rows, and need the newest `needs` of these.
inline Draft named_state(Draft draft, uint32_t block, uint32_t needs) {
    uint32_t number = 0;
    for (auto &field : draft.plan.state) {
        field->layer = std::to_string(number++);
        if (field->kind != fb::StateKind::history) continue;
        const uint32_t rows = field->dims[0];
        field->keeps = rows - std::min(block, rows);
        field->needs = std::min(needs, field->keeps);
    }
    draft.plan.identity = std::make_unique<fb::StateIdentityT>();
    draft.plan.identity->schema = 1;
    draft.plan.identity->model.assign(32, 11);
    draft.plan.identity->weights.assign(32, 22);
    return draft;
}

// Gives changed bytes of a saved state their size and checksum.
inline void seal(std::vector<uint8_t> &saved) {
    runtime::SavedState head;
    if (saved.size() < sizeof head) return;
    memcpy(&head, saved.data(), sizeof head);
    head.bytes = saved.size();
    head.checksum = 0;
    memcpy(saved.data(), &head, sizeof head);
    uint8_t hash[artifact::hash_bytes];
    artifact::hash(saved.data(), saved.size(), hash);
    memcpy(&head.checksum, hash, sizeof head.checksum);
    memcpy(saved.data(), &head, sizeof head);
}

} // namespace longwave::test
