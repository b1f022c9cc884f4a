#include "schedules/gpu/program.h"
#include <algorithm>
#include <bit>
#include <cmath>

namespace longwave::gpu {

namespace {

float real_of(uint32_t bits) { return std::bit_cast<float>(bits); }
uint32_t bits_of_float(float value) { return std::bit_cast<uint32_t>(value); }
// Of what is no int32 the device may make any.
uint32_t s32_of(float value) {
    return std::fabs(value) < 0x1p31f ? static_cast<uint32_t>(static_cast<int32_t>(value)) : 0;
}

} // namespace

int operand_count(Op op) {
    switch (op) {
    case Op::negate:
    case Op::abs:
    case Op::sqrt:
    case Op::exp:
    case Op::log:
    case Op::trunc:
    case Op::f32_to_bits:
    case Op::bits_to_f32:
    case Op::s32_to_f32:
    case Op::f32_to_s32:
    case Op::bool_not: return 1;
    case Op::fma:
    case Op::select: return 3;
    case Op::constant:
    case Op::thread:
    case Op::group:
    case Op::load:
    case Op::store:
    case Op::load_shared:
    case Op::store_shared:
    case Op::get:
    case Op::set:
    case Op::barrier:
    case Op::begin_if:
    case Op::end_if:
    case Op::begin_loop:
    case Op::end_loop: return 0;
    default: return 2;
    }
}

uint32_t evaluate(Op op, const std::array<uint32_t, 3> &bits) {
    const uint32_t a = bits[0], b = bits[1], c = bits[2];
    const float x = real_of(a), y = real_of(b), z = real_of(c);
    switch (op) {
    case Op::add_f32: return bits_of_float(x + y);
    case Op::subtract_f32: return bits_of_float(x - y);
    case Op::multiply_f32: return bits_of_float(x * y);
    case Op::divide_f32: return bits_of_float(x / y);
    case Op::negate: return bits_of_float(-x);
    case Op::fma: return bits_of_float(std::fma(x, y, z));
    case Op::min: return bits_of_float(std::fmin(x, y));
    case Op::max: return bits_of_float(std::fmax(x, y));
    case Op::abs: return bits_of_float(std::fabs(x));
    case Op::sqrt: return bits_of_float(std::sqrt(x));
    case Op::exp: return bits_of_float(std::exp(x));
    case Op::log: return bits_of_float(std::log(x));
    case Op::trunc: return bits_of_float(std::trunc(x));
    case Op::add: return a + b;
    case Op::subtract: return a - b;
    case Op::multiply: return a * b;
    case Op::modulo: return b ? a % b : 0;
    case Op::bit_and: return a & b;
    case Op::bit_or: return a | b;
    case Op::bit_xor: return a ^ b;
    case Op::shift_left: return b < 32 ? a << b : 0;
    case Op::shift_right: return b < 32 ? a >> b : 0;
    case Op::f32_to_bits:
    case Op::bits_to_f32: return a;
    case Op::s32_to_f32: return bits_of_float(static_cast<float>(static_cast<int32_t>(a)));
    case Op::f32_to_s32: return s32_of(x);
    case Op::less: return a < b;
    case Op::less_f32: return x < y;
    case Op::less_equal_f32: return x <= y;
    case Op::equal_f32: return x == y;
    case Op::bool_and: return a & b;
    case Op::bool_or: return a | b;
    case Op::bool_not: return !a;
    case Op::select: return a ? b : c;
    default: return 0; // it does not compute
    }
}

Program::Program(std::string entry, std::array<uint32_t, 3> local, std::array<uint32_t, 3> grid)
    : entry_(std::move(entry)), local_(local), grid_(grid), values_(1) {} // number 0: no value

Memory Program::buffer(const std::string &name, uint32_t width, Access access) {
    buffers_.push_back({name, width, access});
    return {static_cast<uint32_t>(buffers_.size() - 1)};
}

Memory Program::float64_buffer(const std::string &name, Access access) {
    buffers_.push_back({name, 2, access, Type::u32});
    return {static_cast<uint32_t>(buffers_.size() - 1)};
}

void Program::shared(uint32_t floats, uint32_t width) { shared_floats_ = floats, shared_width_ = width; }

uint32_t Program::new_value(Type type) {
    values_.push_back({type});
    return static_cast<uint32_t>(values_.size() - 1);
}

uint32_t Program::constant(Type type, uint32_t bits) {
    const auto [found, fresh] = constants_.try_emplace({type, bits}, 0);
    if (fresh) {
        found->second = new_value(type);
        values_[found->second] = {type, true, bits};
    }
    return found->second;
}

Float Program::f32(float value) { return {this, constant(Type::f32, bits_of_float(value))}; }
Uint Program::u32(uint32_t value) { return {this, constant(Type::u32, value)}; }

Uint Program::thread() { return {this, address(Op::thread, {})}; }
Uint Program::group(uint32_t dimension) { return {this, address(Op::group, {dimension})}; }

uint32_t Program::address(Op op, const std::array<uint32_t, 3> &operands) {
    if (const auto found = addresses_.find({op, operands}); found != addresses_.end()) return found->second;
    const uint32_t made = new_value(Type::u32);
    instructions_.push_back({op, made, {operands[0], operands[1], operands[2]}});
    if (open_guards_ == 0) addresses_[{op, operands}] = made;
    return made;
}

Float Program::load(Memory from, Uint at) {
    const uint32_t made = new_value(Type::f32);
    instructions_.push_back({Op::load, made, {at.number}, from.number});
    return {this, made};
}

Vec4 Program::new_vec4() {
    Vec4 made;
    for (Float &one : made) one = {this, new_value(Type::f32)};
    return made;
}

Vec4 Program::load_vec4(Memory from, Uint at) {
    const Vec4 made = new_vec4();
    instructions_.push_back({Op::load, made[0].number, {at.number}, from.number});
    return made;
}

WordPair Program::load_words(Memory from, Uint at) {
    const uint32_t low = new_value(Type::u32), high = new_value(Type::u32);
    instructions_.push_back({Op::load, low, {at.number}, from.number});
    return {{this, low}, {this, high}};
}

Float Program::load_shared(Uint at) {
    const uint32_t made = new_value(Type::f32);
    instructions_.push_back({Op::load_shared, made, {at.number}});
    return {this, made};
}

Vec4 Program::load_shared_vec4(Uint at) {
    const Vec4 made = new_vec4();
    instructions_.push_back({Op::load_shared, made[0].number, {at.number}});
    return made;
}

void Program::store(Memory to, Uint at, Float value) {
    instructions_.push_back({Op::store, 0, {at.number, value.number}, to.number});
}

void Program::store_vec4(Memory to, Uint at, const Vec4 &of) {
    instructions_.push_back(
        {Op::store, 0, {at.number, of[0].number, of[1].number, of[2].number, of[3].number}, to.number});
}

void Program::store_words(Memory to, Uint at, const WordPair &words) {
    instructions_.push_back({Op::store, 0, {at.number, words.low.number, words.high.number}, to.number});
}

void Program::store_shared(Uint at, Float value) {
    instructions_.push_back({Op::store_shared, 0, {at.number, value.number}});
}

void Program::store_shared_vec4(Uint at, const Vec4 &of) {
    instructions_.push_back(
        {Op::store_shared, 0, {at.number, of[0].number, of[1].number, of[2].number, of[3].number}});
}

void Program::barrier() { instructions_.push_back({Op::barrier}); }

void Program::when(Bool condition, const std::function<void()> &body) {
    instructions_.push_back({Op::begin_if, 0, {condition.number}});
    open_guards_++;
    body();
    open_guards_--;
    instructions_.push_back({Op::end_if});
}

Register Program::keep(Float initial) {
    registers_.push_back(Type::f32);
    const Register made{static_cast<uint32_t>(registers_.size() - 1)};
    set(made, initial);
    return made;
}

Float Program::get(Register from) {
    const uint32_t made = new_value(Type::f32);
    instructions_.push_back({Op::get, made, {}, from.number});
    return {this, made};
}

void Program::set(Register to, Float value) {
    instructions_.push_back({Op::set, 0, {value.number}, to.number});
}

void Program::loop(uint32_t iterations, const std::function<void(Uint iteration)> &body) {
    loop(u32(iterations), body);
}

void Program::loop(Uint iterations, const std::function<void(Uint iteration)> &body) {
    if (is_word(iterations.number, 1)) return body(u32(0));
    registers_.push_back(Type::u32);
    const auto counter = static_cast<uint32_t>(registers_.size() - 1);
    instructions_.push_back({Op::set, 0, {u32(0).number}, counter});
    instructions_.push_back({Op::begin_loop, 0, {iterations.number}, counter});
    const auto before = addresses_;
    const uint32_t iteration = new_value(Type::u32);
    instructions_.push_back({Op::get, iteration, {}, counter});
    body({this, iteration});
    addresses_ = before;
    instructions_.push_back({Op::end_loop, 0, {}, counter});
}

bool Program::is(uint32_t value, float number) const {
    return values_[value].constant && real_of(values_[value].bits) == number;
}

bool Program::is_word(uint32_t value, uint32_t word) const {
    return values_[value].constant && values_[value].bits == word;
}

// The value that the operation returns unchanged, or 0. Zeros come from rows that do not exist, so
// 0 x is 0 here also where x is infinite.
uint32_t Program::simplified(Op op, Type type, const std::array<uint32_t, 3> &of) {
    const auto [a, b, c] = of;
    const auto zero = [&] { return constant(type, 0); };
    switch (op) {
    case Op::add_f32: return is(a, 0) ? b : is(b, 0) ? a : 0;
    case Op::subtract_f32: return is(b, 0) ? a : is(a, 0) ? compute(Op::negate, type, {b, 0, 0}) : 0;
    case Op::multiply_f32:
        if (is(a, -1)) return compute(Op::negate, type, {b, 0, 0});
        if (is(b, -1)) return compute(Op::negate, type, {a, 0, 0});
        return is(a, 0) || is(b, 0) ? zero() : is(a, 1) ? b : is(b, 1) ? a : 0;
    case Op::fma:
        if (is(a, 0) || is(b, 0)) return c;
        if (is(c, 0)) return compute(Op::multiply_f32, type, {a, b, 0});
        if (is(a, 1)) return compute(Op::add_f32, type, {b, c, 0});
        if (is(a, -1)) return compute(Op::subtract_f32, type, {c, b, 0});
        if (is(b, -1)) return compute(Op::subtract_f32, type, {c, a, 0});
        return is(b, 1) ? compute(Op::add_f32, type, {a, c, 0}) : 0;
    case Op::add:
    case Op::bit_or:
    case Op::bit_xor: return is_word(a, 0) ? b : is_word(b, 0) ? a : 0;
    case Op::bit_and: return is_word(a, 0) || is_word(b, 0) ? zero() : 0;
    case Op::multiply:
        return is_word(a, 0) || is_word(b, 0) ? zero() : is_word(a, 1) ? b : is_word(b, 1) ? a : 0;
    case Op::shift_left:
    case Op::shift_right: return is_word(b, 0) ? a : 0;
    default: return 0;
    }
}

uint32_t Program::compute(Op op, Type type, std::array<uint32_t, 3> operands) {
    const int count = operand_count(op);
    bool known = true;
    std::array<uint32_t, 3> bits{};
    for (int i = 0; i < count; i++) {
        const ValueInfo &one = values_[operands[static_cast<size_t>(i)]];
        known = known && one.constant;
        bits[static_cast<size_t>(i)] = one.bits;
    }
    if (known) return constant(type, evaluate(op, bits));
    if (const uint32_t same = simplified(op, type, operands)) return same;
    if (type == Type::u32) return address(op, operands);
    const uint32_t made = new_value(type);
    instructions_.push_back({op, made, {operands[0], operands[1], operands[2]}});
    return made;
}

void Program::drop_unused() {
    std::vector<bool> used(values_.size(), false);
    std::vector<Instruction> kept;
    for (auto one = instructions_.rbegin(); one != instructions_.rend(); ++one) {
        const uint32_t results = one->op == Op::load          ? buffers_[one->memory].width
                                 : one->op == Op::load_shared ? shared_width_
                                                              : 1;
        bool needed = one->result == 0; // a store or control
        for (uint32_t i = 0; i < results && !needed; i++) needed = used[one->result + i];
        if (!needed) continue;
        if (one->op != Op::group)
            for (const uint32_t operand : one->operands) used[operand] = true;
        kept.push_back(*one);
    }
    instructions_.assign(kept.rbegin(), kept.rend());
}

} // namespace longwave::gpu
