#include "runtime/tokenizer/bpe.h"
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

std::vector<std::string_view> cut(std::string_view text, const std::vector<Pattern> &patterns) {
    std::vector<std::string_view> pieces = {text}, finer;
    for (const Pattern &pattern : patterns) {
        finer.clear();
        for (const std::string_view piece : pieces) {
            const size_t before = finer.size();
            const Status split = pattern.split(piece, finer);
            if (split) continue;
            if (split.fault() == Fault::device) throw std::bad_alloc(); // or the ids would depend on memory
            finer.resize(before); // past its limit the expression does not cut: other ids, the same text
            finer.push_back(piece);
        }
        pieces.swap(finer);
    }
    return pieces;
}

} // namespace

Bpe::Bpe(BpeTables tables) : tables_(std::move(tables)) {
    for (size_t pass = 0; pass < 2; pass++)
        for (const AddedToken &token : tables_.added[pass])
            starts_[pass][static_cast<unsigned char>(token.text[0])].push_back(&token);
}

std::vector<int32_t> Bpe::encode(std::string_view text) const {
    std::vector<int32_t> ids;
    added(text, 0, ids);
    return ids;
}

// The longest added token of a pass at the start of the text.
const AddedToken *Bpe::token_at(std::string_view text, size_t pass) const {
    const AddedToken *best = nullptr;
    for (const AddedToken *token : starts_[pass][static_cast<unsigned char>(text[0])])
        if (text.starts_with(token->text) && (!best || token->text.size() > best->text.size())) best = token;
    return best;
}

void Bpe::added(std::string_view text, size_t pass, std::vector<int32_t> &ids) const {
    if (pass == 2) return plain(text, ids);
    size_t done = 0;
    for (size_t i = 0; i < text.size();) {
        const AddedToken *token = token_at(text.substr(i), pass);
        if (!token) {
            i++;
            continue;
        }
        added(text.substr(done, i - done), pass + 1, ids);
        ids.push_back(token->id);
        done = i += token->text.size();
    }
    added(text.substr(done), pass + 1, ids);
}

void Bpe::plain(std::string_view text, std::vector<int32_t> &ids) const {
    if (text.empty()) return;
    for (const std::string_view piece : cut(text, tables_.splits)) {
        const bool prefixed = tables_.prefix_space && piece[0] != ' ';
        const std::string spaced = prefixed ? ' ' + std::string(piece) : std::string();
        for (const std::string_view finest : cut(prefixed ? spaced : piece, tables_.last)) join(finest, ids);
    }
}

void Bpe::join(std::string_view piece, std::vector<int32_t> &ids) const {
    if (tables_.whole_first) {
        const auto known = tables_.ids.find(std::string(piece));
        if (known != tables_.ids.end()) return ids.push_back(known->second);
    }
    Joining(tables_, piece).run(ids);
}

} // namespace longwave::tokenizer
