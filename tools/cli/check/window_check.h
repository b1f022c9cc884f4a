// The expected rows of a windowed stream (longwave compile --window): offline runs over each of its
// windows.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/runner.h"

namespace longwave::cli {

// Input ticks of the window of the model's stream; 0: the stream has no window, or offline runs
// have another length.
uint32_t window_of(const Model &model);

// The rows that a stream over `ticks` ticks of `in` must give, per output of the stream.
// One lw_run per window computes them. The input is zero after its end.
Expected<std::vector<std::vector<float>>> rows_of_windows(const Model &model, const Sequence &in,
                                                          size_t ticks);

} // namespace longwave::cli
