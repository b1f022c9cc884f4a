#include "tools/cli/command_line/description.h"
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace longwave::cli {
namespace {

constexpr size_t width = 100, help_column = 28;

std::string entry_text(const std::string &left, const std::string &help) {
    std::string text = "  " + left;
    const bool beside = text.size() + 2 <= help_column;
    if (!beside) text += "\n";
    size_t column = beside ? text.size() : 0;
    for (const std::string &line : wrapped(help, width - help_column)) {
        text += std::string(help_column - column, ' ') + line + "\n";
        column = 0;
    }
    if (help.empty()) text += "\n";
    return text;
}

std::string option_text(const OptionDescription &option) {
    const std::string facts = facts_of(option);
    return entry_text(heading_of(option), option.help + (facts.empty() ? "" : " (" + facts + ")"));
}

} // namespace

std::string upper(std::string text) {
    for (char &c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    return text;
}

std::string OptionDescription::long_name() const {
    for (const std::string &name : names)
        if (name.starts_with("--")) return name;
    return names.empty() ? "" : names.front();
}

std::string facts_of(const OptionDescription &option) {
    std::vector<std::string> facts;
    if (option.closed && !option.choices.empty())
        facts.push_back(fmt::format("one of: {}", fmt::join(option.choices, ", ")));
    if (!option.default_value.empty()) facts.push_back("default: " + option.default_value);
    if (!option.range.empty()) facts.push_back("range: " + option.range);
    if (!option.excludes.empty())
        facts.push_back(fmt::format("not with {}", fmt::join(option.excludes, ", ")));
    if (option.repeats) facts.emplace_back("repeatable");
    return fmt::format("{}", fmt::join(facts, "; "));
}

std::string heading_of(const OptionDescription &option) {
    std::vector<std::string> names = option.names;
    if (option.positional()) names.insert(names.begin(), upper(option.argument));
    std::string text = fmt::format("{}", fmt::join(names, ", "));
    if (!option.names.empty() && !option.value.empty()) text += " " + option.value;
    return text;
}

std::string usage_of(const CommandDescription &command, const std::string &program) {
    std::string text = program.empty() ? command.name : program + " " + command.name;
    if (!command.commands.empty()) return text + " COMMAND [OPTIONS] ...";
    text += " [OPTIONS]";
    for (const OptionDescription &option : command.options)
        if (!option.positional() && option.required && !option.hidden)
            text += " " + option.long_name() + " " + option.value;
    for (const OptionDescription &option : command.options) {
        if (!option.positional() || option.hidden) continue;
        const std::string name = upper(option.argument) + (option.repeats ? " ..." : "");
        text += option.required ? " " + name : " [" + name + "]";
    }
    return text;
}

std::vector<std::string> wrapped(const std::string &text, size_t columns) {
    std::vector<std::string> lines;
    std::string line;
    for (size_t at = 0; at < text.size();) {
        const size_t end = std::min(text.find_first_of(" \n", at), text.size());
        const std::string word = text.substr(at, end - at);
        at = end + 1;
        if (word.empty()) continue;
        if (!line.empty() && line.size() + 1 + word.size() > columns) {
            lines.push_back(line);
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    if (!line.empty()) lines.push_back(line);
    return lines;
}

std::vector<std::string> paragraphs_of(const std::string &details) {
    std::vector<std::string> all;
    for (size_t at = 0; at < details.size();) {
        const size_t end = std::min(details.find('\n', at), details.size());
        const std::string line = details.substr(at, end - at);
        at = end + 1;
        if (line.empty()) continue;
        const bool kept = line[0] == ' ' && !all.empty() && all.back()[0] == ' ';
        if (kept) all.back() += "\n" + line;
        else all.push_back(line);
    }
    return all;
}

std::string help_text(const CommandDescription &command, const std::string &program) {
    std::string text = "Usage: " + usage_of(command, program) + "\n\n";
    for (const std::string &line : wrapped(command.summary, width)) text += line + "\n";
    std::string arguments, options, commands;
    for (const OptionDescription &option : command.options)
        if (!option.hidden) (option.positional() ? arguments : options) += option_text(option);
    for (const CommandDescription &one : command.commands)
        if (!one.hidden) commands += entry_text(one.name, one.summary);
    if (!commands.empty()) text += "\nCommands:\n" + commands;
    if (!arguments.empty()) text += "\nArguments:\n" + arguments;
    if (!options.empty()) text += "\nOptions:\n" + options;
    for (const std::string &paragraph : paragraphs_of(command.details)) {
        text += "\n";
        if (paragraph[0] == ' ') text += paragraph + "\n";
        else
            for (const std::string &line : wrapped(paragraph, width)) text += line + "\n";
    }
    return text;
}

} // namespace longwave::cli
