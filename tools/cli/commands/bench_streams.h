// Many streams of one model at once, each fed in turn as its own source would feed it.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include <nlohmann/json.hpp>

namespace longwave::cli {

// `n` streams of the default entry. A round gives each a block and takes what it brings.
Expected<nlohmann::ordered_json> bench_streams(const Model &model, uint32_t n, unsigned rounds);
void print_streams(const nlohmann::ordered_json &json);

} // namespace longwave::cli
