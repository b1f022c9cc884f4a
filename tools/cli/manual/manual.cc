#include "tools/cli/manual/manual.h"

namespace longwave::cli {

std::map<std::string, std::string> manual_of(const CommandDescription &program, const std::string &version) {
    std::map<std::string, std::string> files = {
        {"cli.md", markdown_of(program)},
        {"cli.json", json_of(program)},
        {"man1/" + program.name + ".1", man_page_of(program, nullptr, version)},
        {"bash/" + program.name, bash_completion_of(program)},
        {"zsh/_" + program.name, zsh_completion_of(program)},
        {"fish/" + program.name + ".fish", fish_completion_of(program)}};
    for (const CommandDescription &command : program.commands)
        if (!command.hidden)
            files["man1/" + program.name + "-" + command.name + ".1"] =
                man_page_of(program, &command, version);
    return files;
}

} // namespace longwave::cli
