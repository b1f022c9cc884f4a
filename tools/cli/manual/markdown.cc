#include "tools/cli/manual/manual.h"

namespace longwave::cli {
namespace {

constexpr size_t width = 98;

std::string paragraph_text(const std::string &text, const std::string &first = "") {
    std::string result, indent = first;
    for (const std::string &line : wrapped(text, width - first.size())) {
        result += indent + line + "\n";
        indent = std::string(first.size(), ' ');
    }
    return result;
}

// Markdown must not take * _ < and | of a text for its own.
std::string escaped(const std::string &text) {
    std::string result;
    bool code = false;
    for (const char c : text) {
        if (c == '`') code = !code;
        if (!code && (c == '<' || c == '*' || c == '_' || c == '|')) result += '\\';
        result += c;
    }
    return result;
}

std::string option_text(const OptionDescription &option) {
    const std::string facts = facts_of(option);
    return paragraph_text("`" + heading_of(option) +
                              "`: " + escaped(option.help + (facts.empty() ? "" : " (" + facts + ")")),
                          "- ");
}

std::string details_text(const std::string &details) {
    std::string text;
    for (const std::string &paragraph : paragraphs_of(details))
        text += paragraph[0] == ' ' ? "```text\n" + paragraph + "\n```\n\n"
                                    : paragraph_text(escaped(paragraph)) + "\n";
    return text;
}

std::string command_text(const CommandDescription &command, const std::string &program) {
    std::string text = "## " + program + " " + command.name + "\n\n" +
                       paragraph_text(escaped(command.summary)) + "\n```text\n" + usage_of(command, program) +
                       "\n```\n\n";
    std::string arguments, options;
    for (const OptionDescription &option : command.options)
        if (!option.hidden) (option.positional() ? arguments : options) += option_text(option);
    if (!arguments.empty()) text += "Arguments:\n\n" + arguments + "\n";
    text += "Options:\n\n" + options + "\n";
    return text + details_text(command.details);
}

} // namespace

std::string markdown_of(const CommandDescription &program) {
    std::string text = "# The command line\n\n<!-- `" + program.name +
                       " manual` writes this page from the flag table. Do not edit it. -->\n\n" +
                       paragraph_text(escaped(program.summary)) + "\n```text\n" + usage_of(program, "") +
                       "\n```\n\n";
    for (const CommandDescription &command : program.commands)
        if (!command.hidden)
            text += paragraph_text("[`" + command.name + "`](#" + program.name + "-" + command.name +
                                       "): " + escaped(command.summary),
                                   "- ");
    text += "\n";
    text += details_text(program.details);
    for (const CommandDescription &command : program.commands)
        if (!command.hidden) text += command_text(command, program.name);
    text.pop_back(); // one line end at the end
    return text;
}

} // namespace longwave::cli
