// JSON objects on standard output, one per line. Each is written at once, because another program
// reads the pipe.
#pragma once
#include "tools/cli/output/json_line.h"
#include "tools/cli/text/text_output.h"
#include <cmath>

namespace longwave::cli {

class JsonLines {
public:
    void print(const nlohmann::ordered_json &line) { out_.write(json_line(line) + "\n"); }
    bool read() const { return out_.read(); } // false: the reader has closed the pipe
    Status status() const { return out_.status(); }

private:
    TextOutput out_;
};

// Whole numbers are printed without a decimal point.
inline nlohmann::ordered_json number(double value) {
    return value == std::floor(value) && std::fabs(value) < 1e9
               ? nlohmann::ordered_json(static_cast<int64_t>(value))
               : nlohmann::ordered_json(value);
}

// To three digits.
inline double rounded(double value) { return static_cast<double>(std::llround(value * 1000)) / 1000; }

// Rounds a float to six digits: 0.88 instead of 0.8799999952.
inline double decimal(double value) { return std::round(value * 1e6) / 1e6; }

} // namespace longwave::cli
