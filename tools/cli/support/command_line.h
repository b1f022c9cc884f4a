// Flags and verbs as CLI11 reads them. Only command_line.cc sees that library: parsing and instantiating its
// headers takes longer than compiling all verbs.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
} // namespace CLI

namespace longwave::cli {

// What a value must be; see check().
class Check {
public:
    explicit Check(CLI::Validator validator);
    const CLI::Validator &validator() const { return *validator_; }

private:
    std::shared_ptr<const CLI::Validator> validator_;
};

Check range(int low, int high);
Check range(double low, double high);
Check not_negative();
Check one_of(std::initializer_list<const char *> words);

// One flag; each call returns the flag itself, for the next.
class Option {
public:
    explicit Option(CLI::Option *option) : option_(option) {}
    Option *required();
    Option *check(const Check &check);
    Option *delimiter(char separator); // a list in one argument
    Option *single();                  // a list of which each flag gives one: what follows is no part of it
    Option *size();                    // a number of bytes, also as 500K, 64M or 2G
    Option *excludes(const Option *other);
    Option *capture_default_str();                // the value so far is the default that --help shows
    Option *default_str(const std::string &text); // what --help shows as the default
    bool given() const;                           // after the program's flags were parsed

private:
    CLI::Option *option_;
};

// A program's flags, or those of one of its verbs.
class CommandLine {
public:
    CommandLine(const std::string &description, const std::string &name);
    ~CommandLine();
    CommandLine(const CommandLine &) = delete;
    CommandLine &operator=(const CommandLine &) = delete;

    CommandLine *add_subcommand(const std::string &name, const std::string &description);
    // Value: a string, double, int, uint32_t or uint64_t; std::optional<float>, std::optional<uint32_t>; a
    // vector of strings, int or uint32_t. command_line.cc instantiates them.
    template <class Value>
    Option *add_option(const std::string &names, Value &value, const std::string &description);
    Option *add_flag(const std::string &names, bool &value, const std::string &description);
    void set_version_flag(const std::string &names, const std::string &text);
    void require_subcommand();
    void footer(const std::string &text);

    // Empty: go on. Else the program ends with this code: help or version was printed, or a line on stderr
    // about what is wrong.
    std::optional<int> parse(int argc, char **argv);
    bool parsed() const; // of a verb: it was given

private:
    explicit CommandLine(CLI::App *verb);
    Option *add(CLI::Option *option);

    std::unique_ptr<CLI::App> own_; // of the program; a verb belongs to its program
    CLI::App *app_;
    std::vector<std::unique_ptr<Option>> options_;
    std::vector<std::unique_ptr<CommandLine>> verbs_;
};

} // namespace longwave::cli
