#include "compiler/ops/support/rules.h"
#include "compiler/ir/kernel_call.h"
#include <numeric>

namespace longwave::ir {

namespace rules {

constexpr uint64_t most_rows = 1 << 16; // for each input tick

std::string text(const std::vector<uint32_t> &dims) { return fmt::format("[{}]", fmt::join(dims, ",")); }

Status count(std::span<const Type> inputs, size_t expected) {
    if (inputs.size() == expected) return Status::ok();
    return Status::input(
        fmt::format("expects {} input{}, found {}", expected, expected == 1 ? "" : "s", inputs.size()));
}

Status operand(const Type &type, const char *what, const std::vector<uint32_t> &dims) {
    if (!type.clock.timeless()) return Status::input(fmt::format("{} must not have a time axis", what));
    if (type.elem != Elem::f32) return Status::input(fmt::format("{} must be float32", what));
    bool same = type.dims.size() == dims.size();
    for (size_t i = 0; same && i < dims.size(); ++i) same = dims[i] == 0 || dims[i] == type.dims[i];
    if (same) return Status::ok();
    std::string expected;
    for (auto d : dims)
        expected += (expected.empty() ? "" : ",") + (d ? fmt::format("{}", d) : std::string("any"));
    return Status::input(fmt::format("{} expected shape [{}], found {}", what, expected, text(type.dims)));
}

Status vector(const Type &type, const char *what, uint32_t width) {
    if (width == 1 && type.dims.empty()) return operand(type, what, {});
    return operand(type, what, {width});
}

Status real(const Type &type) {
    return type.elem == Elem::f32
               ? Status::ok()
               : Status::input("expected float32 rows, found token ids (an embedding turns ids into rows)");
}

Status timed(const Type &type) {
    return type.clock.timeless() ? Status::input("expected a sequence, found a value without a time axis")
                                 : Status::ok();
}

Status rank(const Type &type, size_t dims) {
    if (type.dims.size() == dims) return Status::ok();
    return Status::input(fmt::format("expected rows with {} dimension{}, found {}", dims,
                                     dims == 1 ? "" : "s", text(type.dims)));
}

Expected<uint32_t> integer(const Node &node, const char *name, uint32_t low, uint32_t high) {
    const int64_t value = node.integer(name);
    if (value >= int64_t{low} && value <= int64_t{high}) return static_cast<uint32_t>(value);
    return Status::input(fmt::format("attribute {} expected {} to {}, found {}", name, low, high, value));
}

Expected<uint32_t> flag(const Node &node, const char *name) { return integer(node, name, 0, 1); }

uint32_t l_max(const Node &node) { return static_cast<uint32_t>(node.integer("l_max")); }

Expected<Clock> slower(const Clock &clock, uint32_t stride) {
    const uint64_t den = uint64_t{clock.den} * stride, common = std::gcd(uint64_t{clock.num}, den);
    if (den / common > UINT32_MAX)
        return Status::input(fmt::format("strides multiply to {}: too large for a clock", den / common));
    return Clock{static_cast<uint32_t>(clock.num / common), static_cast<uint32_t>(den / common)};
}

Expected<Clock> faster(const Clock &clock, uint32_t parts) {
    const uint64_t num = uint64_t{clock.num} * parts, common = std::gcd(num, uint64_t{clock.den});
    if (num / common > most_rows)
        return Status::input(
            fmt::format("{} rows for each input tick: expected at most {}", num / common, most_rows));
    return Clock{static_cast<uint32_t>(num / common), static_cast<uint32_t>(clock.den / common)};
}

Expected<Type> join(const Type &a, const Type &b) {
    if (a.elem != b.elem || a.dims != b.dims)
        return Status::input(
            fmt::format("expected two inputs of one shape, found {} and {}", text(a.dims), text(b.dims)));
    if (a.clock != b.clock)
        return Status::input(fmt::format("expected two inputs of one clock, found {}/{} and {}/{}",
                                         a.clock.num, a.clock.den, b.clock.num, b.clock.den));
    if (a.delay != b.delay)
        return Status::input(
            fmt::format("expected two inputs of one delay, found {} and {} ticks", a.delay, b.delay));
    Type type = a;
    type.causal = a.causal && b.causal;
    return type;
}

Status plain_channels(const KernelCall &call) {
    if (call.type(0).dims.size() == 1) return Status::ok();
    return Status::input("pooling and softmax need plain channels: put a linear layer before them");
}

} // namespace rules

StreamRule row_by_row(const Node &, std::span<const Type>) { return {}; }

Expected<Type> infer_same(const Node &, std::span<const Type> inputs) {
    LW_TRY(rules::count(inputs, 1));
    LW_TRY(rules::real(inputs[0]));
    return inputs[0];
}

} // namespace longwave::ir
