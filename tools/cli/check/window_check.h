// The expected rows of a windowed stream (longwave compile --window): offline runs over each of its windows.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/model/model.h"

namespace longwave::cli {

// Input ticks of the window of the model's stream; 0: the stream has no window, or offline runs have another length.
uint32_t window_of(const Model &model);

// By output of the stream, all rows of a stream that is finished after `ticks` ticks of `in`, made by
// lw_run of one window after the other with zeros where there is no input.
Expected<std::vector<std::vector<float>>> rows_of_windows(const Model &model, const Sequence &in,
                                                          size_t ticks);

} // namespace longwave::cli
