// What the kinds of CHELA fixtures have in common.
#pragma once
#include "tests/oracles/kinds.h"
#include <span>

namespace longwave::oracles {

double peak_of(std::span<const float> values);
// The list of a branches layer.
nlohmann::json short_branches(const nlohmann::json &config);
// The list of one input of features.
nlohmann::json features(const std::string &name, size_t width);
// Every sequence of a batch: in.x (B, L, width), or in.ids (B, L). Sets the trial's length.
Status add_sequences(const Fixture &fixture, Trial &trial);
// ref.<what>, if there is one, against the output of that name, one part a sequence. `whole` false:
// only where it streams.
Status compare(const Fixture &fixture, const std::string &what, double limit, Trial &trial,
               bool whole = true);

} // namespace longwave::oracles
