// Which kind each block of a model has.
#pragma once
#include "formats/huggingface/config.h"

namespace longwave::huggingface {

// Sets Config::kinds by the rules of the table and checks their number.
void read_kinds(const nlohmann::json &object, Config &config, package::Problems &problems);

} // namespace longwave::huggingface
