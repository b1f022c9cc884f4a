#include "tools/cli/manual/manual.h"
#include <fmt/format.h>

namespace longwave::cli {
namespace {

// What completes a value: a call of one of the functions at the top of the script.
std::string value_call(const OptionDescription &option) {
    if (!option.choices.empty())
        return std::string(option.separator ? "_longwave_list" : "_longwave_words") + " \"" +
               fmt::format("{}", fmt::join(option.choices, " ")) + "\"";
    if (option.takes == Takes::folder) return "_longwave_folders";
    if (option.takes == Takes::file) return "_longwave_files \"" + option.suffix + "\"";
    return ":";
}

std::string command_case(const CommandDescription &command) {
    std::string flags, values, positional = ":";
    for (const OptionDescription &option : command.options) {
        if (option.hidden) continue;
        flags += (flags.empty() || option.names.empty() ? "" : " ") +
                 fmt::format("{}", fmt::join(option.names, " "));
        // With several arguments any file may come next.
        if (option.positional()) positional = positional == ":" ? value_call(option) : "_longwave_files \"\"";
        if (option.takes != Takes::nothing && !option.names.empty())
            values += "        " + fmt::format("{}", fmt::join(option.names, " | ")) + ") " +
                      value_call(option) + "; return ;;\n";
    }
    return "    " + command.name + ")\n        case $previous in\n" + values +
           "        esac\n        flags=\"" + flags + "\"\n        positional='" + positional +
           "'\n        ;;\n";
}

} // namespace

std::string bash_completion_of(const CommandDescription &program) {
    std::string text = R"(# bash completion for longwave. Written by `longwave manual`.
_longwave_words() { COMPREPLY=($(compgen -W "$1" -- "$current")); }
# The last word of a list that is separated by commas.
_longwave_list() {
    local before=""
    [[ $current == *,* ]] && before=${current%,*},
    COMPREPLY=($(compgen -P "$before" -W "$1" -- "${current##*,}"))
    compopt -o nospace 2>/dev/null
}
_longwave_folders() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -d -- "$current")
}
# Folders, and files with the suffix; every file where none has it.
_longwave_files() {
    compopt -o filenames 2>/dev/null
    if [[ -n $1 ]]; then
        mapfile -t COMPREPLY < <(compgen -f -X "!*$1" -- "$current"; compgen -d -- "$current")
        ((${#COMPREPLY[@]})) && return
    fi
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}
_longwave() {
    local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} flags="" positional=":"
    COMPREPLY=()
    # --option=value arrives as three words.
    if [[ $current == "=" ]]; then
        current=""
    elif [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    fi
    if ((COMP_CWORD == 1)); then
)";
    std::string commands, cases;
    for (const CommandDescription &command : program.commands) {
        if (command.hidden) continue;
        commands += command.name + " ";
        cases += command_case(command);
    }
    for (const OptionDescription &option : program.options)
        if (!option.hidden) commands += fmt::format("{}", fmt::join(option.names, " ")) + " ";
    commands.pop_back();
    text += "        _longwave_words \"" + commands +
            "\"\n        return\n    fi\n    case ${COMP_WORDS[1]} in\n" + cases +
            "    *) return ;;\n    esac\n"
            "    if [[ $current == -* ]]; then\n"
            "        _longwave_words \"$flags\"\n"
            "    else\n"
            "        eval \"$positional\"\n"
            "    fi\n"
            "}\n"
            "complete -F _longwave " +
            program.name + "\n";
    return text;
}

} // namespace longwave::cli
