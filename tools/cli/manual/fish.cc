#include "tools/cli/manual/manual.h"

namespace longwave::cli {
namespace {

std::string in_quotes(const std::string &text) {
    std::string result = "'";
    for (const char c : text) {
        if (c == '`') continue;
        if (c == '\'' || c == '\\') result += '\\';
        result += c;
    }
    return result + "'";
}

// The first sentence: a line of a menu.
std::string short_help(const std::string &help) {
    std::string text = help.substr(0, help.find(". "));
    if (!text.empty() && text.back() == '.') text.pop_back();
    return in_quotes(text);
}

std::string value_text(const OptionDescription &option) {
    if (!option.choices.empty()) {
        std::string words;
        for (const std::string &choice : option.choices) words += (words.empty() ? "" : " ") + choice;
        if (!option.separator) return " -x -a " + in_quotes(words);
        return " -x -a " + in_quotes("(__fish_append , " + words + ")");
    }
    if (option.takes == Takes::folder) return " -x -a '(__fish_complete_directories)'";
    if (option.takes == Takes::file)
        return option.suffix.empty()
                   ? " -r -F"
                   : " -x -a " + in_quotes("(__fish_complete_suffix " + option.suffix + ")");
    return option.takes == Takes::nothing ? "" : " -x";
}

std::string option_lines(const OptionDescription &option, const std::string &start) {
    std::string text;
    if (!option.names.empty()) {
        text = start;
        for (const std::string &name : option.names)
            text += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
        text += " -d " + short_help(option.help) + value_text(option) + "\n";
    }
    if (option.positional() && option.takes == Takes::folder)
        text += start + " -f -a '(__fish_complete_directories)'\n";
    else if (option.positional() && !option.suffix.empty())
        text += start + " -k -f -a " + in_quotes("(__fish_complete_suffix " + option.suffix + ")") + "\n";
    else if (option.positional() && option.takes == Takes::file) text += start + " -F\n";
    return text;
}

} // namespace

std::string fish_completion_of(const CommandDescription &program) {
    std::string text = "# fish completion. Written by `" + program.name + " manual`.\n";
    const std::string first = "complete -c " + program.name + " -n __fish_use_subcommand";
    for (const CommandDescription &command : program.commands)
        if (!command.hidden)
            text += first + " -f -a " + command.name + " -d " + short_help(command.summary) + "\n";
    for (const OptionDescription &option : program.options)
        if (!option.hidden) text += option_lines(option, first);
    for (const CommandDescription &command : program.commands) {
        if (command.hidden) continue;
        const std::string start =
            "complete -c " + program.name + " -n " + in_quotes("__fish_seen_subcommand_from " + command.name);
        for (const OptionDescription &option : command.options)
            if (!option.hidden) text += option_lines(option, start);
    }
    return text;
}

} // namespace longwave::cli
