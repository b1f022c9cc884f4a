// The keys of config.json one by one, and the sizes that follow from them.
#pragma once
#include "formats/huggingface/config.h"

namespace longwave::huggingface {

// Reads every key of the table from `object`, with what it means where it is not there.
void read_keys(const nlohmann::json &object, Config &config, package::Problems &problems);
// The sizes of Architecture::derived, one after the other.
void derive(Config &config);

} // namespace longwave::huggingface
