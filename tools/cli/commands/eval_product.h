// What a product team asks of a keyword model, beyond the clips: how late, for whom, in which
// noise, and at which price in false accepts.
#pragma once
#include "formats/artifact/view.h"
#include "tools/cli/audio/audio_flags.h"
#include "tools/cli/audio/spotter.h"
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

struct ProductFlags {
    const std::string &clips;
    const std::vector<std::string> &negatives, &noise, &curve;
    const AudioFlags &audio;
    double quiet_ms;
    uint64_t seed;
};

// Call it before the work. Fault::usage: a curve without words and negatives, a suffix other than
// .csv and .svg, or the file of the model.
Status check_curves(const std::vector<std::string> &files, bool possible, const std::string &model);

// Adds "words" and, with negatives, "curve" to `json`, and writes the files of --curve.
Status evaluate_product(const ProductFlags &flags, const artifact::View &artifact, const Model &model,
                        const Spotter &spotter, nlohmann::ordered_json &json);
void print_product(const nlohmann::ordered_json &json); // on stderr

} // namespace longwave::cli
