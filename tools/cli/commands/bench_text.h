// Times of reading and writing text: for `longwave bench` of a language model.
#pragma once
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Whether the model writes text: it has logits for each id, and a stream entry of block 1.
bool writes_text(const Model &model, const std::string &path);

// Times a prompt of 4,096 ids, by the largest entries that fit and one id at a time. Times a token
// after 100, 10,000 and 1,000,000 ids. It skips a position that takes longer than `seconds` to
// reach.
Expected<nlohmann::ordered_json> bench_text(const Model &model, const std::string &path, double seconds);
void print_text(const nlohmann::ordered_json &text);

} // namespace longwave::cli
