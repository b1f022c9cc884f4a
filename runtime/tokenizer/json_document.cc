#include "runtime/tokenizer/json_document.h"
#include <vector>

using nlohmann::json;

namespace longwave::tokenizer {
namespace {

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

} // namespace

JsonDocument::~JsonDocument() { empty(root_); }

Status JsonDocument::parse(std::string_view text, const std::string &name) {
    Builder builder(root_);
    if (json::sax_parse(text.begin(), text.end(), &builder)) return {};
    if (builder.too_deep())
        return Status::input(name + ": is nested deeper than " + std::to_string(most_levels) +
                             " levels; expected a tokenizer.json");
    return Status::input(name + ": expected JSON, as in tokenizer.json");
}

} // namespace longwave::tokenizer
