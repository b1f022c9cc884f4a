#include "tools/cli/audio/gain_flag.h"
#include <cstdlib>

namespace longwave::cli {

void add_gain_flag(CommandLine &app, std::string &text) {
    app.add_option(
           "--gain", text,
           "Amplify the audio by so many decibels, -60 to 60. `auto` follows the level of the sounds slowly, "
           "between -12 and 30 dB (default: none)")
        ->suggests({"auto"})
        ->value("DB");
}

Expected<GainSetting> read_gain(const std::string &text) {
    if (text.empty()) return GainSetting{};
    if (text == "auto") return GainSetting{0, true};
    char *end = nullptr;
    const float db = std::strtof(text.c_str(), &end);
    if (*end || !(db >= -60 && db <= 60))
        return Status::usage("--gain " + text + ": expected decibels from -60 to 60, or `auto`");
    return GainSetting{db, false};
}

} // namespace longwave::cli
