// What the table of an architecture holds: keys of config.json, tensors, and the ops of a block.
//
// Sizes are texts: sums of products of keys and whole numbers, as "hidden_size * expand + 2". A flag
// counts as 0 or 1.
#pragma once
#include <string>
#include <vector>

namespace longwave::huggingface {

struct Key {
    enum class Kind {
        size,       // a whole number from `low` to `high`
        number,     // a number from `low` to `high`
        flag,       // true or false
        activation, // the name of a function, which becomes an op
        range       // [low, high], where high may be infinite; as a size: does it change a number that is
                    // not negative?
    };
    std::string name;
    Kind kind = Kind::size;
    std::string fallback = {}; // JSON text: what transformers takes without the key; empty: it must be there
    double low = 1, high = 1 << 24;
    std::string rule = {}; // size: what the text "auto" means, in units of `divisor`, rounded up
    uint32_t divisor = 1;
};

// Two sizes of which one must divide or equal the other.
struct Condition {
    enum class Kind { equal, divides };
    Kind kind = Kind::equal;
    std::string left, right; // divides: `right` is a divisor of `left`
};

struct TensorRow {
    std::string name;                 // in a block: behind the prefix of the block
    std::vector<std::string> dims;    // sizes, as in the file
    std::vector<std::string> as = {}; // sizes, as the op expects them; empty: as in the file
    std::string when = {};            // only if this size is not 0; "!key": if it is
    std::string instead = {};         // the tensor that serves where this one is not there
    std::string formerly = {};        // the name in older files
};

// What a node reads.
struct Operand {
    enum class Kind {
        value,     // the row `name`; "x": what the block reads
        tensor,    // a tensor, left out where its `when` says so
        minus_exp, // -exp of a tensor, as a list
        spread,    // each element of a tensor `each` times, as a list
        zeros,     // `count` zeros
        ones,      // `count` ones
        places     // for `take`: the places from `first` on, each `each` times, all that `times` times
    };
    Kind kind = Kind::value;
    std::string name = {};
    std::string first = "0", count = "1", each = "1", times = "1";
};

inline Operand value(std::string name) { return {.kind = Operand::Kind::value, .name = std::move(name)}; }
inline Operand tensor(std::string name) { return {.kind = Operand::Kind::tensor, .name = std::move(name)}; }
inline Operand minus_exp(std::string name) {
    return {.kind = Operand::Kind::minus_exp, .name = std::move(name)};
}
inline Operand spread(std::string name, std::string each) {
    return {.kind = Operand::Kind::spread, .name = std::move(name), .each = std::move(each)};
}
inline Operand zeros(std::string count) { return {.kind = Operand::Kind::zeros, .count = std::move(count)}; }
inline Operand ones(std::string count) { return {.kind = Operand::Kind::ones, .count = std::move(count)}; }
inline Operand places(std::string first, std::string count, std::string each = "1", std::string times = "1") {
    return {.kind = Operand::Kind::places,
            .first = std::move(first),
            .count = std::move(count),
            .each = std::move(each),
            .times = std::move(times)};
}

struct Attribute {
    enum class Kind {
        size,
        number,
        text
    }; // number: of a key of numbers, or "key.low", "key.high" of a range
    std::string name;
    Kind kind = Kind::size;
    std::string of;
};

inline Attribute size(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::size, std::move(of)};
}
inline Attribute number(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::number, std::move(of)};
}
inline Attribute text(std::string name, std::string of) {
    return {std::move(name), Attribute::Kind::text, std::move(of)};
}

// A node of the graph. A row whose `when` does not hold stands for what it reads first.
struct Row {
    std::string name; // for reports: up to the last '/' it is the layer
    std::string op;   // "=key": the op of an activation
    std::vector<Operand> reads;
    std::vector<Attribute> attributes = {};
    std::string when = {}; // as TensorRow::when
};

struct Architecture {
    std::string model_type;
    std::string made_by; // the only entry of "architectures"
    std::vector<Key> keys;
    std::vector<std::string> ignored; // keys that change no result
    std::vector<Condition> conditions;
    std::string vocabulary, blocks; // keys
    std::string prefix;             // of the tensors and nodes of block N: PREFIX.N.
    std::vector<TensorRow> tensors; // outside of the blocks
    std::vector<TensorRow> block_tensors;
    std::vector<Row> before, block,
        after; // "x" in the first: the ids. The last row of each is "x" of the next
};

} // namespace longwave::huggingface
