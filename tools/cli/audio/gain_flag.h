// The flag --gain.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/command_line/command_line.h"
#include <string>

namespace longwave::cli {

struct GainSetting {
    float db = 0;
    bool automatic = false;
};

void add_gain_flag(CommandLine &app, std::string &text);
// Empty: none. Fault::usage: neither decibels nor `auto`.
Expected<GainSetting> read_gain(const std::string &text);

} // namespace longwave::cli
