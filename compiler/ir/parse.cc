// The parser: one statement a line, each read from left to right.
#include "compiler/ir/builder.h"
#include "compiler/ir/text.h"
#include <charconv>
#include <fmt/format.h>
#include <optional>

namespace longwave::ir {

namespace {

constexpr uint64_t max_zeros = 1 << 24; // a line of text must not cost gigabytes

class Parser {
public:
    Parser(const std::string &text, const std::map<std::string, std::vector<double>> &weights)
        : text_(text), weights_(weights) {}

    Expected<Graph> run() {
        for (std::string word; skip_blank_lines();) {
            if (peek() == '%') LW_TRY(value());
            else {
                LW_ASSIGN(word, name("a statement"));
                if (word == "graph") LW_TRY(graph_name());
                else if (word == "output") LW_TRY(output());
                else if (word == "certificate") LW_TRY(certificate());
                else return fail_name("expected graph, output, certificate or a value, found " + word);
            }
            LW_TRY(end_of_line());
        }
        return std::move(builder_).take();
    }

private:
    // Reading: each either takes what it names or fails at the place where it is not.
    char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
    void spaces() {
        while (peek() == ' ' || peek() == '\t' || peek() == '\r') ++at_;
    }
    bool skip_blank_lines() {
        for (;;) {
            spaces();
            if (peek() == ';')
                while (at_ < text_.size() && peek() != '\n') ++at_;
            if (peek() != '\n') return at_ < text_.size();
            ++at_;
        }
    }
    Status fail(const std::string &message) const { return fail_at(at_, message); }
    Status fail_name(const std::string &message) const {
        return fail_at(name_at_, message);
    } // at the name read last
    Status fail_at(size_t place, const std::string &message) const {
        size_t line = 1, start = 0;
        for (size_t i = 0; i < place && i < text_.size(); ++i)
            if (text_[i] == '\n') ++line, start = i + 1;
        return Status::input(fmt::format("line {}, column {}: {}", line, place - start + 1, message));
    }
    bool take(const std::string &token) {
        spaces();
        if (text_.compare(at_, token.size(), token) != 0) return false;
        at_ += token.size();
        return true;
    }
    Status expect(const std::string &token) { return take(token) ? Status::ok() : fail("expected " + token); }
    Status end_of_line() {
        spaces();
        if (peek() == ';')
            while (at_ < text_.size() && peek() != '\n') ++at_;
        return peek() == '\n' || at_ == text_.size() ? Status::ok() : fail("expected the end of the line");
    }
    static bool letter(char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
               c == '.';
    }
    Expected<std::string> name(const char *what) {
        spaces();
        name_at_ = at_;
        while (letter(peek())) ++at_;
        if (at_ == name_at_) return fail(std::string("expected ") + what);
        return text_.substr(name_at_, at_ - name_at_);
    }
    Expected<std::string> string() {
        LW_TRY(expect("\""));
        std::string out;
        for (; peek() != '"'; ++at_) {
            if (at_ >= text_.size() || peek() == '\n') return fail("the text has no end");
            if (peek() != '\\') {
                out += peek();
                continue;
            }
            ++at_;
            unsigned code = 0;
            if (peek() == '"' || peek() == '\\') out += peek();
            else if (peek() == 'x' && at_ + 2 < text_.size() &&
                     std::from_chars(&text_[at_ + 1], &text_[at_ + 3], code, 16).ptr == &text_[at_ + 3])
                out += static_cast<char>(code), at_ += 2;
            else return fail("expected \\\", \\\\ or \\x and two hexadecimal digits");
        }
        ++at_;
        return out;
    }
    template <class Number> Expected<Number> digits(const char *what) {
        spaces();
        Number out{};
        const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
        if (error != std::errc()) return fail(std::string("expected ") + what);
        at_ = static_cast<size_t>(end - text_.data());
        return out;
    }
    Expected<std::vector<uint32_t>> dims() {
        LW_TRY(expect("["));
        std::vector<uint32_t> out;
        if (take("]")) return out;
        do {
            LW_ASSIGN(const uint32_t d, digits<uint32_t>("an extent"));
            if (d == 0) return fail("an extent of zero");
            out.push_back(d);
        } while (take(","));
        LW_TRY(expect("]"));
        return out;
    }
    Expected<Type> type() {
        Type out;
        if (take("i32")) out.elem = Elem::i32;
        else LW_TRY(expect("f32"));
        LW_ASSIGN(out.dims, dims());
        LW_TRY(expect("@"));
        LW_ASSIGN(out.clock.num, digits<uint32_t>("a clock"));
        LW_TRY(expect("/"));
        LW_ASSIGN(out.clock.den, digits<uint32_t>("a clock"));
        if (out.clock.den == 0) return fail("a clock over zero");
        if (take("noncausal")) out.causal = false;
        else take("causal");
        if (take("delay=")) {
            LW_ASSIGN(out.delay, digits<uint32_t>("a delay"));
        }
        if (take("whole=")) {
            LW_ASSIGN(out.whole, digits<uint32_t>("ticks"));
            if (out.whole == 0) return fail("rows for no ticks");
        }
        return out;
    }
    Expected<Attribute> attribute() {
        spaces();
        if (peek() == '"') {
            LW_ASSIGN(std::string out, string());
            return Attribute(std::move(out));
        }
        const size_t begin = at_;
        while (letter(peek()) || peek() == '-' || peek() == '+') ++at_;
        const std::string word = text_.substr(begin, at_ - begin);
        at_ = begin;
        if (word.find_first_of(".en") == std::string::npos) {
            LW_ASSIGN(const int64_t out, digits<int64_t>("an integer, a number or a text"));
            return Attribute(out);
        }
        LW_ASSIGN(const double out, digits<double>("an integer, a number or a text"));
        return Attribute(out);
    }
    Expected<ValueId> known_value() {
        LW_TRY(expect("%"));
        LW_ASSIGN(const std::string id, name("the name of a value"));
        const auto found = values_.find(id);
        if (found == values_.end()) return fail_name("%" + id + " is not known here");
        return found->second;
    }

    // Statements.
    Status graph_name() {
        auto text = string();
        if (!text) return text.status();
        if (named_ || !values_.empty()) return fail("the graph's name comes first, once");
        named_ = true;
        builder_ = Builder(*text);
        return Status::ok();
    }
    Status output() {
        auto text = string();
        if (!text) return text.status();
        auto value = known_value();
        if (!value) return value.status();
        builder_.output(*text, *value);
        return Status::ok();
    }
    Status certificate() {
        Certificate out;
        for (std::string *field : {&out.pass, &out.layer, &out.what}) {
            auto text = string();
            if (!text) return text.status();
            *field = *text;
        }
        auto error = digits<double>("an error");
        if (!error) return error.status();
        out.error = *error;
        builder_.certificate(std::move(out));
        return Status::ok();
    }
    Status value() {
        ++at_;
        auto id = name("the name of a value");
        if (!id) return id.status();
        if (values_.count(*id)) return fail_name("%" + *id + " is there already");
        LW_TRY(expect("="));
        auto op = name("an op, input or const");
        if (!op) return op.status();
        auto made = *op == "input" ? input() : *op == "const" ? constant() : node(*op);
        if (!made) return made.status();
        values_[*id] = *made;
        return Status::ok();
    }
    Expected<ValueId> input() {
        GraphInput out;
        LW_ASSIGN(out.name, string());
        LW_ASSIGN(const std::string kind, name("audio, features or tokens"));
        size_t k = 0;
        while (k < std::size(GraphInput::kinds) && kind != GraphInput::kinds[k]) ++k;
        if (k == std::size(GraphInput::kinds))
            return fail_name("expected audio, features or tokens, found " + kind);
        out.kind = static_cast<GraphInput::Kind>(k);
        if (take("rate=")) {
            LW_ASSIGN(out.sample_rate, digits<uint32_t>("a sample rate"));
        }
        if (take("vocabulary=")) {
            LW_ASSIGN(out.vocabulary, digits<uint32_t>("a number of ids"));
        }
        LW_TRY(expect(":"));
        LW_ASSIGN(Type type, this->type());
        return builder_.input(std::move(out), std::move(type));
    }
    Expected<ValueId> constant() {
        LW_ASSIGN(const std::string key, string());
        LW_TRY(expect(":"));
        LW_ASSIGN(const auto shape, dims());
        uint64_t size = 1;
        for (const uint64_t d : shape)
            if ((size *= d) > (uint64_t{1} << 31)) return fail("\"" + key + "\" is too large");
        const auto found = weights_.find(key);
        if (found == weights_.end()) {
            if ((zeros_ += size) > max_zeros)
                return fail(fmt::format("\"{}\" is too large to be made of zeros: give its weights", key));
            return builder_.constant(key, shape, std::vector<double>(size));
        }
        if (found->second.size() != size)
            return fail(
                fmt::format("\"{}\" expected {} elements, found {}", key, size, found->second.size()));
        return builder_.constant(key, shape, found->second);
    }
    Expected<ValueId> node(const std::string &op) {
        const size_t place = name_at_;
        std::vector<ValueId> inputs;
        LW_TRY(expect("("));
        if (!take(")")) {
            do {
                LW_ASSIGN(const ValueId input, known_value());
                inputs.push_back(input);
            } while (take(","));
            LW_TRY(expect(")"));
        }
        Attributes attributes;
        if (take("{") && !take("}")) {
            do {
                LW_ASSIGN(const std::string key, name("an attribute"));
                LW_TRY(expect("="));
                LW_ASSIGN(const Attribute attribute, this->attribute());
                if (!attributes.emplace(key, attribute).second)
                    return fail_name("attribute " + key + " is there already");
            } while (take(","));
            LW_TRY(expect("}"));
        }
        std::optional<Type> written;
        if (take(":")) {
            LW_ASSIGN(written, type());
        }
        std::string layer;
        if (take("; layer ")) {
            if (peek() == '"') {
                LW_ASSIGN(layer, string());
            } else {
                for (; peek() != '\n' && peek() != '\0' && peek() != '\r'; ++at_) layer += peek();
                while (!layer.empty() && (layer.back() == ' ' || layer.back() == '\t')) layer.pop_back();
            }
        }
        const auto made = builder_.node(op, std::move(inputs), std::move(attributes), layer);
        if (!made) return fail_at(place, made.status().message());
        const Type &inferred = builder_.graph().type(*made);
        if (written && *written != inferred)
            return fail_at(place, fmt::format("expected {}, found {}", print(inferred), print(*written)));
        return *made;
    }

    const std::string &text_;
    const std::map<std::string, std::vector<double>> &weights_;
    size_t at_ = 0, name_at_ = 0;
    Builder builder_{""};
    std::map<std::string, ValueId> values_;
    bool named_ = false;
    uint64_t zeros_ = 0; // made so far for constants without weights
};

} // namespace

Expected<Graph> parse(const std::string &text, const std::map<std::string, std::vector<double>> &weights) {
    return Parser(text, weights).run();
}

} // namespace longwave::ir
