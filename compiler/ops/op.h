// What an op is: its attributes, the type of its result, what a stream of it needs to remember, and a reference loop. One file per op; one line in op_table.inc.
#pragma once
#include "compiler/ir/graph.h"
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

// What one row of output needs of the first input in a stream.
struct StreamRule {
    enum class Kind {
        rowwise,    // row t of the output reads row t of the inputs
        history,    // and `rows` older rows of the first input (rows of the input's clock)
        running,    // and a running state of its own kernel (mean of everything so far)
        looks_ahead // cannot stream: `reason` says what it reads after t, in the words of the layer's user
    } kind = Kind::rowwise;
    uint32_t rows = 0;
    std::string reason;
};

// How an op behaves when the sequence is shorter than the capacity of a run.
enum class LengthRule {
    exact, // rows before the end do not depend on rows after it
    mask   // rows of the first input after the end must be zero
};

// Whether one output element comes from the same element of the first input, so that the op can be applied while another kernel's results are in registers,
// and what its further inputs are.
enum class Pointwise {
    no,
    unary,
    with_channels, // constants, one value for every element of a row or for every channel
    with_rows      // rows of their own, read element by element; the order of the inputs does not matter
};

class KernelCall; // kernel_call.h

// A value in the reference interpreter: [rows][width], logical channels without padding, float64.
struct Array {
    size_t rows = 0, width = 0;
    std::vector<double> data;
    double *row(size_t t) { return data.data() + t * width; }
    const double *row(size_t t) const { return data.data() + t * width; }
};

// What a reference loop reads: rows of a value, or a constant where it lies.
struct Operand {
    size_t rows = 0, width = 0;
    Numbers data;
    Operand() = default;
    Operand(const Array &array) : rows(array.rows), width(array.width), data(SharedArray<double>(nullptr, array.data)) {}
    Operand(const Constant &constant) : rows(1), width(constant.data.size()), data(constant.data) {}
    const double *row(size_t t) const { return data.doubles().data() + t * width; } // of the first input, and of any that has a time axis
};

struct ReferenceContext {
    size_t length = 0;           // valid rows of the first input for pooling
    std::span<const Type> types; // of the inputs
};

struct OpDef {
    const char *name;
    std::vector<AttributeDef> attributes;
    // Errors (Fault::input) say expected and found; the builder adds the layer.
    Expected<Type> (*infer)(const Node &node, std::span<const Type> inputs);
    StreamRule (*stream)(const Node &node, std::span<const Type> inputs);
    LengthRule length = LengthRule::exact;
    Pointwise pointwise = Pointwise::no;
    bool moves_zero = false; // pointwise: f(0) is not 0
    // Names the kernel. Null: pointwise, or always part of another op's kernel.
    Status (*kernel)(KernelCall &call) = nullptr;
    // float64, at most 40 lines, written from the definition and never from the kernel. out arrives with rows and width set and zeros inside.
    // A timeless input has rows = 1 and its whole shape as width.
    void (*reference)(const Node &node, std::span<const Operand *const> inputs, const ReferenceContext &context, Array &out);
};

const OpDef *find_op(const std::string &name); // null when unknown
std::span<const OpDef *const> all_ops();

// `length` of the op as its attributes have it: only what looks ahead needs the mask, so a causal long_conv is exact.
LengthRule length_rule(const Node &node, std::span<const Type> inputs);

// Every attribute known, present where required, of its kind and finite.
Status check_attributes(const OpDef &op, const Attributes &attributes);
// Attributes checked, then the type the op infers: what the builder gives a new node and the verifier expects of an old one.
Expected<Type> result_type(const Node &node, std::span<const Type> inputs);

} // namespace longwave::ir
