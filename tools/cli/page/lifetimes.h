// Buffers of an entry's working memory, and the steps between which each is in use.
#pragma once
#include "formats/artifact/schema.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

struct Lifetime {
    uint64_t begin = 0, end = 0;  // bytes of the arena
    uint32_t first = 0, last = 0; // steps; the number of steps: until the end of the block
    std::string name;             // of the step that writes it, or of the input
};

// In the order of the writing steps. Several steps that write before any step reads, as for parts
// of one tensor, make one buffer. The plan must be verified.
std::vector<Lifetime> lifetimes(const fb::Plan &plan, const fb::Entry &entry);

} // namespace longwave::cli
