#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>
#include <iterator>
#include <string>

namespace longwave::tokenizer {
namespace {

using Range = CodePoints::Range;

#include "runtime/tokenizer/unicode/tables.inc"

template <size_t n> CodePoints set_of(const Range (&ranges)[n]) {
    return CodePoints(std::vector<Range>(std::begin(ranges), std::end(ranges)));
}

template <size_t n, class Chosen> CodePoints runs(const uint32_t (&table)[n], Chosen chosen) {
    std::vector<Range> ranges;
    for (size_t i = 0; i < n; i++) {
        if (!chosen(table[i] & 0xFF)) continue;
        ranges.push_back({table[i] >> 8, i + 1 < n ? (table[i + 1] >> 8) - 1 : CodePoints::largest});
    }
    return CodePoints(std::move(ranges));
}

constexpr uint32_t bits(std::initializer_list<Category> categories) {
    uint32_t result = 0;
    for (const Category category : categories) result |= bit(category);
    return result;
}

using enum Category;
constexpr uint32_t letters = bits({Lu, Ll, Lt, Lm, Lo}), marks = bits({Mn, Mc, Me}),
                   numbers = bits({Nd, Nl, No}), marks_of_text = bits({Pc, Pd, Ps, Pe, Pi, Pf, Po}),
                   symbols = bits({Sm, Sc, Sk, So}), separators = bits({Zs, Zl, Zp}),
                   others = bits({Cc, Cf, Co, Cs, Cn});

struct Named {
    std::string_view name;
    uint32_t categories;
};
constexpr Named category_names[] = {
    {"l", letters},
    {"letter", letters},
    {"m", marks},
    {"mark", marks},
    {"combiningmark", marks},
    {"n", numbers},
    {"number", numbers},
    {"p", marks_of_text},
    {"punctuation", marks_of_text},
    {"punct", marks_of_text},
    {"s", symbols},
    {"symbol", symbols},
    {"z", separators},
    {"separator", separators},
    {"c", others},
    {"other", others},
    {"lc", bits({Lu, Ll, Lt})},
    {"casedletter", bits({Lu, Ll, Lt})},
    {"any", letters | marks | numbers | marks_of_text | symbols | separators | others},
    {"assigned", (letters | marks | numbers | marks_of_text | symbols | separators | others) & ~bit(Cn)},
    {"lu", bit(Lu)},
    {"uppercaseletter", bit(Lu)},
    {"ll", bit(Ll)},
    {"lowercaseletter", bit(Ll)},
    {"lt", bit(Lt)},
    {"titlecaseletter", bit(Lt)},
    {"lm", bit(Lm)},
    {"modifierletter", bit(Lm)},
    {"lo", bit(Lo)},
    {"otherletter", bit(Lo)},
    {"mn", bit(Mn)},
    {"nonspacingmark", bit(Mn)},
    {"mc", bit(Mc)},
    {"spacingmark", bit(Mc)},
    {"me", bit(Me)},
    {"enclosingmark", bit(Me)},
    {"nd", bit(Nd)},
    {"decimalnumber", bit(Nd)},
    {"digit", bit(Nd)},
    {"nl", bit(Nl)},
    {"letternumber", bit(Nl)},
    {"no", bit(No)},
    {"othernumber", bit(No)},
    {"pc", bit(Pc)},
    {"connectorpunctuation", bit(Pc)},
    {"pd", bit(Pd)},
    {"dashpunctuation", bit(Pd)},
    {"ps", bit(Ps)},
    {"openpunctuation", bit(Ps)},
    {"pe", bit(Pe)},
    {"closepunctuation", bit(Pe)},
    {"pi", bit(Pi)},
    {"initialpunctuation", bit(Pi)},
    {"pf", bit(Pf)},
    {"finalpunctuation", bit(Pf)},
    {"po", bit(Po)},
    {"otherpunctuation", bit(Po)},
    {"sm", bit(Sm)},
    {"mathsymbol", bit(Sm)},
    {"sc", bit(Sc)},
    {"currencysymbol", bit(Sc)},
    {"sk", bit(Sk)},
    {"modifiersymbol", bit(Sk)},
    {"so", bit(So)},
    {"othersymbol", bit(So)},
    {"zs", bit(Zs)},
    {"spaceseparator", bit(Zs)},
    {"zl", bit(Zl)},
    {"lineseparator", bit(Zl)},
    {"zp", bit(Zp)},
    {"paragraphseparator", bit(Zp)},
    {"cc", bit(Cc)},
    {"control", bit(Cc)},
    {"cntrl", bit(Cc)},
    {"cf", bit(Cf)},
    {"format", bit(Cf)},
    {"co", bit(Co)},
    {"privateuse", bit(Co)},
    {"cn", bit(Cn)},
    {"unassigned", bit(Cn)},
    {"cs", bit(Cs)},
    {"surrogate", bit(Cs)},
};

CodePoints with(CodePoints set, const CodePoints &more) {
    set.add(more);
    return set;
}

CodePoints alphabetic() { return with(of_categories(letters | bit(Nl)), set_of(other_alphabetic)); }

std::string plain(std::string_view name) {
    std::string result;
    for (const char c : name) {
        if (c == ' ' || c == '-' || c == '_') continue;
        result += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    return result;
}

} // namespace

Category category_of(uint32_t c) {
    const auto *after = std::upper_bound(std::begin(category_runs), std::end(category_runs), c << 8 | 0xFF);
    return static_cast<Category>(*std::prev(after) & 0xFF);
}

CodePoints of_categories(uint32_t bits) {
    return runs(category_runs, [bits](uint32_t category) { return bits >> category & 1; });
}

CodePoints white_space() { return with(of_categories(separators), {{9, 0xD}, {0x85, 0x85}}); }

CodePoints word() { return with(of_categories(marks | bits({Nd, Pc})), alphabetic()); }
CodePoints changed_since_14() { return set_of(changed); }
CodePoints digits() { return with(of_categories(numbers), set_of(more_digits)); }
CodePoints punctuation() { return set_of(punctuation_ranges); }
CodePoints not_normalized() { return with(with(set_of(opaque), set_of(changed)), of_categories(bit(Cn))); }

std::optional<CodePoints> posix_class(std::string_view name) {
    if (name == "alnum") return with(alphabetic(), of_categories(bit(Nd)));
    if (name == "alpha") return alphabetic();
    if (name == "ascii") return CodePoints{{0, 0x7F}};
    if (name == "blank") return with(of_categories(bit(Zs)), {{9, 9}});
    if (name == "cntrl") return of_categories(bit(Cc));
    if (name == "digit") return of_categories(bit(Nd));
    const CodePoints seen = with(white_space(), of_categories(bits({Cc, Cn, Cs}))).complement();
    if (name == "graph") return seen;
    if (name == "print") return with(seen, of_categories(bit(Zs)));
    if (name == "lower") return with(of_categories(bit(Ll)), set_of(other_lowercase));
    if (name == "upper") return with(of_categories(bit(Lu)), set_of(other_uppercase));
    if (name == "punct") return of_categories(marks_of_text | symbols);
    if (name == "space") return white_space();
    if (name == "word") return word();
    if (name == "xdigit") return CodePoints{{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
    return std::nullopt;
}

std::optional<CodePoints> property(std::string_view name) {
    const std::string wanted = plain(name);
    for (const Named &one : category_names)
        if (wanted == one.name) return of_categories(one.categories);
    for (uint32_t i = 0; i < std::size(script_names); i++)
        if (wanted == plain(script_names[i]))
            return runs(script_runs, [i](uint32_t script) { return script == i; });
    if (wanted == "alphabetic") return alphabetic();
    if (wanted == "uppercase") return posix_class("upper");
    if (wanted == "lowercase") return posix_class("lower");
    if (wanted == "whitespace") return white_space();
    return posix_class(wanted);
}

bool is_word(std::string_view name) { return plain(name) == "word"; }

Decoded decode(std::string_view text) {
    const auto at = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
    const uint32_t lead = at(0);
    if (lead < 0x80) return {lead, 1};
    const size_t n = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
    if (lead < 0xC2 || lead > 0xF4 || text.size() < n) return {};
    uint32_t c = lead & (0xFFU >> (n + 1));
    for (size_t i = 1; i < n; i++) {
        if ((at(i) & 0xC0) != 0x80) return {};
        c = c << 6 | (at(i) & 0x3FU);
    }
    constexpr uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (c < least[n] || c > CodePoints::largest || (c >= 0xD800 && c < 0xE000)) return {};
    return {c, n};
}

CodePoints::CodePoints(std::initializer_list<Range> ranges) : ranges_(ranges) { sort(); }
CodePoints::CodePoints(std::vector<Range> ranges) : ranges_(std::move(ranges)) { sort(); }

void CodePoints::sort() {
    std::sort(ranges_.begin(), ranges_.end(), [](Range a, Range b) { return a.first < b.first; });
    std::vector<Range> merged;
    for (const Range &range : ranges_)
        if (!merged.empty() && range.first <= merged.back().last + 1)
            merged.back().last = std::max(merged.back().last, range.last);
        else merged.push_back(range);
    ranges_.swap(merged);
}

void CodePoints::add(uint32_t first, uint32_t last) {
    ranges_.push_back({first, last});
    if (ranges_.size() > 1) sort();
}

void CodePoints::add(const CodePoints &others) {
    ranges_.insert(ranges_.end(), others.ranges_.begin(), others.ranges_.end());
    sort();
}

CodePoints CodePoints::complement() const {
    CodePoints result;
    uint32_t next = 0;
    for (const Range &range : ranges_) {
        if (range.first > next) result.ranges_.push_back({next, range.first - 1});
        next = range.last + 1;
    }
    if (next <= largest) result.ranges_.push_back({next, largest});
    return result;
}

CodePoints CodePoints::both(const CodePoints &others) const {
    CodePoints result;
    for (size_t i = 0, j = 0; i < ranges_.size() && j < others.ranges_.size();) {
        const Range a = ranges_[i], b = others.ranges_[j];
        const uint32_t first = std::max(a.first, b.first), last = std::min(a.last, b.last);
        if (first <= last) result.ranges_.push_back({first, last});
        if (a.last < b.last) i++;
        else j++;
    }
    return result;
}

bool CodePoints::contains(uint32_t c) const {
    const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), c,
                                        [](uint32_t point, Range range) { return point < range.first; });
    return after != ranges_.begin() && c <= std::prev(after)->last;
}

} // namespace longwave::tokenizer
