// The curve of missed words against false accepts per hour, one threshold for all words, and the choice
// of a point.
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

// Audio without any word, one stream.
struct Negatives {
    Scores scores;
    std::vector<uint64_t> ends; // samples, by file
    double hours = 0;
};

// Thresholds 0.30, 0.325 ... 0.975, 0.99.
std::vector<CurvePoint> curve_of(const Scorer &scorer, const WordStream &words, const Negatives &negatives);

struct OperatingPoint {
    std::vector<float> thresholds; // by label, as those of the scorer, in thousandths
    uint64_t false_accepts = 0;
    bool shown = false; // whether the bound is at or below the wanted rate
};

// The lowest thresholds from which on the 95 % bound stays at or below `per_hour`. All words move alike, so
// they keep their distances. Where the negatives are too few to show the rate, or too hard: the lowest from
// which on the false accepts are as few as at the highest thresholds. Fault::usage: thresholds that cannot
// move together.
Expected<OperatingPoint> operating_point(const Scorer &scorer, const Negatives &negatives, double per_hour);
std::string curve_csv(const std::vector<CurvePoint> &points);
// For light and dark pages. `chosen`: the point of the settings in force, which may have a
// threshold per word.
std::string curve_svg(const std::vector<CurvePoint> &points, const CurvePoint &chosen,
                      const std::string &model);
nlohmann::ordered_json to_json(const CurvePoint &point);

} // namespace longwave::cli
