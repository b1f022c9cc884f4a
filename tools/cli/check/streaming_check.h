// The promise that a stream equals the whole, tried on this machine through the runtime.
//
// Two questions, two costs. Does the stream compute what the whole computes? One pass over the full capacity
// in pushes of a block, against the whole-sequence entry. Does the result depend on how the input is cut?
// Cutting changes only how samples and rows are staged, the kernels see the same blocks: one more pass over
// the full capacity in random pushes, so that every position of every ring is reached, and many short random
// cuttings of the first blocks.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

struct Proof {
    std::string variant;
    uint32_t block = 0; // of the stream entry
    // Input ticks of the window that the stream slides, and of its delay; 0: it slides none. Then each window
    // is compared with a run of it, whose plan it shares: limit 0.
    uint32_t window = 0, delay = 0;
    uint64_t ticks = 0, rows = 0; // compared, and once more cut at random
    double largest_error = 0;     // of stream against whole, relative to the largest value of the output
    double limit = 0;
    unsigned cuts = 0; // short random cuttings into pushes, each of a fresh stream that ends within a block
    uint64_t cut_ticks = 0; // ticks of each
    bool compared = false;  // false: no whole-sequence entry to compare with
    bool bit_equal = true;  // all cuttings gave the bits of block-sized pushes
    bool holds() const { return bit_equal && largest_error <= limit; }
};

// What float32 arithmetic in two orders may differ by (formats/artifact/precision.h).
double stream_limit(const Model &model);

Expected<Proof> prove_stream(const Model &model, unsigned cuts = 20, uint32_t entry = 0);
nlohmann::ordered_json to_json(const Proof &proof);
std::string to_text(const Proof &proof);

} // namespace longwave::cli
