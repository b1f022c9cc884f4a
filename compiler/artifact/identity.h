// Which model a stream state belongs to. The compiler computes this from the package alone, so
// targets, lengths, tuning and later compiler passes do not change it.
#pragma once
#include "formats/package/package.h"
#include <array>
#include <map>
#include <string>

namespace longwave::compiler {

// The version of what a state contains: which values have a history, and what a carry means. Raise
// it with every change to an op, layer or pass that changes the contents of a field or its name.
// Saved states of another version do not load.
inline constexpr uint16_t state_schema = 1;

struct StateIdentity {
    uint16_t schema = state_schema;
    std::array<uint8_t, 32> model{};   // inputs, layers with their attributes, outputs
    std::array<uint8_t, 32> weights{}; // numbers of the tensors that the layers read, and their rounding
};

// BLAKE2b-256 hashes of the package. `rounding`: the value of --weights; rounded weights give other
// values, so they are other weights. Attributes at their default are left out, so that a new
// attribute with a default changes no identity. Weights count by layer and parameter, not by the
// key of their tensor.
StateIdentity identity_of(const package::Package &package, const std::string &rounding);

// Keys of the tensors that layers read, by layer and parameter: what the hash of the weights contains,
// in its order.
std::map<std::string, std::string> parameters_of(const package::Package &package);

} // namespace longwave::compiler
