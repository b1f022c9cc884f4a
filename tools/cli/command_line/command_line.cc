#include "tools/cli/command_line/command_line.h"
#include "tools/cli/command_line/mistakes.h"
#include "tools/cli/output/printable.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

namespace longwave::cli {

// The one check of every number on the command line. CLI11 would also read nan, -1 as an unsigned
// number, octal and hexadecimal.
struct NumberRule {
    enum class Form { whole, real, size }; // size: bytes, also as 500K, 64M or 2G
    Form form;
    long double low = 0, high; // both included
    std::string range = "0 or more";

    // `most`: what the type of the value holds.
    NumberRule(Form of, long double most) : form(of), high(most) {}
    void narrow(long double from, long double to, const std::string &words);

    // Replaces the text by a decimal number. Empty, or what is wrong.
    std::string read(std::string &text) const;
};

namespace {

// The value of the whole text. Empty: it is not a finite decimal number of this type.
template <class Value> std::optional<Value> value_of(const std::string &text) {
    Value value = 0;
    const char *end = text.data() + text.size();
    const std::from_chars_result result = std::from_chars(text.data(), end, value);
    if (text.empty() || result.ec != std::errc() || result.ptr != end) return std::nullopt;
    return value;
}

// "2G" -> 2147483648. Units as 2G, 2GB and 2GiB, all of them powers of 1024.
std::optional<uint64_t> bytes_of(std::string text) {
    constexpr const char *units = "kmgt";
    for (const char *end : {"ib", "b"}) { // small letters, see below
        const size_t n = std::strlen(end);
        std::string tail = text.size() > n ? text.substr(text.size() - n) : "";
        for (char &c : tail) c |= 0x20;
        if (tail != end) continue;
        text.resize(text.size() - n);
        if (n == 2 && !std::strchr(units, text.back() | 0x20)) return std::nullopt; // "5iB"
        break;
    }
    unsigned shift = 0;
    if (const char *unit = text.empty() ? nullptr : std::strchr(units, text.back() | 0x20)) {
        shift = 10 * static_cast<unsigned>(unit - units + 1);
        text.pop_back();
    }
    const std::optional<uint64_t> number = value_of<uint64_t>(text);
    if (!number || *number > UINT64_MAX >> shift) return std::nullopt;
    return *number << shift;
}

std::optional<int64_t> below_zero(const std::string &text) {
    return text.starts_with('-') ? value_of<int64_t>(text) : std::nullopt;
}

} // namespace

void NumberRule::narrow(long double from, long double to, const std::string &words) {
    low = from;
    high = to < high ? to : high;
    range = words;
}

std::string NumberRule::read(std::string &text) const {
    const std::string expected = std::string("expected ") +
                                 (form == Form::real    ? "a number"
                                  : form == Form::whole ? "a whole number"
                                                        : "bytes, such as 500M or 2G") +
                                 " (" + range + "), not '" + text + "'";
    if (form == Form::real) {
        const std::optional<double> value = value_of<double>(text);
        return value && std::isfinite(*value) && *value >= low && *value <= high ? "" : expected;
    }
    const std::optional<int64_t> negative = below_zero(text);
    const std::optional<uint64_t> value = form == Form::size ? bytes_of(text) : value_of<uint64_t>(text);
    if (negative ? *negative < low : !value || *value < low || *value > high) return expected;
    text = negative ? std::to_string(*negative) : std::to_string(*value); // "010" is ten
    return "";
}

namespace {

std::string number_text(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", value);
    return text;
}

// "-o,--output" and "model" -> names and argument. The end of the help, "(default: X)", becomes the
// default.
OptionDescription described(const std::string &names, const std::string &help) {
    OptionDescription description;
    const size_t last = help.rfind(" (default: ");
    if (last != std::string::npos && help.back() == ')') {
        const size_t text = last + std::string_view(" (default: ").size();
        description.default_value = help.substr(text, help.size() - 1 - text);
    }
    description.help = description.default_value.empty() ? help : help.substr(0, last);
    for (size_t at = 0; at < names.size();) {
        const size_t end = std::min(names.find(',', at), names.size());
        const std::string name = names.substr(at, end - at);
        if (name.starts_with("-")) description.names.push_back(name);
        else description.argument = name;
        at = end + 1;
    }
    return description;
}

template <class Value> struct Element {
    using type = Value;
};
template <class Value> struct Element<std::vector<Value>> {
    using type = Value;
};
template <class Value> struct Element<std::optional<Value>> {
    using type = Value;
};

} // namespace

Check range(int low, int high) {
    return {std::to_string(low) + " to " + std::to_string(high),
            static_cast<long double>(low),
            static_cast<long double>(high),
            {}};
}
Check range(double low, double high) {
    return {number_text(low) + " to " + number_text(high), low, high, {}};
}
Check one_of(std::initializer_list<const char *> words) { return {"", 0, 0, {words.begin(), words.end()}}; }

Option *Option::required() {
    option_->required();
    description_.required = true;
    return this;
}

Option *Option::check(const Check &check) {
    description_.range = check.range;
    if (number_) number_->narrow(check.low, check.high, check.range);
    if (check.choices.empty()) return this;
    option_->check(CLI::Validator(
        [choices = check.choices](std::string &text) {
            const bool found = std::find(choices.begin(), choices.end(), text) != choices.end();
            return found ? std::string() : unknown_choice(text, choices);
        },
        ""));
    description_.choices = check.choices;
    description_.closed = true;
    return this;
}

Option *Option::delimiter(char separator) {
    option_->delimiter(separator);
    description_.separator = separator;
    return this;
}

Option *Option::single() {
    option_->allow_extra_args(false);
    description_.repeats = true;
    return this;
}

Option *Option::size() {
    number_->form = NumberRule::Form::size;
    description_.value = "BYTES";
    return this;
}

Option *Option::excludes(const Option *other) {
    option_->excludes(other->option_);
    description_.excludes.push_back(other->description_.long_name());
    return this;
}

Option *Option::capture_default_str() {
    option_->capture_default_str();
    description_.default_value = option_->get_default_str();
    return this;
}

Option *Option::default_str(const std::string &text) {
    option_->default_str(text);
    description_.default_value = text;
    return this;
}

bool Option::given() const { return option_->count() > 0; }

Option *Option::value(const std::string &name) {
    description_.value = name;
    return this;
}

Option *Option::file(const std::string &suffix) {
    description_.takes = Takes::file;
    description_.suffix = suffix;
    description_.value = "FILE";
    return this;
}

Option *Option::folder() {
    description_.takes = Takes::folder;
    description_.value = "FOLDER";
    return this;
}

Option *Option::suggests(std::vector<std::string> examples) {
    description_.choices = std::move(examples);
    return this;
}

Option *Option::separator(char separator) {
    description_.separator = separator;
    return this;
}

Option *Option::hidden() {
    description_.hidden = true;
    return this;
}

CommandLine::CommandLine(const std::string &description, const std::string &name)
    : own_(std::make_unique<CLI::App>(description, name)), app_(own_.get()) {
    show_help_from_description();
}
CommandLine::CommandLine(CLI::App *command, std::string program)
    : app_(command), program_(std::move(program)) {
    show_help_from_description();
}
CommandLine::~CommandLine() = default;

void CommandLine::show_help_from_description() {
    const auto print = [this](const CLI::App *, const std::string &, CLI::AppFormatMode) {
        return help_text(describe(), program_);
    };
    app_->formatter_fn(print);
}

CommandLine *CommandLine::add_subcommand(const std::string &name, const std::string &description) {
    commands_.emplace_back(new CommandLine(app_->add_subcommand(name, description), app_->get_name()));
    return commands_.back().get();
}

Option *CommandLine::add(CLI::Option *option, OptionDescription description,
                         std::shared_ptr<NumberRule> number) {
    return options_.emplace_back(std::make_unique<Option>(option, std::move(description), std::move(number)))
        .get();
}

template <class Value>
Option *CommandLine::add_option(const std::string &names, Value &value, const std::string &description) {
    using Single = typename Element<Value>::type;
    OptionDescription described_option = described(names, description);
    described_option.takes = std::is_same_v<Single, std::string> ? Takes::text : Takes::number;
    described_option.value = std::is_same_v<Single, std::string> ? "TEXT"
                             : std::is_floating_point_v<Single>  ? "NUMBER"
                                                                 : "N";
    CLI::Option *option = app_->add_option(names, value, description);
    if constexpr (std::is_same_v<Single, std::string>) {
        return add(option, std::move(described_option));
    } else {
        const auto form = std::is_floating_point_v<Single> ? NumberRule::Form::real : NumberRule::Form::whole;
        auto number = std::make_shared<NumberRule>(form, std::numeric_limits<Single>::max());
        option->transform(CLI::Validator([number](std::string &text) { return number->read(text); }, ""));
        described_option.range = number->range;
        return add(option, std::move(described_option), std::move(number));
    }
}

template Option *CommandLine::add_option(const std::string &, std::string &, const std::string &);
template Option *CommandLine::add_option(const std::string &, double &, const std::string &);
template Option *CommandLine::add_option(const std::string &, int &, const std::string &);
template Option *CommandLine::add_option(const std::string &, uint32_t &, const std::string &);
template Option *CommandLine::add_option(const std::string &, uint64_t &, const std::string &);
template Option *CommandLine::add_option(const std::string &, std::optional<float> &, const std::string &);
template Option *CommandLine::add_option(const std::string &, std::optional<uint32_t> &, const std::string &);
template Option *CommandLine::add_option(const std::string &, std::vector<std::string> &,
                                         const std::string &);
template Option *CommandLine::add_option(const std::string &, std::vector<int> &, const std::string &);
template Option *CommandLine::add_option(const std::string &, std::vector<uint32_t> &, const std::string &);

Option *CommandLine::add_flag(const std::string &names, bool &value, const std::string &description) {
    return add(app_->add_flag(names, value, description), described(names, description));
}

void CommandLine::set_version_flag(const std::string &names, const std::string &text) {
    app_->set_version_flag(names, text);
    version_flag_ = names;
}
void CommandLine::require_subcommand() { app_->require_subcommand(1); }
void CommandLine::footer(const std::string &text) { details_ = text; }
void CommandLine::hidden() { hidden_ = true; }
void CommandLine::answer(std::function<std::string(const std::string &)> answer) {
    answer_ = std::move(answer);
}
bool CommandLine::parsed() const { return app_->parsed(); }

CommandDescription CommandLine::describe() const {
    CommandDescription command;
    command.name = app_->get_name();
    command.summary = app_->get_description();
    command.details = details_;
    command.hidden = hidden_;
    for (const auto &option : options_) command.options.push_back(option->description());
    command.options.push_back(described("-h,--help", "Print this help and exit"));
    if (!version_flag_.empty())
        command.options.push_back(described(version_flag_, "Print the version and exit"));
    for (const auto &one : commands_) command.commands.push_back(one->describe());
    return command;
}

// Empty: it is a command or a flag.
std::string CommandLine::unknown_command(const std::string &word) const {
    std::vector<std::string> names;
    for (const auto &one : commands_) {
        if (one->app_->get_name() == word) return "";
        if (!one->hidden_) names.push_back(one->app_->get_name());
    }
    if (names.empty() || word.starts_with('-')) return "";
    if (const std::string text = answer_ ? answer_(word) : ""; !text.empty()) return text;
    const std::string meant = most_similar(word, names);
    return unknown_command_text(word, meant) + " (" + app_->get_name() + " --help lists the commands)";
}

std::vector<std::string> CommandLine::with_flags(int argc, char **argv) const {
    std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
    if (commands_.empty() || words.empty()) return words;
    if (words[0] == "help") {
        words.erase(words.begin());
        words.resize(std::min<size_t>(words.size(), 1));
        words.emplace_back("--help");
    } else if (words[0] == "version" && !version_flag_.empty()) {
        words[0] = version_flag_;
    }
    return words;
}

// CLI11's words -> what to type instead.
std::string CommandLine::in_words(const CLI::ParseError &error) const {
    const auto given = app_->get_subcommands();
    const CommandDescription program = describe();
    CommandDescription command = program;
    if (!given.empty())
        for (const CommandDescription &one : program.commands)
            if (one.name == given.front()->get_name()) command = one;
    const std::string before = given.empty() ? "" : program.name, text = error.what();
    const std::string called = before.empty() ? command.name : before + " " + command.name;
    const auto listed = [&](const std::string &what) {
        return what + " (" + called + " --help lists the options)";
    };
    const bool required = dynamic_cast<const CLI::RequiredError *>(&error);
    const std::string missing = required ? text.substr(0, text.find(' ')) : "";
    Words taken;
    for (const CLI::Option *option : (given.empty() ? app_ : given.front())->get_options())
        if (option->get_positional() && !option->get_required() && option->count() > 0)
            taken[option->get_name(true)] = option->results().back();
    const std::vector<std::string> rest = app_->remaining(true);
    for (const std::string &word : rest)
        if (word.size() > 1 && word.starts_with('-')) return listed(unknown_option(word, command, program));
    if (!rest.empty() && (required || dynamic_cast<const CLI::ExtrasError *>(&error)))
        return unexpected_argument(rest.front(), missing, command, before);
    if (required && given.empty() && !commands_.empty())
        return "a command is required (" + called + " --help lists the commands)";
    if (required) return missing_argument(missing, taken, command, before);
    const auto name = [&](std::string_view words) { return text.substr(0, text.find(words)); };
    const auto has = [&](std::string_view words) { return text.find(words) != std::string::npos; };
    constexpr std::string_view more = ": At Most 1 required but received ";
    if (has(more))
        return listed(name(more) + ": given " + text.substr(text.find(more) + more.size()) +
                      " times; give it once");
    if (has(": 1 required ")) return listed(missing_value(name(": 1 required "), command));
    if (has(" excludes "))
        return listed(
            excluded_option(name(" excludes "), text.substr(text.find(" excludes ") + 10), taken, command));
    return listed(text);
}

std::optional<int> CommandLine::parse(int argc, char **argv) {
    constexpr int usage = 2;
    std::vector<std::string> words = with_flags(argc, argv);
    if (const std::string unknown = words.empty() ? "" : unknown_command(words[0]); !unknown.empty()) {
        print_text(stderr, "error: %s\n", unknown.c_str());
        return usage;
    }
    try {
        std::reverse(words.begin(), words.end()); // as CLI11 takes them
        app_->parse(std::move(words));
    } catch (const CLI::Success &asked) { // --help, --version
        return app_->exit(asked);
    } catch (const CLI::ParseError &error) {
        print_text(stderr, "error: %s\n", in_words(error).c_str());
        return usage;
    }
    return std::nullopt;
}

} // namespace longwave::cli
