// Times of the layers of an offline run, each on the CPU and on a GPU. `longwave compile --place
// FILE` reads them.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>
#include <string>

namespace longwave::cli {

// The longest offline run that the model has for both CPU and GPU. Layout of the result:
// compiler/placement/layer_times.h. Fault::usage: the device is the CPU, or the artifact lacks one
// of the entries.
Expected<nlohmann::ordered_json> bench_layers(const ModelFlags &flags);
void print_layers(const nlohmann::ordered_json &json);

// Many streams of one model at once, each fed in turn as its own source would feed it.

// `n` streams of the default entry. A round gives each a block and takes what it brings.
Expected<nlohmann::ordered_json> bench_streams(const Model &model, uint32_t n, unsigned rounds);
void print_streams(const nlohmann::ordered_json &json);

// Times of reading and writing text: for `longwave bench` of a language model.

// Whether the model writes text: it has logits for each id, and a stream entry of block 1.
bool writes_text(const Model &model, const std::string &path);

// Times a prompt of 4,096 ids, by the largest entries that fit and one id at a time. Times a token
// after 100, 10,000 and 1,000,000 ids. It skips a position that takes longer than `seconds` to
// reach.
Expected<nlohmann::ordered_json> bench_text(const Model &model, const std::string &path, double seconds);
void print_text(const nlohmann::ordered_json &text);

} // namespace longwave::cli
