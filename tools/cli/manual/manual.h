// The manual of the command line and its shell completions, written from the descriptions of its
// commands.
#pragma once
#include "tools/cli/command_line/description.h"
#include <map>
#include <string>

namespace longwave::cli {

// docs/cli.md: every command in one page.
std::string markdown_of(const CommandDescription &program);
// roff, macros of man(7). `command` null: the page of the program, longwave(1).
std::string man_page_of(const CommandDescription &program, const CommandDescription *command,
                        const std::string &version);
std::string bash_completion_of(const CommandDescription &program);
std::string zsh_completion_of(const CommandDescription &program);
std::string fish_completion_of(const CommandDescription &program);
// The descriptions as JSON, for programs.
std::string json_of(const CommandDescription &program);

// All of these, by path below one folder: cli.md, cli.json, man1/longwave.1,
// man1/longwave-compile.1, ..., bash/longwave, zsh/_longwave, fish/longwave.fish.
std::map<std::string, std::string> manual_of(const CommandDescription &program, const std::string &version);

} // namespace longwave::cli
