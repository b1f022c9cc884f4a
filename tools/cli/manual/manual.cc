#include "tools/cli/manual/manual.h"
#include <nlohmann/json.hpp>

using nlohmann::ordered_json;

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

namespace {

const char *takes_name(Takes takes) {
    switch (takes) {
    case Takes::nothing: return "nothing";
    case Takes::text: return "text";
    case Takes::number: return "number";
    case Takes::file: return "file";
    case Takes::folder: return "folder";
    }
    return "";
}

ordered_json object_of(const OptionDescription &option) {
    ordered_json json = {{"names", option.names}, {"takes", takes_name(option.takes)}, {"help", option.help}};
    if (option.positional()) json["argument"] = option.argument;
    if (!option.value.empty()) json["value"] = option.value;
    if (!option.default_value.empty()) json["default"] = option.default_value;
    if (!option.range.empty()) json["range"] = option.range;
    if (!option.choices.empty()) json[option.closed ? "choices" : "examples"] = option.choices;
    if (!option.suffix.empty()) json["suffix"] = option.suffix;
    if (option.separator) json["separator"] = std::string(1, option.separator);
    if (!option.excludes.empty()) json["excludes"] = option.excludes;
    json["required"] = option.required;
    json["repeats"] = option.repeats;
    return json;
}

ordered_json object_of(const CommandDescription &command) {
    ordered_json json = {{"name", command.name}, {"summary", command.summary}, {"details", command.details}};
    json["options"] = ordered_json::array();
    for (const OptionDescription &option : command.options)
        if (!option.hidden) json["options"].push_back(object_of(option));
    json["commands"] = ordered_json::array();
    for (const CommandDescription &one : command.commands)
        if (!one.hidden) json["commands"].push_back(object_of(one));
    return json;
}

} // namespace

std::string json_of(const CommandDescription &program) { return object_of(program).dump(1) + "\n"; }

} // namespace longwave::cli
