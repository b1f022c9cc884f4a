#include "compiler/ir/op.h"
#include "formats/base/checked.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <numeric>

namespace longwave::ir {

namespace {

const char *name_of(AttributeDef::Kind kind) {
    switch (kind) {
    case AttributeDef::Kind::integer: return "an integer";
    case AttributeDef::Kind::number: return "a number";
    case AttributeDef::Kind::text: return "a text";
    }
    return "";
}

AttributeDef::Kind kind_of(const Attribute &attribute) {
    if (std::holds_alternative<int64_t>(attribute)) return AttributeDef::Kind::integer;
    return std::holds_alternative<double>(attribute) ? AttributeDef::Kind::number : AttributeDef::Kind::text;
}

} // namespace

EndRule end_rule(const Node &node, std::span<const Type> inputs) {
    if (node.op->end != EndRule::clear) return node.op->end;
    return node.op->stream(node, inputs).looks_ahead.empty() ? EndRule::exact : EndRule::clear;
}

Expected<uint32_t> count_elements(const std::vector<uint64_t> &dims, const char *what) {
    uint64_t product = 1;
    for (auto d : dims)
        if (!checked::mul(product, d, &product) || product > most_elements)
            return Status::input(
                fmt::format("{} [{}] has more than {} elements", what, fmt::join(dims, ","), most_elements));
    return static_cast<uint32_t>(product);
}

Status check_attributes(const OpDef &op, const Attributes &attributes) {
    for (const AttributeDef &def : op.attributes) {
        const auto found = attributes.find(def.name);
        if (found == attributes.end()) {
            if (def.required)
                return Status::input(
                    fmt::format("attribute {} is missing: expected {}", def.name, name_of(def.kind)));
            continue;
        }
        if (kind_of(found->second) != def.kind)
            return Status::input(fmt::format("attribute {} expected {}, found {}", def.name,
                                             name_of(def.kind), name_of(kind_of(found->second))));
        if (const double *number = std::get_if<double>(&found->second); number && !std::isfinite(*number))
            return Status::input(fmt::format("attribute {} expected a finite number", def.name));
    }
    for (const auto &[name, value] : attributes) {
        const bool known =
            std::any_of(op.attributes.begin(), op.attributes.end(),
                        [&, &name = name](const AttributeDef &def) { return name == def.name; });
        if (!known) return Status::input(fmt::format("attribute {} is unknown to this op", name));
    }
    return Status::ok();
}

Expected<Type> result_type(const Node &node, std::span<const Type> inputs) {
    LW_TRY(check_attributes(*node.op, node.attributes));
    LW_ASSIGN(Type type, node.op->infer(node, inputs));
    LW_TRY(count_elements({type.dims.begin(), type.dims.end()}, "the result").status());
    for (const Type &input : inputs) {
        type.delay = std::max(type.delay, input.delay);
        const uint64_t whole = std::lcm(uint64_t{type.whole}, uint64_t{input.whole});
        if (whole > longest_whole)
            return Status::input(
                fmt::format("its inputs come for {} and {} input ticks together, which meet every {} ticks: "
                            "expected at most {}",
                            type.whole, input.whole, whole, longest_whole));
        type.whole = static_cast<uint32_t>(whole);
    }
    if (type.clock.timeless() && type.whole > 1)
        return Status::input(
            fmt::format("one row for a whole sequence cannot be made of rows that come for {} input ticks "
                        "together: pool before the rows are split",
                        type.whole));
    return type;
}

} // namespace longwave::ir
