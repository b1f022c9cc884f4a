#include "tools/cli/support/command_line.h"
#include <CLI/CLI.hpp>
#include <cstdio>

namespace longwave::cli {

Check::Check(CLI::Validator validator)
    : validator_(std::make_shared<const CLI::Validator>(std::move(validator))) {}

Check range(int low, int high) { return Check(CLI::Range(low, high)); }
Check range(double low, double high) { return Check(CLI::Range(low, high)); }
Check not_negative() { return Check(CLI::NonNegativeNumber); }
Check one_of(std::initializer_list<const char *> words) {
    return Check(CLI::IsMember(std::vector<std::string>(words.begin(), words.end())));
}

Option *Option::required() {
    option_->required();
    return this;
}

Option *Option::check(const Check &check) {
    option_->check(check.validator());
    return this;
}

Option *Option::delimiter(char separator) {
    option_->delimiter(separator);
    return this;
}

Option *Option::single() {
    option_->allow_extra_args(false);
    return this;
}

Option *Option::size() {
    option_->transform(CLI::AsSizeValue(false));
    return this;
}

Option *Option::excludes(const Option *other) {
    option_->excludes(other->option_);
    return this;
}

Option *Option::capture_default_str() {
    option_->capture_default_str();
    return this;
}

Option *Option::default_str(const std::string &text) {
    option_->default_str(text);
    return this;
}

bool Option::given() const { return option_->count() > 0; }

CommandLine::CommandLine(const std::string &description, const std::string &name)
    : own_(std::make_unique<CLI::App>(description, name)), app_(own_.get()) {}
CommandLine::CommandLine(CLI::App *verb) : app_(verb) {}
CommandLine::~CommandLine() = default;

CommandLine *CommandLine::add_subcommand(const std::string &name, const std::string &description) {
    verbs_.emplace_back(new CommandLine(app_->add_subcommand(name, description)));
    return verbs_.back().get();
}

Option *CommandLine::add(CLI::Option *option) {
    return options_.emplace_back(std::make_unique<Option>(option)).get();
}

template <class Value>
Option *CommandLine::add_option(const std::string &names, Value &value, const std::string &description) {
    return add(app_->add_option(names, value, description));
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
    return add(app_->add_flag(names, value, description));
}

void CommandLine::set_version_flag(const std::string &names, const std::string &text) {
    app_->set_version_flag(names, text);
}
void CommandLine::require_subcommand() { app_->require_subcommand(1); }
void CommandLine::footer(const std::string &text) { app_->footer(text); }
bool CommandLine::parsed() const { return app_->parsed(); }

std::optional<int> CommandLine::parse(int argc, char **argv) {
    constexpr int usage = 2;
    try {
        app_->parse(argc, argv);
    } catch (const CLI::Success &asked) { // --help, --version
        return app_->exit(asked);
    } catch (const CLI::ParseError &error) {
        const auto verbs = app_->get_subcommands();
        const std::string verb = verbs.empty() ? "" : " " + verbs.front()->get_name();
        std::fprintf(stderr, "error: %s (%s%s --help shows the flags)\n", error.what(),
                     app_->get_name().c_str(), verb.c_str());
        return usage;
    }
    return std::nullopt;
}

} // namespace longwave::cli
