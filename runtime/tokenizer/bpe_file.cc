// tokenizer.json, checked. It rejects everything that it does not understand, because the ids would
// be wrong.
#include "runtime/tokenizer/bpe.h"
#include "runtime/tokenizer/json_document.h"

using nlohmann::json;

namespace longwave::tokenizer {
namespace {

// GPT-2's expression: the default of ByteLevel.
constexpr const char *gpt2 = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// The characters that stand for bytes in vocabulary and merges: printable ones for themselves, the
// others from U+0100 on (GPT-2's bytes_to_unicode).
std::unordered_map<std::string, char> byte_characters() {
    std::unordered_map<std::string, char> result;
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < 256; byte++) {
        const bool itself = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
        const uint32_t c = itself ? byte : next++;
        std::string utf8;
        if (c < 0x80) utf8 = {static_cast<char>(c)};
        else utf8 = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
        result[utf8] = static_cast<char>(byte);
    }
    return result;
}

constexpr uint32_t largest_vocabulary = 1 << 20;

class Reader {
public:
    Reader(std::string name, const json &file, uint32_t vocabulary)
        : name_(std::move(name)), file_(file), vocabulary_(vocabulary ? vocabulary : largest_vocabulary),
          any_size_(vocabulary == 0) {}

    Expected<BpeTables> read() {
        if (!file_.is_object()) return bad("expected a JSON object");
        LW_TRY(check_kind());
        LW_TRY(read_vocabulary());
        LW_TRY(read_merges());
        LW_TRY(read_added());
        LW_TRY(read_cuts());
        return std::move(tables_);
    }

private:
    Status bad(const std::string &problem) const { return Status::input(name_ + ": " + problem); }
    static const json &member(const json &object, const char *key) {
        static const json nothing;
        const auto found = object.is_object() ? object.find(key) : object.end();
        return object.is_object() && found != object.end() ? *found : nothing;
    }
    static std::string text(const json &value) { return value.is_string() ? value.get<std::string>() : ""; }
    static bool flag(const json &value, bool otherwise) {
        return value.is_boolean() ? value.get<bool>() : otherwise;
    }
    static bool absent(const json &value) { return value.is_null() || value == "" || value == false; }

    Status check_kind() const {
        const json &model = member(file_, "model");
        if (text(member(model, "type")) != "BPE")
            return bad("model.type is \"" + text(member(model, "type")) +
                       "\"; expected \"BPE\" with a ByteLevel pre-tokenizer");
        for (const char *key :
             {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "byte_fallback"})
            if (!absent(member(model, key)))
                return bad(std::string("model.") + key + " is set; byte-level BPE does not support it");
        if (!file_.contains("normalizer") || file_["normalizer"].is_null()) return {};
        return bad("the normalizer " + text(member(file_["normalizer"], "type")) +
                   " changes the text; only tokenizers without a normalizer are supported");
    }

    Status check_id(const json &id, const std::string &of, int32_t &result) {
        if (!id.is_number_integer() || id < 0)
            return bad("the id of " + of + " must be a whole number of at least 0");
        if (id >= vocabulary_)
            return Status::usage(name_ + ": the id of " + of + " is " + id.dump() +
                                 ", but the model's vocabulary has " + std::to_string(vocabulary_) +
                                 " ids; this is the tokenizer of another model");
        result = id.get<int32_t>();
        const size_t needed = static_cast<size_t>(result) + 1;
        if (tables_.bytes.size() < needed) tables_.bytes.resize(needed);
        return {};
    }

    // Empty: the token has a character that does not stand for a byte.
    std::string to_bytes(const std::string &token) const {
        std::string bytes;
        for (size_t i = 0; i < token.size();) {
            const size_t n = (static_cast<unsigned char>(token[i]) & 0x80) ? 2 : 1;
            const auto byte = characters_.find(token.substr(i, n));
            if (byte == characters_.end()) return "";
            bytes += byte->second;
            i += n;
        }
        return bytes;
    }

    Status read_vocabulary() {
        const json &vocab = member(member(file_, "model"), "vocab");
        if (!vocab.is_object()) return bad("model.vocab is missing");
        if (!any_size_) tables_.bytes.resize(vocabulary_);
        for (const auto &[token, id] : vocab.items()) {
            int32_t number = 0;
            LW_TRY(check_id(id, "\"" + token + "\"", number));
            names_[token] = number;
            const std::string bytes = to_bytes(token);
            tables_.bytes[static_cast<size_t>(number)] = bytes.empty() ? token : bytes;
            if (!bytes.empty()) tables_.ids[bytes] = number;
        }
        for (size_t i = 0; i < 256; i++) {
            const auto found = tables_.ids.find(std::string(1, static_cast<char>(i)));
            if (found == tables_.ids.end())
                return bad("the vocabulary has no token for byte " + std::to_string(i) +
                           "; byte-level BPE needs one for every byte");
            tables_.of_byte[i] = found->second;
        }
        tables_.whole_first = flag(member(member(file_, "model"), "ignore_merges"), false);
        return {};
    }

    Status read_merges() {
        const json &merges = member(member(file_, "model"), "merges");
        if (!merges.is_array()) return bad("model.merges is missing");
        for (const json &merge : merges) {
            std::string left, right;
            if (merge.is_string()) { // "a b", as older files have it
                const std::string both = merge.get<std::string>();
                const size_t space = both.find(' ');
                left = both.substr(0, space);
                right = space == std::string::npos ? "" : both.substr(space + 1);
            } else if (merge.is_array() && merge.size() == 2) {
                left = text(merge[0]);
                right = text(merge[1]);
            }
            const auto l = names_.find(left), r = names_.find(right), both = names_.find(left + right);
            const std::string which = "merge " + std::to_string(rank_);
            if (l == names_.end() || r == names_.end())
                return bad(which + " must join two tokens of the vocabulary: " + merge.dump(-1, ' ', true));
            if (both == names_.end())
                return bad(which +
                           " makes a token that is not in the vocabulary: " + merge.dump(-1, ' ', true));
            tables_.merges.emplace(BpeTables::pair(l->second, r->second),
                                   BpeTables::Merge{rank_, both->second});
            rank_++;
        }
        return {};
    }

    Status read_added() {
        const json &added = member(file_, "added_tokens");
        if (added.is_null()) return {};
        if (!added.is_array()) return bad("added_tokens must be a list");
        for (const json &token : added) {
            AddedToken result;
            result.text = text(member(token, "content"));
            if (result.text.empty()) return bad("an added token has no content");
            LW_TRY(check_id(member(token, "id"), "\"" + result.text + "\"", result.id));
            for (const char *key : {"single_word", "lstrip", "rstrip"})
                if (flag(member(token, key), false))
                    return bad("the added token \"" + result.text + "\" has " + key +
                               "; this is not supported");
            tables_.bytes[static_cast<size_t>(result.id)] = result.text;
            tables_.added[flag(member(token, "normalized"), true) ? 1 : 0].push_back(std::move(result));
        }
        return {};
    }

    Status read_cuts() {
        const json &cuts = member(file_, "pre_tokenizer");
        const std::string type = text(member(cuts, "type"));
        std::vector<const json *> list = {&cuts};
        if (type == "Sequence") {
            list.clear();
            for (const json &cut : member(cuts, "pretokenizers")) list.push_back(&cut);
        }
        bool byte_level = false;
        for (const json *const one : list) {
            const json &cut = *one;
            const std::string kind = text(member(cut, "type"));
            if (kind == "ByteLevel" && !byte_level) {
                byte_level = true;
                tables_.prefix_space = flag(member(cut, "add_prefix_space"), true);
                if (!flag(member(cut, "use_regex"), true)) continue;
                LW_ASSIGN(Pattern pattern, Pattern::compile(gpt2, name_));
                tables_.last.push_back(std::move(pattern));
            } else if (kind == "Split" && !byte_level) {
                LW_TRY(read_split(cut));
            } else {
                return bad("the pre-tokenizer " + (kind.empty() ? "is missing" : "has \"" + kind + "\"") +
                           "; expected Split, followed by ByteLevel");
            }
        }
        return byte_level ? Status()
                          : bad("the ByteLevel pre-tokenizer is missing; only byte-level BPE is supported");
    }

    Status read_split(const json &cut) {
        const json &expression = member(member(cut, "pattern"), "Regex");
        if (!expression.is_string() || text(member(cut, "behavior")) != "Isolated" ||
            flag(member(cut, "invert"), false))
            return bad(
                "a Split of the pre-tokenizer must be by Regex, with behavior Isolated and without invert");
        LW_ASSIGN(Pattern pattern, Pattern::compile(text(expression), name_));
        tables_.splits.push_back(std::move(pattern));
        return {};
    }

    const std::string name_;
    const json &file_;
    const uint32_t vocabulary_;
    const bool any_size_; // the vocabulary has as many ids as the file
    const std::unordered_map<std::string, char> characters_ = byte_characters();
    std::unordered_map<std::string, int32_t> names_; // as the file writes them
    uint32_t rank_ = 0;
    BpeTables tables_;
};

} // namespace

Expected<BpeTables> bpe_of(std::string_view text, const std::string &name, uint32_t vocabulary) {
    JsonDocument document;
    LW_TRY(document.parse(text, name));
    return Reader(name, document.root(), vocabulary).read();
}

} // namespace longwave::tokenizer
