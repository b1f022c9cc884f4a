// What the table of an architecture holds: keys of config.json, tensors, and the ops of its kinds of block.
//
// Sizes are texts: sums of products of keys and whole numbers, as "hidden_size * expand + 2". A flag
// counts as 0 or 1. Numbers are texts as well: "logits_scaling / sqrt(head_dim)", factors of a product.
#pragma once
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace longwave::huggingface {

struct Key {
    enum class Kind {
        size,       // a whole number from `low` to `high`
        number,     // a number from `low` to `high`; as a size: is it not 1?
        same_size,  // a size, or a list of it `divisor` times
        numbers,    // `divisor` of them, NAME.0 and so on; null: the fallback
        flag,       // true or false
        activation, // the name of a function, which becomes an op
        choice,     // one of `choices`
        range,      // [low, high], where high may be infinite; as a size: does it change a number that is
                    // not negative?
        rotary      // rope_parameters, see Rotary
    };
    std::string name;
    Kind kind = Kind::size;
    std::string fallback = {}; // JSON text: what transformers takes without the key; empty: it must be there
    double low = 1, high = 1 << 24;
    std::string rule = {};     // size: what no key, null and the text "auto" mean, divided by `divisor`
    std::string divisor = "1"; // a size; the quotient is rounded down. same_size: `rule` is not divided
    std::string alias = {};    // another name, which counts more
    std::vector<std::string> choices = {}; // JSON texts; as a size: the place in this list
    std::string reason = {};               // choice: why no others are read
};

// Positions as rotations (Su et al. 2021). Makes the number "rope_theta" and the sizes "rotary" (are there
// any), "rotated" and "resting" (features of a head) and "partial" (do any rest).
struct Rotary {
    double theta = 10'000, part = 1;       // what transformers takes without keys
    bool in_part = false;                  // may `partial_rotary_factor` be another than 1?
    bool optional = false;                 // a theta of null: no rotations
    std::vector<std::string> ignored = {}; // members of rope_parameters that change no result
};

// A size that follows from others: `of` times `factor`, divided by `divisor`.
struct Derived {
    std::string name, of;
    std::string divisor = "1"; // a size
    bool up = false;           // rounded up, or else down
    std::string factor = {};   // a number
    std::string when = {};     // as TensorRow::when; otherwise the size stays as it is
};

// Two sizes of which one must divide or equal the other, or one that must not be 0.
struct Condition {
    enum class Kind { equal, divides, positive };
    Kind kind = Kind::equal;
    std::string left, right = {}; // divides: `right` is a divisor of `left`
    std::string when = {};
};

struct TensorRow {
    std::string name;                    // in a block: behind the prefix of the block
    std::vector<std::string> dims;       // sizes, as in the file
    std::vector<std::string> as = {};    // sizes, as the op expects them; empty: as in the file
    std::string when = {};               // only if this size is not 0; "!key": if it is; "a & !b": both
    std::string instead = {};            // the tensor that serves where this one is not there
    std::string formerly = {};           // the name in other files
    std::vector<std::string> parts = {}; // tensors of other files, whose rows follow each other in this one
};

// What a node reads.
struct Operand {
    enum class Kind {
        value,      // the row `name`; "x": what the block reads
        first,      // the row `name` of the first block
        tensor,     // a tensor, left out where its `when` says so
        list,       // of(element) of a tensor, each `each` times, all that `times` times
        transposed, // each matrix of a tensor [n, rows, columns]
        filled,     // for each part: its number `first`, `count` times
        places, // for `take`: the parts of each group, which begins `stride` behind the one before, `repeats`
                // times. All that `times` times
        rates   // the angles of rotations for a head of `count` pairs, 0 for pairs that stay
    };
    struct Part {
        std::string first = "0", count = "1", each = "1";
    };
    Kind kind = Kind::value;
    std::string name = {};
    std::string each = "1", times = "1";
    double (*of)(double) = nullptr; // null: the element
    std::string label = {};         // of `of`, for names
    std::vector<Part> parts = {};
    std::string groups = "1", stride = "0", repeats = "1";
};

struct Attribute {
    enum class Kind { size, number, text }; // number: also "key.low", "key.high" of a range
    std::string name;
    Kind kind = Kind::size;
    std::string of;
};

// A node of the graph. A row whose `when` does not hold stands for what it reads first.
struct Row {
    std::string name; // for reports: up to the last '/' it is the layer
    std::string op;   // "=key": the op of an activation
    std::vector<Operand> reads;
    std::vector<Attribute> attributes = {};
    std::string when = {}; // as TensorRow::when
};

// A kind of block.
struct Block {
    std::string name;
    std::vector<TensorRow> tensors = {};
    std::vector<Row> rows = {};
    std::string refused = {}; // the reason, if no such block is read
};

// Which kind each block has. The first rule whose key is there holds, or the first with a fallback.
struct KindRule {
    enum class Kind {
        list,    // a name for each block
        cycle,   // names, again and again
        letters, // a text with a letter for each block
        places,  // the blocks of the first kind; all others are of the second
        first,   // no key: the first block is of the first kind, all others are of the second
        interval // block N, counted from 1, is of the second kind if this number divides N, else of the first
    };
    Kind kind = Kind::list;
    std::string key = {};
    std::vector<std::pair<std::string, std::string>> names; // in the file, and of the Block
    std::string fallback = {};                              // JSON text
};

// Tensors that a folder may have and that this model does not read.
struct Skipped {
    std::string prefix, what;
};

struct Architecture {
    std::string model_type;
    std::string made_by; // the only entry of "architectures"
    std::vector<Key> keys;
    std::vector<std::string> ignored; // keys that change no result
    std::vector<Derived> derived;
    std::vector<Condition> conditions;
    Rotary rotary;
    std::string vocabulary, depth;  // keys; no depth: as many blocks as the list of kinds has
    std::string window;             // the key of tokens that attention sees; none: all of them
    std::string prefix;             // of the tensors and nodes of block N: PREFIX.N.
    std::vector<KindRule> kinds;    // none: all blocks are of the only kind
    std::vector<TensorRow> tensors; // outside of the blocks
    std::vector<Block> blocks;
    std::vector<Row> before,
        after; // "x" in the first of all: the ids. The last row of each is "x" of the next
    std::string within, inner_type; // the key of an object that has all keys but these, and its model_type
    std::vector<std::string> outside;
    std::vector<Skipped> skipped;
};

} // namespace longwave::huggingface
