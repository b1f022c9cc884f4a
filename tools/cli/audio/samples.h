// Inputs of a model: from files, or generated.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <cstdint>
#include <string>
#include <vector>

namespace longwave::cli {

// A small, fast generator with the same numbers on every machine, unlike the distributions of
// <random>.
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

// Generates `rows` ticks of every input: audio with a level like speech, normal features, random
// ids.
Sequence made_up(const Model &model, size_t rows, uint64_t seed);

// One value per input: "name=@file.npy", "name=@file.wav" or "name=ROWS[xWIDTH]" (generated). A
// model with one input needs no name. `most`: rows that the run takes; generated rows are counted
// before they are made.
Expected<Sequence> read_inputs(const Model &model, const std::vector<std::string> &given, bool resample,
                               uint32_t channel, uint64_t most);

} // namespace longwave::cli
