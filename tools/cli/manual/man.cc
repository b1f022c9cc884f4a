#include "tools/cli/manual/manual.h"
#include <algorithm>

namespace longwave::cli {
namespace {

// Text for roff: backslashes and hyphens stand for themselves, and a line never begins with a
// control character.
std::string escaped(const std::string &text) {
    std::string result;
    for (const char c : text) {
        if (c == '\\') result += "\\e";
        else if (c == '-') result += "\\-";
        else if (c == '`') result += "";
        else result += c;
    }
    if (!result.empty() && (result[0] == '.' || result[0] == '\'')) result.insert(0, "\\&");
    return result;
}

std::string lines_of(const std::string &text) {
    std::string result;
    for (const std::string &line : wrapped(text, 80)) result += escaped(line) + "\n";
    return result;
}

std::string bold(const std::string &text) { return "\\fB" + escaped(text) + "\\fR"; }
std::string italic(const std::string &text) { return "\\fI" + escaped(text) + "\\fR"; }

std::string option_text(const OptionDescription &option) {
    std::string text = ".TP\n";
    if (option.positional()) text += italic(upper(option.argument));
    for (size_t i = 0; i < option.names.size(); i++)
        text += (i > 0 || option.positional() ? ", " : "") + bold(option.names[i]);
    if (!option.names.empty() && !option.value.empty()) text += " " + italic(option.value);
    const std::string facts = facts_of(option);
    return text + "\n" + lines_of(option.help + (facts.empty() ? "" : " (" + facts + ")"));
}

std::string details_text(const std::string &details) {
    if (details.empty()) return "";
    std::string text = ".SH NOTES\n";
    for (const std::string &paragraph : paragraphs_of(details)) {
        text += ".PP\n";
        if (paragraph[0] != ' ') {
            text += lines_of(paragraph);
            continue;
        }
        text += ".nf\n";
        for (size_t at = 0; at < paragraph.size();) {
            const size_t end = std::min(paragraph.find('\n', at), paragraph.size());
            text += escaped(paragraph.substr(at, end - at)) + "\n";
            at = end + 1;
        }
        text += ".fi\n";
    }
    return text;
}

} // namespace

std::string man_page_of(const CommandDescription &program, const CommandDescription *command,
                        const std::string &version) {
    const CommandDescription &subject = command ? *command : program;
    const std::string name = command ? program.name + "-" + command->name : program.name;
    std::string summary = subject.summary;
    if (!summary.empty() && summary.back() == '.') summary.pop_back();
    std::string text = ".\\\" Written by `" + program.name + " manual`.\n.TH " + upper(escaped(name)) +
                       " 1 \"\" \"" + escaped(version) + "\" \"Longwave manual\"\n.nh\n.SH NAME\n" +
                       escaped(name) + " \\- " + escaped(summary) + "\n.SH SYNOPSIS\n" +
                       bold(usage_of(subject, command ? program.name : "")) + "\n";
    std::string arguments, options;
    for (const OptionDescription &option : subject.options)
        if (!option.hidden) (option.positional() ? arguments : options) += option_text(option);
    if (!subject.commands.empty()) {
        text += ".SH COMMANDS\n";
        for (const CommandDescription &one : subject.commands)
            if (!one.hidden) text += ".TP\n" + bold(one.name) + "\n" + lines_of(one.summary);
    }
    if (!arguments.empty()) text += ".SH ARGUMENTS\n" + arguments;
    if (!options.empty()) text += ".SH OPTIONS\n" + options;
    text += details_text(subject.details);
    text +=
        ".SH \"EXIT STATUS\"\n.TP\n0\nSuccess.\n.TP\n1\nA check failed.\n.TP\n2\nThe command line is wrong."
        "\n.TP\n3\nAn input file is wrong.\n.TP\n4\nThe machine or a device failed.\n.TP\n130\n"
        "Control-C ended the command, as a shell reports it.\n.SH \"SEE ALSO\"\n";
    std::string others = command ? bold(program.name) + "(1)" : "";
    for (const CommandDescription &one : program.commands)
        if (!one.hidden && &one != command)
            others += (others.empty() ? "" : ",\n") + bold(program.name + "-" + one.name) + "(1)";
    return text + others + "\n";
}

} // namespace longwave::cli
