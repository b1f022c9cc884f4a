// The definition of an op: its attributes, the type of its result, the state of a stream, how
// kernels compute it, and a float64 reference. One file per op, and one line in
// compiler/ops/op_table.inc.
#pragma once
#include "compiler/ir/algorithm.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/rewrites.h"
#include "formats/base/expected.h"
#include <span>
#include <string>
#include <vector>

namespace longwave::ir {

struct AttributeDef {
    const char *name;
    enum class Kind { integer, number, text } kind;
    bool required = true;
};

// Kernels may round each row of the node's first input to whole steps, so many of the largest
// magnitude of the row.
inline constexpr AttributeDef activation_steps{"activation_steps", AttributeDef::Kind::integer, false};

// State that an op hands from row to row. It is updated in place. Before the first row it is zero, or what
// the kernel rule gives (KernelCall::carry).
struct Carry {
    const char *name;
    Elem elem;
    std::vector<uint32_t> dims; // in memory, slowest first
};

// What a stream must keep for an op.
struct StreamRule {
    std::string looks_ahead; // why the op cannot stream: what it reads after t, in words for the user of the
                             // layer. Empty: the op can stream
    uint32_t history = 0;    // older rows of the first input, counted in its clock
    uint32_t ahead = 0; // rows of the first input after its own that a row waits for, with zeros behind the
                        // end of the sequence. An op that looks ahead by no more has a
                        // streamed form
    std::vector<Carry> carries;
};

// What happens when a sequence has fewer rows than the capacity of its run. The results of its rows
// must be those of a run of exactly that capacity. The valid rows for pooling (lw_run_tensor.length)
// play no part here.
enum class EndRule {
    exact, // no result depends on rows after the end
    clear, // the op reads rows of its first input after the end as zeros: the planner clears them
    fixed  // the op takes full sequences only: the runtime rejects shorter ones
};

// Whether each output element depends on the same element of the first input only. Such an op can
// run while the results of another kernel are in registers. The value names its further inputs.
enum class Pointwise {
    no,
    unary,
    with_channels, // constants: one value per element of a row, or per channel
    with_rows,     // rows, read element by element; the order of the inputs does not matter
    behind_first   // the same, and the result of the other kernel is the first input
};

// A value in the reference interpreter: [rows][width], logical channels without padding, float64.
struct Array {
    size_t rows = 0, width = 0;
    std::vector<double> data;
    double *row(size_t t) { return data.data() + t * width; }
    const double *row(size_t t) const { return data.data() + t * width; }
};

// An input of a reference loop: rows of a value, or a constant.
struct Operand {
    size_t rows = 0, width = 0;
    Numbers data;
    Operand() = default;
    Operand(const Array &array)
        : rows(array.rows), width(array.width), data(SharedArray<double>(nullptr, array.data)) {}
    Operand(const Constant &constant) : rows(1), width(constant.data.size()), data(constant.data) {}
    const double *row(size_t t) const {
        return data.doubles().data() + t * width;
    } // of the first input, and of inputs with a time axis
};

struct ReferenceContext {
    size_t length = 0;           // valid rows of the first input: only pooling reads it
    std::span<const Type> types; // of the inputs
    unsigned workers = 1;        // threads for expensive ops; results do not depend on their number
};

struct OpDef {
    const char *name;
    std::vector<AttributeDef> attributes;
    // Errors (Fault::input) name what was expected and found. The builder adds the layer.
    Expected<Type> (*infer)(const Node &node, std::span<const Type> inputs);
    StreamRule (*stream)(const Node &node, std::span<const Type> inputs);
    // An op that looks ahead: rows of its first input that it reads before or behind its own,
    // whichever are more. Null: all rows of the sequence.
    uint32_t (*reach)(const Node &node, std::span<const Type> inputs) = nullptr;
    EndRule end = EndRule::exact;
    bool pads_itself = false; // its kernel of offline runs reads nothing behind the sequence
    // Rows of zeros before the first row change none of its results: its stream may begin late.
    bool begins_late = false;
    bool of_passes = false; // a pass adds it; packages cannot name it
    Pointwise pointwise = Pointwise::no;
    bool nonzero_at_zero = false; // pointwise: f(0) is not 0
    // What the op's kernel computes together with a neighbour. Null: nothing. The node that makes
    // `input`: the kernel takes that node's inputs instead of its rows. A node that all of its
    // readers absorb gets no kernel of its own.
    bool (*absorb_producer)(const Node &node, size_t input, const Node &producer) = nullptr;
    // The only node that reads the result: the kernel writes that node's result instead.
    bool (*absorb_consumer)(const Node &node, const Node &consumer) = nullptr;
    // Whether its kernel can keep the older rows of the first input itself, channel by channel
    // (KernelCall::channels_of_past). Null: it cannot.
    bool (*keeps_channels)(const Graph &graph, const Node &node) = nullptr;
    bool no_epilogue = false;   // its kernel applies no pointwise ops to its results
    bool channel_tiles = false; // its kernel writes tiles of channels: an epilogue must not look across them
    // Whether any reader uses the result in this place. Null: always. Elsewhere the op is not
    // planned.
    bool (*used)(const PlanContext &context) = nullptr;
    // Names the kernel. Null: the op is pointwise, is absorbed by a neighbour, or has several
    // algorithms.
    Status (*kernel)(KernelCall &call) = nullptr;
    std::span<const Algorithm *const> algorithms = {};
    // The number of rows that the op was made for. Null: any.
    uint32_t (*natural_length)(const Node &node) = nullptr;
    // The value that replaces the op in a stream; its inputs are already mapped. Null: the op
    // itself.
    Expected<ValueId> (*streamed)(Rewriter &rewrite, const Node &node) = nullptr;
    Rewrites rewrites = {};
    // In float64, at most 40 lines, written from the definition and never from the kernel. `out`
    // comes with rows and width set, filled with zeros. A timeless input has one row; its width is
    // the number of its elements.
    void (*reference)(const Node &node, std::span<const Operand *const> inputs,
                      const ReferenceContext &context, Array &out);
    // Multiply-adds of the reference for one row of the result, roughly. Null: its width, and one for
    // each number of its constants.
    double (*work)(const Node &node, std::span<const Type> inputs, const Type &result) = nullptr;
};

// All ops by name (compiler/ops/op_table.inc).
const OpDef *find_op(const std::string &name); // null when unknown
std::span<const OpDef *const> all_ops();
// The names of the algorithms of all ops, each once.
std::vector<std::string> algorithm_names();

// `end` of the op for these attributes: a causal op is exact.
EndRule end_rule(const Node &node, std::span<const Type> inputs);

// One row or one constant has at most this many elements: indices fit in int32 on every target.
inline constexpr uint64_t most_elements = uint64_t{1} << 31;
inline constexpr uint64_t longest_whole = uint64_t{1} << 20; // Type::whole
// The product of the dims. Fault::input: more than most_elements; the message names `what`.
Expected<uint32_t> count_elements(const std::vector<uint64_t> &dims, const char *what);

// Checks that every attribute is known, of its kind and finite, and that required ones are present.
Status check_attributes(const OpDef &op, const Attributes &attributes);
// Checks the attributes and infers the type of the result. The builder gives it to a new node, and
// the verifier expects it of every node.
Expected<Type> result_type(const Node &node, std::span<const Type> inputs);

} // namespace longwave::ir
