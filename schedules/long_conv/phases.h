// Of the forms of a long convolution whose lanes are phases of one channel's rows (polyphase.h).
#pragma once
#include "schedules/transforms/polyphase.h"

namespace longwave::schedules {

inline constexpr int phases = Polyphase::phases, quad = 4; // rows that are transposed together

} // namespace longwave::schedules
