// The parts of a tokenizer.json, each read by a file of its own.
#pragma once
#include "runtime/tokenizer/bpe.h"
#include <nlohmann/json.hpp>

namespace longwave::tokenizer {

// How the readers look at JSON: an absent member is null, a value of another type is its default.
const nlohmann::json &member(const nlohmann::json &object, const char *key);
std::string text_of(const nlohmann::json &value);
bool flag_of(const nlohmann::json &value, bool otherwise);
// Text of the file in a message: printable ASCII in one line, not long.
std::string quoted_text(const std::string &text);

// Each sets its part of the tables. `name` starts every error; Fault::input.
Status read_normalizer(const nlohmann::json &file, const std::string &name, BpeTables &tables);
Status read_pre_tokenizer(const nlohmann::json &file, const std::string &name, BpeTables &tables);
Status read_post_processor(const nlohmann::json &file, const std::string &name, BpeTables &tables);

} // namespace longwave::tokenizer
