// Changes to artifacts that keep them well formed on the outside, so that what is tried lies behind
// the hashes: deep in the rules, and beyond them.
#pragma once
#include <cstdint>
#include <vector>

namespace longwave::fuzz {

// Gives the kernels, segments and header of the file the hashes its bytes have, as far as header
// and plan can be read at all. `segments`: of segments as well, which takes longest.
void renew_hashes(std::vector<uint8_t> &bytes, bool segments = true);

// The root hash alone.
void renew_root(std::vector<uint8_t> &bytes);

// The same artifact with a few numbers of its plan changed, or with a step, argument, port, ...
// repeated, removed or moved. Empty when the plan cannot be read.
std::vector<uint8_t> mutated_plan(const std::vector<uint8_t> &bytes, uint32_t seed);

} // namespace longwave::fuzz
