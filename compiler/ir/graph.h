// The compiler's graph: typed values, and the nodes that compute them. A graph never changes: a
// pass builds a new one (builder.h).
#pragma once
#include "compiler/ir/numbers.h"
#include "formats/base/elem.h"
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace longwave::ir {

using longwave::Elem;

// Rows of a value per tick of the input. {1,1}: one row per tick. {1,160}: one row per 160 samples.
// {0,1}: no time axis (a constant, or one row per sequence).
struct Clock {
    uint32_t num = 1, den = 1;
    bool timeless() const { return num == 0; }
    bool operator==(const Clock &) const = default;
};

struct Type {
    Elem elem = Elem::f32;
    // dims of one row, slowest first: {channels} or {frequency, channels}. Of a constant: its full
    // shape
    std::vector<uint32_t> dims;
    Clock clock;
    bool causal = true; // row t depends on no input after its own tick
    uint32_t delay = 0; // algorithmic delay in input ticks
    // Rows come for so many input ticks together: those of a value that was slower before. {1,1} out
    // of {1,160} has 160 rows for every whole 160 ticks, and none for the ticks behind these.
    uint32_t whole = 1;
    bool operator==(const Type &) const = default;

    uint32_t width() const { // logical elements of a row
        uint32_t n = 1;
        for (auto d : dims) n *= d;
        return n;
    }
    // Rows of a sequence of `ticks` input ticks.
    uint64_t rows(uint64_t ticks) const {
        return clock.timeless() ? 1 : (ticks - ticks % whole) * clock.num / clock.den;
    }
    // Elements of a row in memory: the innermost channels are padded to whole vectors on every
    // target (schedules/contract/kernel.h). {F, 1} and {C} are one run.
    uint32_t row() const;
    // Where logical element i of a row lies in memory.
    uint32_t physical(uint32_t i) const;
    // A row of these values in memory, padded with zeros. Fewer values than elements repeat for
    // every group of channels.
    std::vector<float> packed(const Numbers &values) const;
};

using ValueId = uint32_t;
using Attribute = std::variant<int64_t, double, std::string>;
using Attributes = std::map<std::string, Attribute>;

struct Constant {
    std::string key; // tensor key in the package, or a key that a pass made
    Numbers data;
};

struct OpDef; // compiler/ir/op.h

struct Value {
    Type type;
    enum class Kind { input, constant, node } kind = Kind::node;
    uint32_t index = 0; // into inputs, constants or nodes
};

struct Node {
    const OpDef *op = nullptr;
    Attributes attributes;
    std::vector<ValueId> inputs;
    ValueId output = 0;
    std::string layer; // the package layer it came from: "model.layers.0.layer"

    int64_t integer(const std::string &name) const { return std::get<int64_t>(attributes.at(name)); }
    double number(const std::string &name) const { return std::get<double>(attributes.at(name)); }
    const std::string &text(const std::string &name) const {
        return std::get<std::string>(attributes.at(name));
    }
    bool has(const std::string &name) const { return attributes.count(name) != 0; }
};

struct GraphInput {
    std::string name;
    enum class Kind { audio, features, tokens } kind = Kind::audio;
    static constexpr const char *kinds[] = {"audio", "features", "tokens"}; // as text
    uint32_t sample_rate = 0, vocabulary = 0;
    ValueId value = 0;
};

struct GraphOutput {
    std::string name;
    ValueId value = 0;
};

// The claim of an exact rewrite, and the largest error of its re-run on numbers.
struct Certificate {
    std::string pass, layer, what;
    double error = 0; // relative to the peak of the rewritten value
};

struct Graph {
    std::string name;
    std::vector<GraphInput> inputs;
    std::vector<Constant> constants;
    std::vector<Node> nodes; // in topological order
    std::vector<Value> values;
    std::vector<GraphOutput> outputs;
    std::vector<Certificate> certificates;

    const Type &type(ValueId v) const { return values[v].type; }
    const Node *producer(ValueId v) const {
        return values[v].kind == Value::Kind::node ? &nodes[values[v].index] : nullptr;
    }
    const Constant *constant(ValueId v) const {
        return values[v].kind == Value::Kind::constant ? &constants[values[v].index] : nullptr;
    }
    // Number of nodes and graph outputs that read v.
    size_t uses(ValueId v) const;
};

} // namespace longwave::ir
