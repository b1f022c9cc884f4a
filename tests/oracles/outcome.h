// What is told of a fixture: a line for people, or a line of JSON for programs.
#pragma once
#include "tests/oracles/trial.h"
#include <nlohmann/json.hpp>

namespace longwave::oracles {

struct Outcome {
    std::string name, kind; // of the fixture; kind: its operator, empty where the file does not tell
    std::vector<uint32_t> blocks;
    Status status; // of reading, compiling or running it; then nothing was measured, or not all
    std::vector<Measured> measured;
    std::string not_there{}; // why it, or a part of it, does not run on the device that was asked for

    bool passed() const; // all of it ran and is right
    // The one closest to its limit, or furthest beyond it; null without measurements.
    const Measured *worst() const;
};

// One line, and with `verbose` one more for each measurement.
std::string to_text(const Outcome &outcome, bool verbose);
// A line for each of Settings::targets, and one for the streams that take turns among them.
std::string by_target(const std::vector<Outcome> &outcomes, const std::vector<std::string> &targets);
// Keys: docs/testing.md. An error that is no number is null.
nlohmann::ordered_json to_json(const Outcome &outcome);

} // namespace longwave::oracles
