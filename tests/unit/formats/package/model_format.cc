// The source has a section "## TYPE" for each layer type: a text, "- `attribute`: text" and "+
// `tensor`: shape" lines, a text. A line of two spaces continues the one before. The page gets
// kinds, ranges, defaults and conditions from the table of layer types.
#include "tests/unit/formats/package/model_format.h"
#include "formats/package/layer_types.h"
#include <fmt/format.h>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

namespace longwave::package {
namespace {

constexpr size_t width = 98;

struct Section {
    std::vector<std::string> before, after;                               // lines of prose
    std::vector<std::pair<std::string, std::string>> attributes, tensors; // name and text, in order
};

struct Source {
    std::string head, tail;
    std::map<std::string, Section> sections;
    std::string problems;
};

// "- `name`: text" into its two parts.
bool read_item(const std::string &line, char mark, std::pair<std::string, std::string> &item) {
    if (line.size() < 4 || line[0] != mark || line.compare(1, 2, " `") != 0) return false;
    const size_t end = line.find("`: ", 3);
    if (end == line.npos) return false;
    item = {line.substr(3, end - 3), line.substr(end + 3)};
    return true;
}

void read_section_line(const std::string &line, Section &section) {
    std::pair<std::string, std::string> item;
    const bool listed = !section.attributes.empty() || !section.tensors.empty();
    if (read_item(line, '-', item)) section.attributes.push_back(item);
    else if (read_item(line, '+', item)) section.tensors.push_back(item);
    else if (listed && line.starts_with("  ") && section.after.empty())
        (section.tensors.empty() ? section.attributes : section.tensors).back().second += line.substr(1);
    else (listed ? section.after : section.before).push_back(line);
}

Source read_source(const std::string &text) {
    Source source;
    std::istringstream lines(text);
    std::string line;
    Section *section = nullptr;
    bool in_layers = false, ended = false;
    while (std::getline(lines, line)) {
        if (line == "<!-- layers -->") in_layers = true;
        else if (line == "<!-- end -->") ended = true;
        else if (ended) source.tail += line + "\n";
        else if (!in_layers) source.head += line + "\n";
        else if (line.starts_with("## ")) section = &source.sections[line.substr(3)];
        else if (section) read_section_line(line, *section);
    }
    if (!ended) source.problems += "the source has no line <!-- end -->\n";
    return source;
}

// Words of `text` on lines of at most `width` columns; the first line starts with `first`.
std::string wrap(const std::string &first, const std::string &text) {
    std::string out = first, word;
    size_t column = first.size();
    std::istringstream words(text);
    for (bool begin = true; words >> word; begin = false) {
        if (column + 1 + word.size() > width) {
            out += "\n ";
            column = 1;
            begin = false;
        }
        out += (begin ? "" : " ") + word;
        column += word.size() + 1;
    }
    return out + "\n";
}

std::string value_text(const AttributeType &type) {
    using Kind = AttributeType::Kind;
    switch (type.kind) {
    case Kind::boolean: return "true or false";
    case Kind::pair: return "two integers";
    case Kind::branches: return "list";
    case Kind::integer:
        return type.high >= max_dim ? fmt::format("integer, at least {}", type.low)
                                    : fmt::format("integer, {} to {}", type.low, type.high);
    case Kind::number: return fmt::format("number, {} to {}", type.low, type.high);
    case Kind::text: break;
    }
    if (type.choices.empty()) return "text";
    std::string list;
    for (const std::string &choice : type.choices) list += (list.empty() ? "`" : ", `") + choice + "`";
    return "one of " + list;
}

std::string condition_text(const ParameterType &type) {
    std::string text;
    for (const std::string &name : type.when) {
        text += text.empty() ? " Read if " : " and ";
        text += name[0] == '!' ? fmt::format("`{}` is not set", name.substr(1))
                               : fmt::format("`{}` is set", name);
    }
    return text.empty() ? "" : text + ".";
}

std::string with_full_stop(std::string text) {
    if (!text.empty() && text.back() != '.') text += '.';
    return text;
}

std::string attribute_line(const AttributeType &type, const std::string &text) {
    std::string about = text;
    about[0] = static_cast<char>(std::toupper(about[0]));
    const std::string fallback = type.required           ? "required"
                                 : type.fallback.empty() ? "optional"
                                                         : fmt::format("default `{}`", type.fallback);
    return wrap(
        "- ", fmt::format("`{}` ({}, {}). {}", type.name, value_text(type), fallback, with_full_stop(about)));
}

// The name without its index: `fixed_conv.*` serves all names that begin with "fixed_conv.".
const std::string *text_of(const std::vector<std::pair<std::string, std::string>> &texts,
                           const std::string &name) {
    for (const auto &[key, text] : texts) {
        if (key == name) return &text;
        if (key.ends_with("*") && name.starts_with(key.substr(0, key.size() - 1))) return &text;
    }
    return nullptr;
}

std::string tensor_name(std::string name) {
    const size_t mark = name.find('#');
    return mark == name.npos ? name : name.replace(mark, 1, "{i}");
}

class Page {
public:
    explicit Page(Source source) : source_(std::move(source)) {}

    Expected<std::string> write() {
        std::string page = source_.head;
        page.replace(0, page.find('\n') + 1,
                     "<!-- Generated from formats/package/layer_types.cc and docs/model-format.in.md. Do not "
                     "edit. -->\n");
        for (const LayerType &type : layer_types()) page += section(type);
        for (const auto &[name, rest] : source_.sections)
            if (!find_layer_type(name)) problem("no layer type has the name of the section " + name);
        page += source_.tail;
        if (!source_.problems.empty()) return Status::check(source_.problems);
        return page;
    }

private:
    void problem(const std::string &text) { source_.problems += text + "\n"; }

    std::string section(const LayerType &type) {
        std::string out = "### " + type.name + "\n\n";
        auto found = source_.sections.find(type.name);
        if (found == source_.sections.end()) {
            problem("no section for the layer type " + type.name);
            return out;
        }
        const Section &texts = found->second;
        out += prose(texts.before) + facts(type) + attributes(type, texts) + tensors(type, texts);
        return out + prose(texts.after);
    }

    static std::string prose(const std::vector<std::string> &lines) {
        size_t begin = 0, end = lines.size();
        while (begin < end && lines[begin].empty()) ++begin;
        while (end > begin && lines[end - 1].empty()) --end;
        std::string out;
        for (size_t i = begin; i < end; ++i) out += lines[i] + "\n";
        return out.empty() ? out : out + "\n";
    }

    static std::string facts(const LayerType &type) {
        std::string out;
        if (type.norm) out += "- It may be the norm of a `residual`.\n";
        if (type.two_inputs) out += "- It needs `inputs` with two names.\n";
        if (type.may_mask) out += "- It may have `inputs` with two names: the features and a mask.\n";
        if (!type.values.empty()) {
            out += "- Other layers may read";
            for (size_t i = 0; i < type.values.size(); ++i)
                out += (i ? ", `NAME/" : " `NAME/") + type.values[i] + "`";
            out += ".\n";
        }
        return out.empty() ? out : out + "\n";
    }

    std::string attributes(const LayerType &type, const Section &texts) {
        std::string out;
        for (const AttributeType &attribute : type.attributes) {
            const std::string *text = text_of(texts.attributes, attribute.name);
            if (text) out += attribute_line(attribute, *text);
            else problem(fmt::format("{}: the attribute {} has no text", type.name, attribute.name));
        }
        for (const auto &[name, text] : texts.attributes) {
            const bool read_as_layers = type.name == "residual" && (name == "norm" || name == "layers");
            if (read_as_layers) out += wrap("- ", fmt::format("`{}`. {}", name, with_full_stop(text)));
            else if (!has(type.attributes, name))
                problem(fmt::format("{}: no attribute {}", type.name, name));
        }
        if (type.name == "branches") out += kinds();
        return out.empty() ? out : "Attributes:\n\n" + out + "\n";
    }

    // Elements of a list of branches.
    static std::string kinds() {
        std::string out;
        for (const LayerType &kind : branch_kinds()) {
            std::string keys;
            for (const AttributeType &a : kind.attributes)
                keys += fmt::format("{}`{}` ({})", keys.empty() ? "" : ", ", a.name,
                                    a.required ? "required" : "default `" + a.fallback + "`");
            out +=
                wrap("- ", fmt::format("A branch with `\"kind\": \"{}\"` has the keys {}.", kind.name, keys));
        }
        return out;
    }

    std::string tensors(const LayerType &type, const Section &texts) {
        std::string out;
        for (const ParameterType &parameter : type.parameters) {
            const std::string *text = text_of(texts.tensors, parameter.name);
            if (text)
                out += wrap("- ", fmt::format("`{}`: {}{}", tensor_name(parameter.name),
                                              with_full_stop(*text), condition_text(parameter)));
            else problem(fmt::format("{}: the tensor {} has no text", type.name, parameter.name));
        }
        for (const auto &[name, text] : texts.tensors)
            if (!has(type.parameters, name)) problem(fmt::format("{}: no tensor {}", type.name, name));
        return out.empty() ? out : "Tensors:\n\n" + out + "\n";
    }

    template <class T> static bool has(const std::vector<T> &table, const std::string &name) {
        for (const T &row : table)
            if (row.name == name ||
                (name.ends_with("*") && row.name.starts_with(name.substr(0, name.size() - 1))))
                return true;
        return false;
    }

    Source source_;
};

} // namespace

Expected<std::string> model_format(const std::string &source) { return Page(read_source(source)).write(); }

} // namespace longwave::package
