#include "tools/cli/manual/manual.h"

namespace longwave::cli {
namespace {

// Inside a quoted specification of _arguments: brackets and colons have a meaning there.
std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        if (c == '\'') result += "'\\''";
        else if (c == '[' || c == ']' || c == ':') result += std::string("\\") + c;
        else if (c == '`') continue;
        else result += c;
    }
    return result;
}

// The first sentence: a line of a menu.
std::string short_help(const std::string &help) {
    const size_t end = help.find(". ");
    std::string text = help.substr(0, end);
    if (!text.empty() && text.back() == '.') text.pop_back();
    return escaped(text);
}

// ":message:action"
std::string value_text(const OptionDescription &option) {
    const std::string message = ":" + escaped(option.value.empty() ? option.argument : option.value) + ":";
    if (!option.choices.empty()) {
        std::string words;
        for (const std::string &choice : option.choices)
            words += (words.empty() ? "" : " ") + escaped(choice);
        return message + (option.separator
                              ? "_values -s " + std::string(1, option.separator) + " value " + words
                              : "(" + words + ")");
    }
    if (option.takes == Takes::folder) return message + "_files -/";
    if (option.takes == Takes::file)
        return message + (option.suffix.empty() ? "_files" : "_files -g \"*" + option.suffix + "\"");
    return message;
}

std::string option_lines(const OptionDescription &option) {
    std::string text;
    for (const std::string &name : option.names) {
        const bool many = option.repeats || option.separator;
        const bool value = option.takes != Takes::nothing;
        text += " \\\n            '" + std::string(many ? "*" : "") + name +
                (value && name.starts_with("--") ? "=" : "") + "[" + short_help(option.help) + "]" +
                (value ? value_text(option) : "") + "'";
    }
    if (option.positional())
        text += " \\\n            '" +
                std::string(option.repeats    ? "*"
                            : option.required ? ""
                                              : ":") +
                value_text(option) + "'";
    return text;
}

} // namespace

std::string zsh_completion_of(const CommandDescription &program) {
    std::string text = "#compdef " + program.name + "\n# zsh completion. Written by `" + program.name +
                       " manual`.\n_longwave() {\n    local -a commands\n    commands=(\n";
    std::string cases;
    for (const CommandDescription &command : program.commands) {
        if (command.hidden) continue;
        text += "        '" + command.name + ":" + short_help(command.summary) + "'\n";
        cases += "    " + command.name + ")\n        _arguments -s";
        for (const OptionDescription &option : command.options)
            if (!option.hidden) cases += option_lines(option);
        cases += "\n        ;;\n";
    }
    text += "    )\n    if ((CURRENT == 2)); then\n        _describe -t commands command commands\n"
            "        _arguments -s";
    for (const OptionDescription &option : program.options)
        if (!option.hidden) text += option_lines(option);
    return text +
           "\n        return\n    fi\n    local command=$words[2]\n    shift words\n    ((CURRENT--))\n"
           "    case $command in\n" +
           cases + "    esac\n}\n_longwave \"$@\"\n";
}

} // namespace longwave::cli
