// lw_generator with C++ lifetimes, and the sampling flags.
#pragma once
#include "tools/cli/model/model.h"
#include <longwave/generator.h>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::cli {

struct SamplingFlags {
    double temperature = 0, top_p = 1, min_p = 0, repetition_penalty = 1;
    uint32_t top_k = 0, repetition_window = 64;
    uint64_t seed = 0;
    std::vector<std::string> biases; // "ID:VALUE"

    void add(CommandLine &app);
};

// The output of the stream with one logit per id. Fault::usage: the model is not a language model.
Expected<uint32_t> logits_of(const Model &model, const std::string &path);

class Generator {
public:
    // `recent`: largest number of ids that recent() returns. `likely_only`: as in
    // lw_generator_options. Fault::usage: no stream entry has block 1, or a flag is wrong.
    static Expected<Generator> create(const Model &model, const std::string &path, const SamplingFlags &flags,
                                      uint32_t recent, bool log_probabilities, bool likely_only);
    Status prompt(const std::vector<int32_t> &ids);
    Expected<lw_generator_token> next();
    std::vector<int32_t> recent() const; // results of next() since the last prompt
    Expected<std::vector<uint8_t>> save() const;
    Status load(const std::string &name, std::string_view state);

private:
    Stream stream_;
    std::shared_ptr<lw_generator> handle_;
    uint32_t room_ = 0;
};

} // namespace longwave::cli
