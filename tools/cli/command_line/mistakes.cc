#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/command_line/similar_words.h"
#include "tools/cli/output/printable.h"
#include <algorithm>
#include <fmt/format.h>

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

std::string missing_argument(const std::string &name, const CommandDescription &command,
                             const std::string &program) {
    for (const OptionDescription &option : command.options)
        if (option.positional() ? option.argument == name : has(option.names, name))
            return heading_of(option) + " is missing; usage: " + usage_of(command, program);
    return name + " is missing; usage: " + usage_of(command, program);
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

} // namespace longwave::cli
