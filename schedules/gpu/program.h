// A GPU kernel as a list of instructions of one thread, with guards, barriers and loops. Values are
// typed, so a wrong operand does not compile. Each value is computed once, where it is made. What
// changes between iterations is a register. Equal constants are one value, and so are equal addresses.
// Operations whose result is known are not emitted.
//
//     Program p("scale", {256, 1, 1}, {4, 1, 1});
//     const Memory u = p.buffer("u", 1, Access::read), y = p.buffer("y", 1, Access::write);
//     const Uint at = (p.group(0) << 8) + p.thread();
//     p.store(y, at, p.load(u, at) * p.f32(2));
//     std::vector<uint32_t> module = assemble(p);   // assemble.h
#pragma once
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace longwave::gpu {

enum class Type : uint8_t { f32, u32, boolean };

enum class Op : uint8_t {
    constant, // the bits are those of the value
    thread,   // number of the thread in its workgroup
    group,    // number of the workgroup; operand 0 is the dimension
    // float32
    add_f32,
    subtract_f32,
    multiply_f32,
    divide_f32,
    negate,
    fma,
    min,
    max,
    abs,
    sqrt,
    exp,
    log,
    trunc, // towards zero
    // uint32
    add,
    subtract,
    multiply,
    modulo, // operand 1 is not 0
    bit_and,
    bit_or,
    bit_xor,
    shift_left,
    shift_right,
    f32_to_bits, // the word of a float32
    bits_to_f32, // the float32 of a word
    s32_to_f32,  // the value of a word that holds an int32
    f32_to_s32,  // the word of the int32 towards zero, which there must be
    // bool
    less,
    less_f32,
    less_equal_f32,
    equal_f32,
    bool_and,
    bool_or,
    bool_not,
    select, // operands: condition, if true, if false
    // memory: `memory` is the buffer; operand 0 is the index
    load,  // `width` results with consecutive numbers
    store, // operands from 1 on are the `width` values
    load_shared,
    store_shared,
    // registers: `memory` is the number of the register
    get,
    set, // operand 0 is the value
    // control
    barrier,
    begin_if, // operand 0 is the condition
    end_if,
    begin_loop, // operand 0 is the number of iterations; `memory` is the register that counts them
    end_loop
};

struct Instruction {
    Op op;
    uint32_t result = 0; // of no meaning for stores and control
    std::array<uint32_t, 5> operands{};
    uint32_t memory = 0;
};

enum class Access : uint8_t { read, write, both };

struct Memory {
    uint32_t number = 0;
};

// A buffer of float32 or uint32. `width` 2 or 4: elements of so many, which a thread reads or writes at
// once.
struct Buffer {
    std::string name;
    uint32_t width = 1;
    Access access = Access::read;
    Type type = Type::f32;
};

struct ValueInfo {
    Type type = Type::f32;
    bool constant = false;
    uint32_t bits = 0; // of a constant
};

class Program;

// A value of a program.
template <Type type> struct Value {
    Program *program = nullptr;
    uint32_t number = 0;
};
using Float = Value<Type::f32>;
using Uint = Value<Type::u32>;
using Bool = Value<Type::boolean>;
using Vec4 = std::array<Float, 4>;

// The words of a float64, or of a whole number of 64 bits (float64_words.h).
struct WordPair {
    Uint low, high;
};

// A float32 that may change.
struct Register {
    uint32_t number = 0;
};

class Program {
public:
    Program(std::string entry, std::array<uint32_t, 3> local, std::array<uint32_t, 3> grid);

    // ---- memory ----
    Memory buffer(const std::string &name, uint32_t width, Access access); // bindings in this order
    Memory float64_buffer(const std::string &name, Access access);         // elements are pairs of words
    // Memory of a workgroup: so many float32 in elements of `width`, 1 or 4.
    void shared(uint32_t floats, uint32_t width = 1);

    // ---- values ----
    Float f32(float value);
    Uint u32(uint32_t value);
    Uint thread();
    Uint group(uint32_t dimension);
    Float load(Memory from, Uint at);
    Vec4 load_vec4(Memory from, Uint at);
    WordPair load_words(Memory from, Uint at);
    Float load_shared(Uint at);
    Vec4 load_shared_vec4(Uint at);
    uint32_t compute(Op op, Type type, std::array<uint32_t, 3> operands);

    // ---- effects ----
    void store(Memory to, Uint at, Float value);
    void store_vec4(Memory to, Uint at, const Vec4 &values);
    void store_words(Memory to, Uint at, const WordPair &words);
    void store_shared(Uint at, Float value);
    void store_shared_vec4(Uint at, const Vec4 &values);
    void barrier(); // all threads of the workgroup must come here
    void when(Bool condition, const std::function<void()> &body);

    // ---- registers and loops ----
    Register keep(Float initial);
    Float get(Register from); // as it is here
    void set(Register to, Float value);
    // At least one iteration, and equally many in all threads of a workgroup.
    void loop(uint32_t iterations, const std::function<void(Uint iteration)> &body);
    void loop(Uint iterations, const std::function<void(Uint iteration)> &body);

    // Removes what no store and no guard needs.
    void drop_unused();

    // ---- what was written ----
    const std::string &entry() const { return entry_; }
    const std::array<uint32_t, 3> &local() const { return local_; }
    const std::array<uint32_t, 3> &grid() const { return grid_; }
    const std::vector<Buffer> &buffers() const { return buffers_; }
    uint32_t shared_floats() const { return shared_floats_; }
    uint32_t shared_width() const { return shared_width_; }
    const std::vector<Type> &registers() const { return registers_; }
    const std::vector<Instruction> &instructions() const { return instructions_; }
    const ValueInfo &value(uint32_t number) const { return values_[number]; }
    size_t value_count() const { return values_.size(); }

private:
    uint32_t constant(Type type, uint32_t bits);
    uint32_t new_value(Type type);
    uint32_t address(Op op, const std::array<uint32_t, 3> &operands); // computed once
    Vec4 new_vec4();
    uint32_t simplified(Op op, Type type, const std::array<uint32_t, 3> &operands);
    bool is(uint32_t value, float number) const;
    bool is_word(uint32_t value, uint32_t word) const;

    std::string entry_;
    std::array<uint32_t, 3> local_, grid_;
    std::vector<Buffer> buffers_;
    uint32_t shared_floats_ = 0, shared_width_ = 1;
    std::vector<Type> registers_;
    std::vector<Instruction> instructions_;
    std::vector<ValueInfo> values_;
    std::map<std::pair<Type, uint32_t>, uint32_t> constants_;
    // Addresses are not computed again where they were computed outside of every guard. What a loop
    // computes is known in the loop only.
    std::map<std::pair<Op, std::array<uint32_t, 3>>, uint32_t> addresses_;
    int open_guards_ = 0;
};

inline uint32_t log2_of(uint32_t power) { return static_cast<uint32_t>(std::countr_zero(power)); }

// The number of operands of an operation that computes; 0 for the others.
int operand_count(Op op);
// What an operation makes of the bits of its operands: for constants, and for interpreters.
uint32_t evaluate(Op op, const std::array<uint32_t, 3> &bits);

// ---- operators ----
namespace detail {
template <Type result, Type type> Value<result> binary(Op op, const Value<type> &a, const Value<type> &b) {
    return {a.program, a.program->compute(op, result, {a.number, b.number, 0})};
}
template <Type result, Type type> Value<result> unary(Op op, const Value<type> &a) {
    return {a.program, a.program->compute(op, result, {a.number, 0, 0})};
}
} // namespace detail

inline Float operator+(Float a, Float b) { return detail::binary<Type::f32>(Op::add_f32, a, b); }
inline Float operator-(Float a, Float b) { return detail::binary<Type::f32>(Op::subtract_f32, a, b); }
inline Float operator*(Float a, Float b) { return detail::binary<Type::f32>(Op::multiply_f32, a, b); }
inline Float operator/(Float a, Float b) { return detail::binary<Type::f32>(Op::divide_f32, a, b); }
inline Float operator-(Float a) { return detail::unary<Type::f32>(Op::negate, a); }
inline Float fma(Float a, Float b, Float c) { // a b + c, rounded once where the device can
    return {a.program, a.program->compute(Op::fma, Type::f32, {a.number, b.number, c.number})};
}
inline Float operator+(Float a, float b) { return a + a.program->f32(b); }
inline Float operator*(Float a, float b) { return a * a.program->f32(b); }
inline Float min(Float a, Float b) { return detail::binary<Type::f32>(Op::min, a, b); }
inline Float max(Float a, Float b) { return detail::binary<Type::f32>(Op::max, a, b); }
inline Float abs(Float a) { return detail::unary<Type::f32>(Op::abs, a); }
inline Float sqrt(Float a) { return detail::unary<Type::f32>(Op::sqrt, a); }
inline Float exp(Float a) { return detail::unary<Type::f32>(Op::exp, a); }
inline Float log(Float a) { return detail::unary<Type::f32>(Op::log, a); }
inline Float trunc(Float a) { return detail::unary<Type::f32>(Op::trunc, a); }

inline Uint operator+(Uint a, Uint b) { return detail::binary<Type::u32>(Op::add, a, b); }
inline Uint operator-(Uint a, Uint b) { return detail::binary<Type::u32>(Op::subtract, a, b); }
inline Uint operator*(Uint a, Uint b) { return detail::binary<Type::u32>(Op::multiply, a, b); }
inline Uint operator%(Uint a, Uint b) { return detail::binary<Type::u32>(Op::modulo, a, b); }
inline Uint operator&(Uint a, Uint b) { return detail::binary<Type::u32>(Op::bit_and, a, b); }
inline Uint operator|(Uint a, Uint b) { return detail::binary<Type::u32>(Op::bit_or, a, b); }
inline Uint operator^(Uint a, Uint b) { return detail::binary<Type::u32>(Op::bit_xor, a, b); }
inline Uint operator<<(Uint a, Uint b) { return detail::binary<Type::u32>(Op::shift_left, a, b); }
inline Uint operator>>(Uint a, Uint b) { return detail::binary<Type::u32>(Op::shift_right, a, b); }
inline Uint operator+(Uint a, uint32_t b) { return a + a.program->u32(b); }
inline Uint operator-(Uint a, uint32_t b) { return a - a.program->u32(b); }
inline Uint operator*(Uint a, uint32_t b) { return a * a.program->u32(b); }
inline Uint operator%(Uint a, uint32_t b) { return a % a.program->u32(b); }
inline Uint operator&(Uint a, uint32_t b) { return a & a.program->u32(b); }
inline Uint operator|(Uint a, uint32_t b) { return a | a.program->u32(b); }
inline Uint operator^(Uint a, uint32_t b) { return a ^ a.program->u32(b); }
inline Uint operator<<(Uint a, uint32_t b) { return a << a.program->u32(b); }
inline Uint operator>>(Uint a, uint32_t b) { return a >> a.program->u32(b); }
inline Uint bits_of(Float a) { return detail::unary<Type::u32>(Op::f32_to_bits, a); }
inline Float bits_to_f32(Uint a) { return detail::unary<Type::f32>(Op::bits_to_f32, a); }
inline Float s32_to_f32(Uint a) { return detail::unary<Type::f32>(Op::s32_to_f32, a); }
inline Uint f32_to_s32(Float a) { return detail::unary<Type::u32>(Op::f32_to_s32, a); }

inline Bool operator<(Uint a, Uint b) { return detail::binary<Type::boolean>(Op::less, a, b); }
inline Bool operator<(Uint a, uint32_t b) { return a < a.program->u32(b); }
inline Bool operator<(Float a, Float b) { return detail::binary<Type::boolean>(Op::less_f32, a, b); }
inline Bool operator<=(Float a, Float b) { return detail::binary<Type::boolean>(Op::less_equal_f32, a, b); }
inline Bool operator==(Float a, Float b) { return detail::binary<Type::boolean>(Op::equal_f32, a, b); }
inline Bool operator&(Bool a, Bool b) { return detail::binary<Type::boolean>(Op::bool_and, a, b); }
inline Bool operator|(Bool a, Bool b) { return detail::binary<Type::boolean>(Op::bool_or, a, b); }
inline Bool operator!(Bool a) { return detail::unary<Type::boolean>(Op::bool_not, a); }
template <Type type> Value<type> select(Bool condition, Value<type> a, Value<type> b) {
    return {a.program, a.program->compute(Op::select, type, {condition.number, a.number, b.number})};
}
inline Uint min(Uint a, uint32_t b) { return select(a < b, a, a.program->u32(b)); }
inline Uint max(Uint a, uint32_t b) { return select(a < b, a.program->u32(b), a); }

} // namespace longwave::gpu
