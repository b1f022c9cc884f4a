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
    std::vector<size_t> kinds;              // of each block: a place in Architecture::blocks

    // A sum of products, see architecture.h. UINT64_MAX: it does not fit.
    uint64_t size(const std::string &sum) const;
    // A product of numbers and sizes, see architecture.h. NaN: a name is not known.
    double number(const std::string &product) const;
    // `when` of a row: empty, or sizes that must not be 0, or "!" and one that must be.
    bool holds(const std::string &when) const;

    const Block &block(size_t at) const { return architecture->blocks[kinds[at]]; }
    size_t attentions() const; // blocks with softmax attention
    // Tokens that these see: of the model alone, and with the context. 0: all.
    uint64_t own_window() const { return architecture->window.empty() ? 0 : size(architecture->window); }
    uint64_t window() const { return size("window"); }
};

// Reads the text of config.json. Each key is understood, known to change nothing, or a problem. `context`:
// tokens that attention sees at most; 0: as many as the model says.
// Fault::input: all problems; `source` names the file.
Expected<Config> read_config(std::string_view text, const std::string &source, uint32_t context = 0);

} // namespace longwave::huggingface
