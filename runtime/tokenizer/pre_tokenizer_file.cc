// `normalizer` and `pre_tokenizer` of tokenizer.json.
#include "runtime/tokenizer/tokenizer_file.h"
#include "runtime/tokenizer/unicode/unicode.h"

using nlohmann::json;

namespace longwave::tokenizer {
namespace {

Status bad(const std::string &name, const std::string &problem) {
    return Status::input(name + ": " + problem);
}

std::optional<Behavior> behavior_of(const json &value) {
    const std::string name = text_of(value);
    if (name == "Removed") return Behavior::removed;
    if (name == "Isolated") return Behavior::isolated;
    if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
    if (name == "MergedWithNext") return Behavior::merged_with_next;
    if (name == "Contiguous") return Behavior::contiguous;
    return std::nullopt;
}

// A sequence of these, in sequences of sequences: the members in order.
void flatten(const json &value, const char *members, std::vector<const json *> &result) {
    if (text_of(member(value, "type")) != "Sequence") return result.push_back(&value);
    const json &list = member(value, members);
    if (!list.is_array()) return result.push_back(&value); // is rejected there
    for (const json &one : list) flatten(one, members, result);
}

Expression literal(std::string_view text) {
    Expression result;
    for (size_t i = 0; i < text.size();) {
        const Decoded decoded = decode(text.substr(i));
        Expression &one = result.parts.emplace_back();
        one.kind = Expression::Kind::set;
        one.set.add(decoded.c, decoded.c);
        i += decoded.bytes;
    }
    return result;
}

Expected<Step> split(const json &cut, const std::string &where) {
    Step step;
    const std::optional<Behavior> behavior = behavior_of(member(cut, "behavior"));
    if (!behavior) return bad(where, "the behavior of Split is not known");
    step.behavior = *behavior;
    step.invert = flag_of(member(cut, "invert"), false);
    const json &pattern = member(cut, "pattern");
    const json &regex = member(pattern, "Regex"), &string = member(pattern, "String");
    if (regex.is_string()) {
        LW_ASSIGN(step.pattern, Pattern::compile(text_of(regex), where));
    } else if (string.is_string()) {
        if (text_of(string).size() > most_expression_bytes)
            return bad(where, "the String of Split is too long");
        LW_ASSIGN(step.pattern, Pattern::compile(literal(text_of(string)), where));
    } else {
        return bad(where, "Split needs a pattern: Regex or String");
    }
    return step;
}

} // namespace

Status read_normalizer(const json &file, const std::string &name, BpeTables &tables) {
    const json &normalizer = member(file, "normalizer");
    if (normalizer.is_null()) return {};
    std::vector<const json *> list;
    flatten(normalizer, "normalizers", list);
    for (const json *const one : list) {
        const std::string kind = text_of(member(*one, "type"));
        if (kind == "NFC") tables.forms.push_back(Form::nfc);
        else if (kind == "NFD") tables.forms.push_back(Form::nfd);
        else if (kind == "NFKC") tables.forms.push_back(Form::nfkc);
        else if (kind == "NFKD") tables.forms.push_back(Form::nfkd);
        else
            return bad(name, "the normalizer " + quoted_text(kind) +
                                 " is not supported; expected NFC, NFD, NFKC, NFKD or a Sequence of them");
    }
    if (list.size() > 16) return bad(name, "has more than 16 normalizers");
    tables.keeps_text = tables.keeps_text && list.empty();
    return {};
}

Status read_pre_tokenizer(const json &file, const std::string &name, BpeTables &tables) {
    std::vector<const json *> list;
    flatten(member(file, "pre_tokenizer"), "pretokenizers", list);
    if (list.size() > 64) return bad(name, "has more than 64 pre-tokenizers");
    bool byte_level = false;
    for (const json *const one : list) {
        const json &cut = *one;
        const std::string kind = text_of(member(cut, "type")),
                          where = name + ": pre_tokenizer " + std::to_string(tables.steps.size() + 1);
        Step step;
        if (kind == "ByteLevel" && !byte_level) {
            byte_level = true;
            step.kind = Step::Kind::byte_level;
            step.prefix_space = flag_of(member(cut, "add_prefix_space"), true);
            if (flag_of(member(cut, "use_regex"), true)) {
                // GPT-2's expression.
                LW_ASSIGN(step.pattern,
                          Pattern::compile(
                              R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)",
                              where));
            }
        } else if (kind == "Split") {
            LW_ASSIGN(step, split(cut, where));
        } else if (kind == "Digits") {
            step.kind = Step::Kind::set;
            step.set = digits();
            step.behavior =
                flag_of(member(cut, "individual_digits"), false) ? Behavior::isolated : Behavior::contiguous;
        } else if (kind == "Punctuation") {
            step.kind = Step::Kind::set;
            step.set = punctuation();
            const json &behavior = member(cut, "behavior");
            const std::optional<Behavior> known =
                behavior.is_null() ? Behavior::isolated : behavior_of(behavior);
            if (!known) return bad(where, "the behavior of Punctuation is not known");
            step.behavior = *known;
        } else if (cut.is_null() || kind.empty()) {
            return bad(name, "the pre-tokenizer is missing; expected one with ByteLevel");
        } else {
            return bad(where, quoted_text(kind) +
                                  (byte_level && kind == "ByteLevel" ? " a second time" : "") +
                                  " is not supported; expected Split, Digits, Punctuation and one ByteLevel");
        }
        tables.keeps_text = tables.keeps_text && step.behavior != Behavior::removed;
        tables.steps.push_back(std::move(step));
    }
    return byte_level ? Status()
                      : bad(name, "the ByteLevel pre-tokenizer is missing; only byte-level BPE is supported");
}

} // namespace longwave::tokenizer
