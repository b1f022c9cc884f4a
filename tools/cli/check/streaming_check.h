// The streaming check: a stream equals the offline run, tested on this machine through the runtime.
//
// 1. One pass over the full length, one block per push, compared with the offline run.
// 2. The result must not depend on how the input is cut. One pass in random pushes, over the full
//    length or as far as the longest golden vector, reaches every position of every ring and every
//    lag. Many short passes cut the first blocks at random.
//
// Models of gigabytes get shorter passes. Each is still as long as the longest golden vector.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

struct StreamCheck {
    std::string variant;
    uint32_t block = 0; // of the stream entry
    // --window streams: input ticks of the window and of the delay; 0: no window. Each window is
    // compared with an offline run over it. Both have the same plan, so the limit is 0.
    uint32_t window = 0, delay = 0;
    uint64_t ticks = 0, rows = 0; // compared, and then cut at random
    double largest_error = 0;     // relative to the largest value of the output
    double limit = 0;
    unsigned cuts = 0;       // number of short random cuttings, each of a new stream
    uint64_t cut_ticks = 0;  // ticks of each
    uint64_t long_ticks = 0; // of the pass in random pushes
    bool compared = false;   // false: the model has no offline run
    bool bit_equal = true;   // all cuttings gave the same bits
    bool holds() const { return bit_equal && largest_error <= limit; }
};

// Input ticks of the first pass, of the pass in random pushes and of each short pass. `capacity`:
// of the offline run, 0 without one; `lags`: ticks_of_lags.
struct StreamPasses {
    size_t ticks = 0, long_ticks = 0, cut_ticks = 0;
};
StreamPasses passes_of(uint64_t artifact_bytes, size_t block, size_t capacity, size_t lags, unsigned cuts);

// Input ticks that exercise every lag of the model, from its report; 0: it does not say.
size_t ticks_of_lags(const Model &model);

// Largest difference of float32 sums in two orders (formats/artifact/precision.h).
double stream_limit(const Model &model);

Expected<StreamCheck> check_stream(const Model &model, unsigned cuts = 20, uint32_t entry = 0);
nlohmann::ordered_json to_json(const StreamCheck &check);
std::string to_text(const StreamCheck &check);

// The expected rows of a windowed stream (longwave compile --window): offline runs over each of its
// windows.

// Input ticks of the window of the model's stream; 0: the stream has no window, or offline runs
// have another length.
uint32_t window_of(const Model &model);

// The rows that a stream over `ticks` ticks of `in` must give, per output of the stream.
// One lw_run per window computes them. The input is zero after its end.
Expected<std::vector<std::vector<float>>> rows_of_windows(const Model &model, const Sequence &in,
                                                          size_t ticks);

} // namespace longwave::cli
