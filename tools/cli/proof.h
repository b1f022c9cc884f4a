// The promise that a stream equals the whole, tried on this machine through the runtime.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

struct Proof {
    std::string variant;
    uint64_t ticks = 0, rows = 0; // compared
    double largest_error = 0;     // of stream against whole, relative to the largest value of the output
    double limit = 0;
    unsigned cuts = 0;     // random cuttings of the input into pushes
    bool compared = false; // false: no whole-sequence entry to compare with
    bool bit_equal = true; // all cuttings gave the bits of block-sized pushes
    bool holds() const { return bit_equal && largest_error <= limit; }
};

// What float32 arithmetic in two orders may differ by, relative to peak.
inline constexpr double stream_limit = 5e-5;

Expected<Proof> prove_stream(const Model &model, unsigned cuts = 20);
nlohmann::ordered_json to_json(const Proof &proof);
std::string to_text(const Proof &proof);

} // namespace longwave::cli
