// The curve of missed words against false accepts per hour, one threshold for all words.
#pragma once
#include "tools/cli/commands/eval_words.h"
#include <optional>
#include <string>
#include <vector>

namespace longwave::cli {

struct CurvePoint {
    float threshold = 0;
    uint64_t missed = 0, words = 0, false_accepts = 0;
    double hours = 0;
    double miss_rate() const { return words ? double(missed) / double(words) : 0; }
    double per_hour() const { return hours > 0 ? double(false_accepts) / hours : 0; }
    double per_hour_bound() const; // upper limit, 95 %, exact Poisson
};

// Thresholds 0.30, 0.325 ... 0.975, 0.99. `negatives`: audio without any word, one stream.
std::vector<CurvePoint> curve_of(const Scorer &scorer, const WordStream &words, const Scores &negatives,
                                 double hours);
std::string curve_csv(const std::vector<CurvePoint> &points);
// For light and dark pages. `chosen`: the point of the settings in force, which may have a
// threshold per word.
std::string curve_svg(const std::vector<CurvePoint> &points, const CurvePoint &chosen,
                      const std::string &model);
nlohmann::ordered_json to_json(const CurvePoint &point);

} // namespace longwave::cli
