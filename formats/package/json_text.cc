#include "formats/package/json_text.h"
#include <algorithm>
#include <memory>

namespace longwave::package {
namespace {

// Builds the document itself, because only a handler sees a key that comes twice.
template <class Json> class Handler final : public nlohmann::json_sax<Json> {
public:
    using number_integer_t = typename Json::number_integer_t;
    using number_unsigned_t = typename Json::number_unsigned_t;
    using number_float_t = typename Json::number_float_t;
    using string_t = typename Json::string_t;
    using binary_t = typename Json::binary_t;

    Handler(std::string_view text, const std::string &source, const JsonLimits &limits, Problems &problems)
        : text_(text), source_(source), limits_(limits), problems_(problems) {}

    Json root;

    bool null() override { return put(nullptr) != nullptr; }
    bool boolean(bool v) override { return put(v) != nullptr; }
    bool number_integer(number_integer_t v) override { return put(v) != nullptr; }
    bool number_unsigned(number_unsigned_t v) override { return put(v) != nullptr; }
    bool number_float(number_float_t v, const string_t &) override { return put(v) != nullptr; }
    bool string(string_t &v) override { return put(std::move(v)) != nullptr; }
    bool binary(binary_t &) override { return false; }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t &name) override {
        if (stack_.back()->size() >= limits_.keys) {
            problems_.line(source_ + ": an object has more than " + std::to_string(limits_.keys) + " keys");
            return false;
        }
        if (stack_.back()->contains(name)) {
            if (problems_.full()) problems_.one_more();
            else
                problems_.line(path() + ": the key " + in_quotes(name) + " is given twice; keep one of them");
            slot_ = repeated_.emplace_back(std::make_unique<Json>())
                        .get(); // the first one stays while the rest is read
        } else {
            slot_ = &(*stack_.back())[name];
        }
        keys_.back() = name;
        return true;
    }

    bool parse_error(std::size_t position, const std::string &,
                     const nlohmann::detail::exception &e) override {
        std::string_view what = e.what();
        if (auto p = what.find("column "); p != what.npos)
            if (auto colon = what.find(": ", p); colon != what.npos) what.remove_prefix(colon + 2);
        problems_.line(place(position) + std::string(what));
        return false;
    }

private:
    std::string place(size_t position) const {
        std::string_view before = text_.substr(0, std::min(position, text_.size()));
        size_t line = 1 + static_cast<size_t>(std::count(before.begin(), before.end(), '\n'));
        size_t newline = before.rfind('\n');
        size_t column = newline == before.npos ? before.size() : before.size() - newline - 1;
        return source_ + ": line " + std::to_string(line) + ", column " +
               std::to_string(std::max<size_t>(column, 1)) + ": ";
    }

    std::string path() const {
        std::string text;
        for (size_t i = 0; i + 1 < stack_.size(); ++i)
            text = stack_[i]->is_array() ? element(text, stack_[i]->size() - 1) : member(text, keys_[i]);
        return text.empty() ? source_ : text;
    }

    template <class Value> Json *put(Value &&value) {
        if (++values_ > limits_.values) {
            problems_.line(source_ + ": more than " + std::to_string(limits_.values) + " values");
            return nullptr;
        }
        if (stack_.empty()) return &(root = std::forward<Value>(value));
        if (stack_.back()->is_array()) return &stack_.back()->emplace_back(std::forward<Value>(value));
        *slot_ = std::forward<Value>(value);
        return slot_;
    }

    bool open(Json empty) {
        if (stack_.size() >= limits_.depth) {
            const std::string where = path();
            problems_.line(source_ + ": " + (where == source_ ? "" : where + ": ") + "nested deeper than " +
                           std::to_string(limits_.depth) + " levels; flatten the description");
            return false;
        }
        Json *opened = put(std::move(empty));
        if (!opened) return false;
        stack_.push_back(opened);
        keys_.emplace_back();
        return true;
    }

    bool close() {
        stack_.pop_back();
        keys_.pop_back();
        return true;
    }

    std::string_view text_;
    const std::string &source_;
    JsonLimits limits_;
    Problems &problems_;
    std::vector<Json *> stack_;
    std::vector<std::string> keys_; // the key being read of each open object
    Json *slot_ = nullptr;
    size_t values_ = 0;
    std::vector<std::unique_ptr<Json>> repeated_;
};

} // namespace

template <class Json> std::optional<Json> parse_json(std::string_view text, const std::string &source,
                                                     const JsonLimits &limits, Problems &problems) {
    Handler<Json> handler(text, source, limits, problems);
    const size_t before = problems.count();
    const bool parsed = Json::sax_parse(text.begin(), text.end(), &handler);
    if (!parsed && problems.count() == before) problems.line(source + ": not a JSON document");
    if (problems.count() != before) return std::nullopt;
    return std::move(handler.root);
}

template std::optional<nlohmann::json> parse_json(std::string_view, const std::string &, const JsonLimits &,
                                                  Problems &);
template std::optional<nlohmann::ordered_json> parse_json(std::string_view, const std::string &,
                                                          const JsonLimits &, Problems &);

} // namespace longwave::package
