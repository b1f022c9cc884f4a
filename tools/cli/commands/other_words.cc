#include "tools/cli/commands/other_words.h"
#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/output/printable.h"
#include <filesystem>
#include <utility>

namespace fs = std::filesystem;

namespace longwave::cli {
namespace {

// Names of other programs' commands, and ours.
constexpr std::pair<const char *, const char *> same[] = {{"info", "inspect"},
                                                          {"show", "inspect"},
                                                          {"print", "inspect"},
                                                          {"dump", "inspect"},
                                                          {"convert", "compile"},
                                                          {"export", "compile"},
                                                          {"build", "compile"},
                                                          {"quantize", "compile --weights int8"},
                                                          {"infer", "run"},
                                                          {"predict", "run"},
                                                          {"exec", "run"},
                                                          {"stream", "run --stream"},
                                                          {"check", "verify"},
                                                          {"test", "verify"},
                                                          {"validate", "verify"},
                                                          {"benchmark", "bench"},
                                                          {"profile", "bench"},
                                                          {"evaluate", "eval"},
                                                          {"spot", "listen"},
                                                          {"record", "listen --microphone"},
                                                          {"chat", "generate"},
                                                          {"complete", "generate"},
                                                          {"perplexity", "score"},
                                                          {"gpus", "devices"},
                                                          {"list", "devices"},
                                                          {"keys", "keygen"},
                                                          {"microphones", "devices --microphones"}};

// Scripts of the clone and modules of the Python package.
constexpr std::pair<const char *, const char *> elsewhere[] = {
    {"demo", "is a script; run tools/demo in a clone"},
    {"words",
     "is a script that trains a model for your own words; run tools/words in a clone (docs/words.md)"},
    {"train",
     "models are trained in Python (docs/training.md); tools/words trains a model for your own words"},
    {"zoo",
     "models of published sizes are written in Python; run python3 -m longwave.zoo list (docs/models.md)"}};

} // namespace

std::string answer_to(const std::string &word) {
    for (const auto &[other, ours] : same)
        if (word == other) return word + ": unknown command; use longwave " + ours;
    for (const auto &[name, where] : elsewhere)
        if (word == name) return word + ": " + where;
    std::error_code error;
    const fs::path path(word);
    if (fs::is_directory(path, error)) {
        const bool model = fs::exists(path / "model.json", error);
        return printable(word) + ": is a folder; write a command before it: longwave " +
               (model ? "compile " : "COMMAND ") + printable(word) + (model ? " -o model.lw" : "");
    }
    if (path.extension() == ".lw" || fs::is_regular_file(path, error))
        return printable(word) + ": is a file; write a command before it: longwave " +
               (path.extension() == ".lw" ? "inspect " : "COMMAND ") + printable(word);
    return "";
}

} // namespace longwave::cli
