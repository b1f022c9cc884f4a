#include "runtime/tokenizer/bpe.h"
#include "runtime/tokenizer/unicode/unicode.h"
#include <algorithm>
#include <new>
#include <queue>

namespace longwave::tokenizer {
namespace {

// Joins the symbols of a piece pair by pair: always the pair of the lowest rank, the leftmost of
// equal ones.
class Joining {
public:
    Joining(const BpeTables &tables, std::string_view piece) : tables_(tables) {
        for (size_t i = 0; i < piece.size(); i++)
            symbols_.push_back({tables.of_byte[static_cast<unsigned char>(piece[i])],
                                static_cast<ptrdiff_t>(i) - 1,
                                i + 1 < piece.size() ? static_cast<ptrdiff_t>(i) + 1 : none});
        for (size_t i = 0; i + 1 < piece.size(); i++) propose(static_cast<ptrdiff_t>(i));
    }
    void run(std::vector<int32_t> &ids) {
        while (!offers_.empty()) {
            const Offer offer = offers_.top();
            offers_.pop();
            Symbol &left = at(offer.left);
            if (left.id != offer.left_id || left.next == none || at(left.next).id != offer.right_id)
                continue; // one of them was joined since
            Symbol &right = at(left.next);
            left.id = offer.id;
            left.next = right.next;
            right.id = -1;
            if (left.next != none) at(left.next).before = offer.left;
            if (left.before != none) propose(left.before);
            propose(offer.left);
        }
        for (ptrdiff_t i = symbols_.empty() ? none : 0; i != none; i = at(i).next) ids.push_back(at(i).id);
    }

private:
    static constexpr ptrdiff_t none = -1;
    struct Symbol {
        int32_t id; // −1: joined to the one before
        ptrdiff_t before, next;
    };
    struct Offer {
        uint32_t rank;
        ptrdiff_t left;
        int32_t left_id, right_id, id;
        bool operator<(const Offer &other) const { // the top is the largest
            return rank != other.rank ? rank > other.rank : left > other.left;
        }
    };
    Symbol &at(ptrdiff_t i) { return symbols_[static_cast<size_t>(i)]; }
    void propose(ptrdiff_t i) { // it and the next
        const Symbol &left = at(i);
        if (left.next == none) return;
        const int32_t right = at(left.next).id;
        const auto merge = tables_.merges.find(BpeTables::pair(left.id, right));
        if (merge != tables_.merges.end())
            offers_.push({merge->second.rank, i, left.id, right, merge->second.id});
    }
    const BpeTables &tables_;
    std::vector<Symbol> symbols_;
    std::priority_queue<Offer> offers_;
};

} // namespace

Expected<std::vector<int32_t>> Bpe::encode(std::string_view text) const {
    std::vector<int32_t> ids;
    for (const AddedTokens::Piece &outer : tables_.added[0].split(text)) {
        if (outer.id >= 0) {
            ids.push_back(outer.id);
            continue;
        }
        const std::string other = tables_.forms.empty() ? "" : normalized(outer.text, tables_.forms);
        for (const AddedTokens::Piece &inner :
             tables_.added[1].split(tables_.forms.empty() ? outer.text : std::string_view(other)))
            if (inner.id >= 0) ids.push_back(inner.id);
            else LW_TRY(plain(inner.text, ids));
    }
    return ids;
}

Status Bpe::plain(std::string_view text, std::vector<int32_t> &ids) const {
    LW_ASSIGN(const Pieces pieces, cut(text, tables_.steps));
    for (const std::string_view piece : pieces.list) join(piece, ids);
    return {};
}

void Bpe::join(std::string_view piece, std::vector<int32_t> &ids) const {
    if (tables_.whole_first) {
        const auto known = tables_.ids.find(std::string(piece));
        if (known != tables_.ids.end()) return ids.push_back(known->second);
    }
    Joining(tables_, piece).run(ids);
}

namespace {

bool is_word(uint32_t c) {
    static const CodePoints letters = [] {
        CodePoints set = word();
        set.add(0x200C, 0x200D); // the joiners
        return set;
    }();
    return letters.contains(c);
}

bool is_space(uint32_t c) {
    static const CodePoints spaces = white_space();
    return spaces.contains(c);
}

// The character that ends a text that is not empty.
Decoded last_of(std::string_view text) {
    for (size_t n = 1; n <= std::min<size_t>(4, text.size()); n++) {
        const Decoded decoded = decode(text.substr(text.size() - n));
        if (decoded.c != Decoded::invalid && decoded.bytes == n) return decoded;
    }
    return {};
}

} // namespace

void AddedTokens::add(AddedToken token) {
    std::vector<size_t> &list = starts_[static_cast<unsigned char>(token.text[0])];
    list.push_back(tokens_.size());
    tokens_.push_back(std::move(token));
    std::stable_sort(list.begin(), list.end(),
                     [this](size_t a, size_t b) { return tokens_[a].text.size() > tokens_[b].text.size(); });
}

const AddedToken *AddedTokens::at(std::string_view text) const {
    for (const size_t i : starts_[static_cast<unsigned char>(text[0])])
        if (text.starts_with(tokens_[i].text)) return &tokens_[i];
    return nullptr;
}

std::vector<AddedTokens::Piece> AddedTokens::split(std::string_view text) const {
    std::vector<Piece> pieces;
    size_t done = 0;
    for (size_t i = 0; i < text.size();) {
        const AddedToken *token = at(text.substr(i));
        if (!token) {
            i++;
            continue;
        }
        size_t start = i, end = i + token->text.size();
        i = end; // a token that is not taken is passed over
        if (token->single_word && ((start > 0 && is_word(last_of(text.substr(0, start)).c)) ||
                                   (end < text.size() && is_word(decode(text.substr(end)).c))))
            continue;
        while (token->strip_left && start > done && is_space(last_of(text.substr(0, start)).c))
            start -= last_of(text.substr(0, start)).bytes;
        while (token->strip_right && end < text.size() && is_space(decode(text.substr(end)).c))
            end += decode(text.substr(end)).bytes;
        if (done < start) pieces.push_back({text.substr(done, start - done), -1});
        pieces.push_back({text.substr(start, end - start), token->id});
        done = end;
    }
    if (done < text.size()) pieces.push_back({text.substr(done), -1});
    return pieces;
}

} // namespace longwave::tokenizer
