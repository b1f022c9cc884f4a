// `normalizer`, `pre_tokenizer` and `post_processor` of tokenizer.json.
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

// The ids around a text, as those of BOS and EOS.

namespace {

class PostProcessor {
public:
    PostProcessor(const std::string &name, BpeTables &tables) : name_(name), tables_(tables) {}

    Status read(const json &value) {
        const std::string kind = text_of(member(value, "type"));
        if (kind == "ByteLevel") return {}; // changes offsets only
        if (kind == "Sequence" && member(value, "processors").is_array()) {
            for (const json &one : member(value, "processors")) LW_TRY(read(one));
            return {};
        }
        if (kind != "TemplateProcessing" && kind != "RobertaProcessing" && kind != "BertProcessing")
            return bad(quoted_text(kind) +
                       " is not supported; expected TemplateProcessing, RobertaProcessing, "
                       "BertProcessing, ByteLevel or a Sequence of them");
        if (seen_) return bad("adds special tokens twice, which is not supported");
        seen_ = true;
        if (kind == "TemplateProcessing") return read_template(value);
        LW_TRY(put(member(value, "cls"), tables_.begin));
        return put(member(value, "sep"), tables_.end);
    }

private:
    Status bad(const std::string &problem) const {
        return Status::input(name_ + ": the post_processor " + problem);
    }
    Status id(const json &value, std::vector<int32_t> &list) const {
        // A token of the file, as its ids must be.
        if (!value.is_number_integer() || value < 0 || value >= tables_.bytes.size() ||
            tables_.bytes[value.get<size_t>()].empty())
            return bad("has an id that is not the id of a token: " + value.dump(-1, ' ', true));
        if (list.size() == 64) return bad("adds more than 64 tokens");
        list.push_back(value.get<int32_t>());
        return {};
    }
    Status put(const json &token, std::vector<int32_t> &list) const { // ["</s>", 2]
        if (!token.is_array() || token.size() != 2) return bad("has no token in \"cls\" or \"sep\"");
        return id(token[1], list);
    }
    Status read_template(const json &value) {
        const json &single = member(value, "single");
        if (!single.is_array()) return bad("has no list \"single\"");
        bool text = false;
        for (const json &piece : single) {
            if (const json &sequence = member(piece, "Sequence"); !sequence.is_null()) {
                if (text || text_of(member(sequence, "id")) != "A")
                    return bad("has a template that does not hold the text once");
                text = true;
                continue;
            }
            const std::string token = text_of(member(member(piece, "SpecialToken"), "id"));
            const json &ids = member(member(member(value, "special_tokens"), token.c_str()), "ids");
            if (!ids.is_array())
                return bad("has a template with a token that it does not explain: " + quoted_text(token));
            for (const json &one : ids) LW_TRY(id(one, text ? tables_.end : tables_.begin));
        }
        return text ? Status() : bad("has a template that does not hold the text once");
    }

    const std::string &name_;
    BpeTables &tables_;
    bool seen_ = false;
};

} // namespace

Status read_post_processor(const json &file, const std::string &name, BpeTables &tables) {
    const json &value = member(file, "post_processor");
    return value.is_null() ? Status() : PostProcessor(name, tables).read(value);
}

} // namespace longwave::tokenizer
