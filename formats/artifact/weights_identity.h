// Which weights a saved state belongs to: a hash of the numbers that the layers read, whatever the
// layout they are stored in. Of the compiler, and of who exchanges the weights.
#pragma once
#include "formats/artifact/header.h"
#include "formats/base/float_array.h"
#include <array>
#include <cstdint>
#include <span>
#include <string>

namespace longwave::artifact {

// Shape and digest of a tensor, as the identity contains it. Numbers count as float32, whatever a file
// stores.
std::string identified(std::span<const uint64_t> shape, const FloatArray &numbers);

class WeightsIdentity {
public:
    explicit WeightsIdentity(const std::string &rounding) : text_(rounding) {}
    // In the order of their names.
    void add(const std::string &parameter, const std::string &tensor) { text_ += parameter + tensor; }
    std::array<uint8_t, hash_bytes> digest() const;

private:
    std::string text_;
};

} // namespace longwave::artifact
