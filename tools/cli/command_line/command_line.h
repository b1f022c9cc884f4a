// Commands and flags: parsed by CLI11, and described as data (description.h). Only command_line.cc
// includes CLI11, because its headers take longer to compile than all commands together.
#pragma once
#include "tools/cli/command_line/description.h"
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class ParseError;
} // namespace CLI

namespace longwave::cli {

// A rule for values; see Option::check().
struct Check {
    std::string range;                // in words; empty: choices
    long double low = 0, high = 0;    // of numbers, both included
    std::vector<std::string> choices; // of words
};

Check range(int low, int high);
Check range(double low, double high);
Check one_of(std::initializer_list<const char *> words);

struct NumberRule;

// One flag or argument. Each call returns the flag itself, so that calls can be chained.
class Option {
public:
    Option(CLI::Option *option, OptionDescription description, std::shared_ptr<NumberRule> number)
        : option_(option), description_(std::move(description)), number_(std::move(number)) {}
    Option *required();
    Option *check(const Check &check);
    Option *delimiter(char separator); // a list in one argument
    Option *single();                  // each flag adds one value to a list
    Option *size();                    // a number of bytes, also as 500K, 64M or 2G
    Option *excludes(const Option *other);
    Option *capture_default_str();                // help shows the present value as the default
    Option *default_str(const std::string &text); // help shows this default
    bool given() const;                           // valid after the program's flags were parsed

    // For help and completion only; the values are not checked here.
    Option *value(const std::string &name);              // word for the value: "FILE"
    Option *file(const std::string &suffix = "");        // the value names a file
    Option *folder();                                    // the value names a folder
    Option *suggests(std::vector<std::string> examples); // some of the possible values
    Option *separator(char separator);                   // between parts of a value
    Option *hidden();                                    // parsed, but not documented

    const OptionDescription &description() const { return description_; }

private:
    CLI::Option *option_;
    OptionDescription description_;
    std::shared_ptr<NumberRule> number_; // null: no number
};

// The flags of a program, or of one of its commands.
class CommandLine {
public:
    // `description`: one sentence.
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    CommandLine *add_subcommand(const std::string &name, const std::string &description);
    // `names`: "-o,--output" or, for a positional argument, "model". A description that ends with
    // "(default: X)" states a default that this program computes. Value is one of string, double,
    // int, uint32_t, uint64_t, optional<float>, optional<uint32_t>, and vector of string, int or
    // uint32_t. command_line.cc instantiates them. A number is 0 or more, unless check() says
    // otherwise.
    template <class Value>
    Option *add_option(const std::string &names, Value &value, const std::string &description);
    Option *add_flag(const std::string &names, bool &value, const std::string &description);
    void set_version_flag(const std::string &names, const std::string &text);
    void require_subcommand();
    void footer(const std::string &text); // CommandDescription::details
    void hidden();                        // the command is parsed, but not documented
    // What to say of a first word that is no command; empty: the command that it resembles.
    void answer(std::function<std::string(const std::string &)> answer);

    // Empty: continue. Otherwise the program ends with this exit code: help or version was printed,
    // or one line on stderr that says what is wrong and what to type. A program with commands also
    // takes `help`, `help COMMAND` and `version`.
    std::optional<int> parse(int argc, char **argv);
    bool parsed() const; // of a command: it was given
    CommandDescription describe() const;

private:
    CommandLine(CLI::App *command, std::string program);
    Option *add(CLI::Option *option, OptionDescription description,
                std::shared_ptr<NumberRule> number = nullptr);
    std::vector<std::string> with_flags(int argc, char **argv) const;
    std::string unknown_command(const std::string &word) const;
    std::string in_words(const CLI::ParseError &error) const;
    void show_help_from_description();

    std::unique_ptr<CLI::App> own_; // of the program; a command belongs to its program
    CLI::App *app_;
    std::string program_; // the program's name, for a command; empty for the program
    std::string details_, version_flag_;
    bool hidden_ = false;
    std::function<std::string(const std::string &)> answer_;
    std::vector<std::unique_ptr<Option>> options_;
    std::vector<std::unique_ptr<CommandLine>> commands_;
};

} // namespace longwave::cli
