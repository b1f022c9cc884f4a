// The command line as data: commands, arguments, options and their help. `--help`, the manual
// pages, the reference in docs/cli.md and the shell completions are written from it.
#pragma once
#include <string>
#include <vector>

namespace longwave::cli {

enum class Takes { nothing, text, number, file, folder };

struct OptionDescription {
    std::vector<std::string> names;   // "-o", "--output"; empty for an argument without a flag
    std::string argument;             // name of a positional argument: "model"
    Takes takes = Takes::nothing;     // nothing: a flag
    std::string value;                // the word for the value in help: "FILE"
    std::string help;                 // sentences; readable without the name of the option
    std::string default_value;        // empty: none
    std::string range;                // "1 to 255"
    std::vector<std::string> choices; // values, for help and completion
    bool closed = false;              // no other values than the choices
    std::string suffix;               // of the file, for completion: ".lw"
    char separator = 0;               // between the values of a list in one argument
    bool repeats = false;             // may be given several times
    bool required = false;
    bool hidden = false; // parsed, but not documented
    std::vector<std::string> excludes;

    bool positional() const { return !argument.empty(); }
    // "--output", or the short name where there is no other; empty for an argument without a flag.
    std::string long_name() const;
};

struct CommandDescription {
    std::string name;    // "compile"; of the program: "longwave"
    std::string summary; // one sentence
    std::string details; // paragraphs after the options; lines with leading spaces are kept
    bool hidden = false;
    std::vector<OptionDescription> options; // in the order of the help
    std::vector<CommandDescription> commands;
};

// "default: 20; range: 1 to 255": the facts that follow the help of an option. May be empty.
std::string facts_of(const OptionDescription &option);
// "model" -> "MODEL"
std::string upper(std::string text);
// "-o, --output FILE", or "MODEL" for an argument.
std::string heading_of(const OptionDescription &option);
// "longwave compile [OPTIONS] FOLDER"
std::string usage_of(const CommandDescription &command, const std::string &program);
// The lines of a paragraph, broken at spaces.
std::vector<std::string> wrapped(const std::string &text, size_t columns);
// Paragraphs of the details: each is one text to be wrapped, or (first character a space) lines to
// be kept.
std::vector<std::string> paragraphs_of(const std::string &details);

// What `--help` prints; at most 100 columns. `program`: the words before the command's name, empty
// for the program.
std::string help_text(const CommandDescription &command, const std::string &program);

} // namespace longwave::cli
