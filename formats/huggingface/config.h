// config.json against the table of its architecture.
#pragma once
#include "formats/base/expected.h"
#include "formats/huggingface/architecture.h"
#include "formats/package/problems.h"
#include <map>
#include <string_view>

namespace longwave::huggingface {

struct Config {
    const Architecture *architecture = nullptr;
    std::map<std::string, uint64_t> sizes; // and flags, as 0 or 1
    std::map<std::string, double> numbers;
    std::map<std::string, std::string> ops; // of activations

    // A sum of products, see architecture.h. UINT64_MAX: it does not fit.
    uint64_t size(const std::string &sum) const;
    // `when` of a row: empty, a size that must not be 0, or "!" and one that must be.
    bool holds(const std::string &when) const;
};

// Reads the text of config.json. Each key is understood, known to change nothing, or a problem.
// Fault::input: all problems; `source` names the file.
Expected<Config> read_config(std::string_view text, const std::string &source);

} // namespace longwave::huggingface
