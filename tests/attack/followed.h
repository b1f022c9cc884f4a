// Kernels that follow indices (an embedding, a banded matrix) trust what lies there: the compiler's
// promise, not the verifier's. A mutant may run when it left that promise alone.
#pragma once
#include "formats/artifact/view.h"
#include <cstdint>
#include <vector>

namespace longwave::attack {

// Whether a step of this entry calls a kernel that follows indices.
bool follows_indices(const fb::Plan &plan, const fb::Entry &entry);

class Followed {
public:
    // `artifact`: the original, which is sound.
    explicit Followed(const std::vector<uint8_t> &artifact);

    // The kernels that follow indices are called as in the original, with the same indices where
    // those are weights. Where they are token ids, no other step, port or field is new to their
    // space. `file`: the bytes of the view.
    bool same(const uint8_t *file, const artifact::View &mutant) const;

private:
    std::vector<uint8_t> original_; // what must be the same
};

} // namespace longwave::attack
