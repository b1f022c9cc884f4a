// tokenizer.json, checked: the model and the added tokens. It rejects everything that it does not
// understand, because the ids would be wrong.
#include "formats/base/expected.h"
#include "runtime/tokenizer/tokenizer_file.h"
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_set>
#include <vector>

using nlohmann::json;

namespace longwave::tokenizer {
namespace {

// A JSON document that can be destroyed when there is no memory. nlohmann::json takes memory to
// destroy a container with elements, and the lack of it would end the program.

class JsonDocument {
public:
    JsonDocument() = default;
    JsonDocument(const JsonDocument &) = delete;
    JsonDocument &operator=(const JsonDocument &) = delete;
    ~JsonDocument();

    // Any bytes. Fault::input, with `name` before it: not JSON, or nested too deep.
    Status parse(std::string_view text, const std::string &name);
    const nlohmann::json &root() const { return root_; }

private:
    nlohmann::json root_;
};

constexpr size_t most_levels = 64; // limits the recursion below; a tokenizer.json has six

// From the leaves up: a container without elements is destroyed without memory.
void empty(json &value) {
    if (!value.is_structured()) return;
    for (json &element : value) empty(element);
    value.clear();
}

// Builds the document in place. json::parse would destroy a part of one when memory runs out.
class Builder final : public nlohmann::json_sax<json> {
public:
    explicit Builder(json &root) : root_(root) {}
    bool too_deep() const { return too_deep_; }

    bool null() override { return put(nullptr); }
    bool boolean(bool value) override { return put(value); }
    bool number_integer(number_integer_t value) override { return put(value); }
    bool number_unsigned(number_unsigned_t value) override { return put(value); }
    bool number_float(number_float_t value, const string_t &) override { return put(value); }
    bool string(string_t &value) override { return put(std::move(value)); }
    bool binary(binary_t &) override { return false; }
    bool start_object(size_t) override { return open(json::object()); }
    bool start_array(size_t) override { return open(json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }
    bool key(string_t &name) override {
        slot_ = &(*open_.back())[name];
        empty(*slot_); // of a key that is given twice the last value counts
        return true;
    }
    bool parse_error(size_t, const std::string &, const nlohmann::detail::exception &) override {
        return false;
    }

private:
    bool put(json value) {
        if (open_.empty()) slot_ = &root_;
        else if (open_.back()->is_array()) slot_ = &open_.back()->emplace_back();
        *slot_ = std::move(value);
        return true;
    }
    bool open(json container) {
        too_deep_ = open_.size() == most_levels;
        if (too_deep_) return false;
        put(std::move(container));
        open_.push_back(slot_);
        return true;
    }
    bool close() {
        open_.pop_back();
        return true;
    }

    json &root_;
    std::vector<json *> open_;
    json *slot_ = nullptr;
    bool too_deep_ = false;
};

JsonDocument::~JsonDocument() { empty(root_); }

Status JsonDocument::parse(std::string_view text, const std::string &name) {
    Builder builder(root_);
    if (json::sax_parse(text.begin(), text.end(), &builder)) return {};
    if (builder.too_deep())
        return Status::input(name + ": is nested deeper than " + std::to_string(most_levels) +
                             " levels; expected a tokenizer.json");
    return Status::input(name + ": expected JSON, as in tokenizer.json");
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
        LW_TRY(read_normalizer(file_, name_, tables_));
        LW_TRY(read_added());
        LW_TRY(read_pre_tokenizer(file_, name_, tables_));
        LW_TRY(read_post_processor(file_, name_, tables_));
        return std::move(tables_);
    }

private:
    Status bad(const std::string &problem) const { return Status::input(name_ + ": " + problem); }

    Status check_kind() const {
        const json &model = member(file_, "model"), &type = member(model, "type");
        // Files of GPT-2 name no type: the package takes them for BPE when they have merges.
        const bool unnamed = type.is_null() && member(model, "merges").is_array();
        if (!unnamed && text_of(type) != "BPE")
            return bad("model.type is " + quoted_text(text_of(type)) +
                       "; expected \"BPE\" with a ByteLevel pre-tokenizer");
        // unk_token and byte_fallback are for characters without a token, and every byte has one.
        for (const char *key : {"continuing_subword_prefix", "end_of_word_suffix"})
            if (const json &value = member(model, key); !value.is_null() && value != "")
                return bad(std::string("model.") + key + " is set; byte-level BPE does not support it");
        const json &version = member(file_, "version");
        if (!version.is_null() && version != "1.0")
            return bad("version is " + quoted_text(text_of(version)) + "; expected \"1.0\"");
        if (!member(file_, "truncation").is_null())
            return bad("truncation is set: long texts would be cut; set it to null");
        if (member(member(file_, "padding"), "strategy").is_object())
            return bad("padding has a fixed length: short texts would be filled up; set it to null");
        const json &dropout = member(model, "dropout");
        if (!dropout.is_null() && dropout != 0)
            return bad("model.dropout is set: the ids would depend on chance");
        return {};
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

    // The id of two tokens has no single text.
    Status claim(int32_t id, const std::string &token) {
        const auto [owner, is_new] = owners_.emplace(id, token);
        if (is_new || owner->second == token) return {};
        return bad("the tokens " + quoted_text(owner->second) + " and " + quoted_text(token) +
                   " have the same id " + std::to_string(id));
    }

    Status read_vocabulary() {
        const json &vocab = member(member(file_, "model"), "vocab");
        if (!vocab.is_object()) return bad("model.vocab is missing");
        if (!any_size_) tables_.bytes.resize(vocabulary_);
        for (const auto &[token, id] : vocab.items()) {
            int32_t number = 0;
            LW_TRY(check_id(id, quoted_text(token), number));
            LW_TRY(claim(number, token));
            names_[token] = number;
            const std::optional<std::string> bytes = bytes_of(token);
            tables_.bytes[static_cast<size_t>(number)] = bytes.value_or(token);
            if (bytes && !bytes->empty()) tables_.ids[*bytes] = number;
        }
        for (size_t i = 0; i < 256; i++) {
            const auto found = tables_.ids.find(std::string(1, static_cast<char>(i)));
            if (found == tables_.ids.end())
                return bad("the vocabulary has no token for byte " + std::to_string(i) +
                           "; byte-level BPE needs one for every byte");
            tables_.of_byte[i] = found->second;
        }
        tables_.whole_first = flag_of(member(member(file_, "model"), "ignore_merges"), false);
        return {};
    }

    Status read_merges() {
        const json &merges = member(member(file_, "model"), "merges");
        if (!merges.is_array()) return bad("model.merges is missing");
        for (const json &merge : merges) {
            std::string left, right;
            if (merge.is_string()) { // "a b", as older files have it
                const std::string both = merge.get<std::string>();
                if (both.starts_with("#version")) continue;
                const size_t space = both.find(' ');
                left = both.substr(0, space);
                right = space == std::string::npos ? "" : both.substr(space + 1);
            } else if (merge.is_array() && merge.size() == 2) {
                left = text_of(merge[0]);
                right = text_of(merge[1]);
            }
            const auto l = names_.find(left), r = names_.find(right), both = names_.find(left + right);
            const std::string which = "merge " + std::to_string(rank_);
            if (l == names_.end() || r == names_.end())
                return bad(which + " must join two tokens of the vocabulary: " + merge.dump(-1, ' ', true));
            if (both == names_.end())
                return bad(which +
                           " makes a token that is not in the vocabulary: " + merge.dump(-1, ' ', true));
            // Of a pair that is given twice the last one counts.
            tables_.merges[BpeTables::pair(l->second, r->second)] = BpeTables::Merge{rank_, both->second};
            rank_++;
        }
        return {};
    }

    Status read_added() {
        const json &added = member(file_, "added_tokens");
        if (added.is_null()) return {};
        if (!added.is_array()) return bad("added_tokens must be a list");
        // The package numbers tokens that the model does not have on from the size of its vocabulary,
        // whatever the file says.
        size_t next = names_.size();
        std::unordered_set<std::string> seen;
        for (const json &token : added) {
            AddedToken result;
            result.text = text_of(member(token, "content"));
            if (result.text.empty()) return bad("an added token has no content");
            LW_TRY(check_id(member(token, "id"), quoted_text(result.text), result.id));
            const auto known = names_.find(result.text);
            if (!seen.emplace(result.text).second)
                return bad("the added token " + quoted_text(result.text) + " is there twice");
            const size_t expected = known != names_.end() ? static_cast<size_t>(known->second) : next++;
            if (expected != static_cast<size_t>(result.id))
                return bad("the added token " + quoted_text(result.text) + " has id " +
                           std::to_string(result.id) + ", but the package tokenizers gives it id " +
                           std::to_string(expected));
            LW_TRY(claim(result.id, result.text));
            result.single_word = flag_of(member(token, "single_word"), false);
            result.strip_left = flag_of(member(token, "lstrip"), false);
            result.strip_right = flag_of(member(token, "rstrip"), false);
            tables_.keeps_text = tables_.keeps_text && !result.strip_left && !result.strip_right;
            tables_.bytes[static_cast<size_t>(result.id)] = result.text;
            const bool is_normalized = flag_of(member(token, "normalized"), true);
            if (is_normalized && !tables_.forms.empty()) result.text = normalized(result.text, tables_.forms);
            tables_.added[is_normalized ? 1 : 0].add(std::move(result));
        }
        return {};
    }

    const std::string name_;
    const json &file_;
    const uint32_t vocabulary_;
    const bool any_size_;                             // the vocabulary has as many ids as the file
    std::unordered_map<std::string, int32_t> names_;  // as the file writes them
    std::unordered_map<int32_t, std::string> owners_; // of each id
    uint32_t rank_ = 0;
    BpeTables tables_;
};

} // namespace

const json &member(const json &object, const char *key) {
    static const json nothing;
    if (!object.is_object()) return nothing;
    const auto found = object.find(key);
    return found != object.end() ? *found : nothing;
}
std::string text_of(const json &value) { return value.is_string() ? value.get<std::string>() : ""; }
bool flag_of(const json &value, bool otherwise) { return value.is_boolean() ? value.get<bool>() : otherwise; }
std::string quoted_text(const std::string &text) {
    constexpr size_t most = 100;
    return json(text.substr(0, most)).dump(-1, ' ', true, json::error_handler_t::replace) +
           (text.size() > most ? "..." : "");
}

Expected<BpeTables> bpe_of(std::string_view text, const std::string &name, uint32_t vocabulary) {
    JsonDocument document;
    LW_TRY(document.parse(text, name));
    return Reader(name, document.root(), vocabulary).read();
}

} // namespace longwave::tokenizer
