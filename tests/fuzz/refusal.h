// What must hold for each text that tells a user why something was rejected.
#pragma once
#include "tests/fuzz/must.h"
#include <algorithm>
#include <string>

namespace longwave::fuzz {

inline void must_be_clean(const std::string &text) {
    must(!text.empty(), "a refusal says why");
    must(std::count(text.begin(), text.end(), '\n') <= 400, "the list of what is wrong is bounded");
    must(std::none_of(text.begin(), text.end(),
                      [](unsigned char c) { return (c < 0x20 && c != '\n') || c == 0x7f; }),
         "names from outside are escaped in messages");
}

} // namespace longwave::fuzz
