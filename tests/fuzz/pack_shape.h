// A small model that takes other weights: its recipe copies the nine taps.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::fuzz {

std::vector<uint8_t> pack_shape();
// A weights.safetensors with nine taps.
std::string pack_weights();

} // namespace longwave::fuzz
