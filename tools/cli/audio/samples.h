// Inputs of a model: from files, or made up.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

// Small, fast and the same everywhere, unlike the distributions of <random>.
class Random {
public:
    explicit Random(uint64_t seed) : state_(seed) {}
    uint64_t next();
    uint64_t below(uint64_t n) { return next() % n; }
    double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; } // [0, 1)
    double normal();

private:
    uint64_t state_;
};

// `rows` ticks of every input: audio that rises and falls like speech, normal features, random ids.
Sequence made_up(const Model &model, size_t rows, uint64_t seed);

// From "name=@file.npy", "name=@file.wav" or "name=ROWS[xWIDTH]" (made up), one for each input; the name may
// be left out when there is one input.
Expected<Sequence> read_inputs(const Model &model, const std::vector<std::string> &given, bool resample,
                               uint32_t channel);

} // namespace longwave::cli
