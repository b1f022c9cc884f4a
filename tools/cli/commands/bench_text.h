// What reading and writing text costs: for `longwave bench` of a language model.
#pragma once
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// Whether the model writes text: it has logits for each id, and a stream entry of block 1.
bool writes_text(const Model &model, const std::string &path);

// A prompt of 4,096 ids, by the largest entries that fit and one id at a time; and the time of a token after
// 100, 10,000 and 1,000,000 ids; the last only where getting there takes less than `seconds`.
Expected<nlohmann::ordered_json> bench_text(const Model &model, const std::string &path, double seconds);
void print_text(const nlohmann::ordered_json &text);

} // namespace longwave::cli
