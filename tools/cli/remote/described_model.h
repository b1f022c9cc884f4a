// What an artifact says of a model whose code this machine cannot run.
#pragma once
#include "tools/cli/model/model.h"
#include "tools/cli/remote/replies.h"
#include <deque>

namespace longwave::cli {

// What the pointers in Model::info, inputs and outputs lead to.
struct DescribedModel {
    // Checks the artifact and fills in `model`, as the C library does for code of the CPU. Fields
    // that depend on the machine stay 0: memory of streams and runs. Fault::internal: the artifact
    // breaks a rule of the format, or has no such variant. `variant` empty: it has no code for any.
    static Expected<std::shared_ptr<const DescribedModel>> of(const std::vector<uint8_t> &artifact,
                                                              const std::string &variant, Model &model);

    std::deque<std::string> texts; // whose addresses stay
    std::deque<std::vector<uint32_t>> dims;
    uint64_t longest_firing = 0; // input ticks between rows of a stream that come at once, at most

    ReplySizes reply_sizes(const Model &model) const;
};

} // namespace longwave::cli
