#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/output/printable.h"
#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <utility>

namespace fs = std::filesystem;

namespace longwave::cli {
namespace {

std::vector<std::string> names_of(const CommandDescription &command) {
    std::vector<std::string> names;
    for (const OptionDescription &option : command.options)
        if (!option.hidden) names.insert(names.end(), option.names.begin(), option.names.end());
    return names;
}

bool has(const std::vector<std::string> &names, const std::string &name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

// "--out" for "--output"; empty: none, or several.
std::string completed(const std::string &typed, const std::vector<std::string> &names) {
    std::string found;
    if (typed.size() < 4) return found;
    for (const std::string &name : names) {
        if (!name.starts_with(typed)) continue;
        if (!found.empty()) return "";
        found = name;
    }
    return found;
}

// "a", "a and b", "a, b and c"
std::string in_words(const std::vector<std::string> &words) {
    if (words.size() < 2) return words.empty() ? "" : words[0];
    return fmt::format("{} and {}", fmt::join(words.begin(), words.end() - 1, ", "), words.back());
}

} // namespace

std::string unknown_command_text(const std::string &word, const std::string &meant) {
    return printable(word) + ": unknown command" + (meant.empty() ? "" : "; did you mean " + meant + "?");
}

std::string unknown_option(const std::string &typed, const CommandDescription &command,
                           const CommandDescription &program) {
    const std::string name = typed.substr(0, typed.find('=')), text = printable(name) + ": unknown option";
    const std::vector<std::string> names = names_of(command);
    std::string meant = completed(name, names);
    if (meant.empty()) meant = most_similar(name, names);
    if (meant == name) return text + " of " + program.name + "; write it after the command";
    if (!meant.empty()) return text + "; did you mean " + meant + "?";
    std::vector<std::string> others;
    for (const CommandDescription &other : program.commands)
        if (!other.hidden && has(names_of(other), name)) others.push_back(other.name);
    if (others.empty()) return text;
    if (command.name == program.name) return text + " of " + program.name + "; write it after the command";
    return fmt::format("{} of {}; {} {} it", text, command.name, in_words(others),
                       others.size() == 1 ? "has" : "have");
}

std::string unexpected_argument(const std::string &word, const std::string &missing,
                                const CommandDescription &command, const std::string &program) {
    std::string meant = missing.starts_with("-") ? missing : "";
    for (const OptionDescription &option : command.options)
        if (meant.empty() && !option.hidden && !option.positional() && !option.suffix.empty() &&
            word.ends_with(option.suffix))
            meant = option.names.front();
    const std::string text = printable(word) + ": unexpected argument";
    if (!meant.empty()) return text + "; did you mean " + meant + " " + printable(word) + "?";
    return text + "; usage: " + usage_of(command, program);
}

std::string missing_argument(const std::string &name, const Words &taken, const CommandDescription &command,
                             const std::string &program) {
    std::string missing = name, instead;
    for (const OptionDescription &option : command.options) {
        if (option.argument == name || has(option.names, name))
            missing = option.positional() ? upper(option.argument) : heading_of(option);
        else if (const auto word = taken.find(option.argument); word != taken.end())
            instead = printable(word->second) + " is the " + upper(option.argument) +
                      (option.default_value == "-" ? "; write - for standard input" : "") + "; ";
    }
    return missing + " is missing; " + instead + "usage: " + usage_of(command, program);
}

std::string excluded_option(const std::string &name, const std::string &other, const Words &taken,
                            const CommandDescription &command) {
    const OptionDescription *excluded = nullptr, *meant = nullptr;
    for (const OptionDescription &option : command.options) {
        if (option.argument == name || has(option.names, name)) excluded = &option;
        if (option.positional() && option.required && !option.names.empty()) meant = &option;
    }
    const auto word = excluded ? taken.find(excluded->argument) : taken.end();
    if (word == taken.end()) return name + ": not together with " + other + "; leave one of them out";
    const std::string text = upper(excluded->argument) + " " + printable(word->second) +
                             ": not together with " + other + "; leave one of them out";
    if (!meant) return text;
    return text + ", or pass " + meant->long_name() + " " + printable(word->second) + " to write it";
}

std::string missing_value(const std::string &name, const CommandDescription &command) {
    for (const OptionDescription &option : command.options)
        if (has(option.names, name)) return name + ": needs a value: " + name + " " + option.value;
    return name + ": needs a value";
}

std::string unknown_choice(const std::string &typed, const std::vector<std::string> &choices) {
    const std::string meant = most_similar(typed, choices);
    return fmt::format("expected {}, found {}{}", fmt::join(choices, ", "), printable(typed),
                       meant.empty() ? "" : "; did you mean " + meant + "?");
}

namespace {

// Letters to insert, remove or replace, or neighbours to exchange (Damerau and Levenshtein).
size_t distance(const std::string &a, const std::string &b) {
    std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
    for (size_t i = 0; i <= a.size(); i++)
        for (size_t j = 0; j <= b.size(); j++) {
            if (i == 0 || j == 0) {
                d[i][j] = i + j;
                continue;
            }
            d[i][j] = std::min({d[i - 1][j - 1] + (a[i - 1] != b[j - 1]), d[i - 1][j] + 1, d[i][j - 1] + 1});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
        }
    return d.back().back();
}

} // namespace

std::string most_similar(const std::string &typed, const std::vector<std::string> &words) {
    std::string best;
    if (typed.size() > 64) return best;
    size_t least = 3; // two letters, and fewer than half of the word
    for (const std::string &word : words)
        if (const size_t d = distance(typed, word); d < least && 2 * d < word.size()) {
            least = d;
            best = word;
        }
    return best;
}

namespace {

// Names of other programs' commands, and ours.
constexpr std::pair<const char *, const char *> other_names[] = {{"info", "inspect"},
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
    {"zoo", "models of published sizes are written by a script; run tests/bench/zoo/run list in a clone "
            "(docs/models.md)"}};

} // namespace

std::string answer_to(const std::string &word) {
    for (const auto &[other, ours] : other_names)
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
