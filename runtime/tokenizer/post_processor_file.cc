// `post_processor` of tokenizer.json: the ids around a text, as those of BOS and EOS.
#include "runtime/tokenizer/tokenizer_file.h"

using nlohmann::json;

namespace longwave::tokenizer {
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
