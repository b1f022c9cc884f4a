#include "compiler/ir/op.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>
#include <cmath>

namespace longwave::ir {

std::span<const OpDef *const> all_ops() {
    static constexpr const OpDef *table[] = {
#define LW_OP(name) &op_##name,
#include "compiler/ops/op_table.inc"
#undef LW_OP
    };
    return table;
}

const OpDef *find_op(const std::string &name) {
    const auto ops = all_ops();
    const auto found =
        std::find_if(ops.begin(), ops.end(), [&](const OpDef *op) { return name == op->name; });
    return found == ops.end() ? nullptr : *found;
}

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

LengthRule length_rule(const Node &node, std::span<const Type> inputs) {
    if (node.op->length != LengthRule::mask) return node.op->length;
    return node.op->stream(node, inputs).looks_ahead.empty() ? LengthRule::exact : LengthRule::mask;
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
    LW_TRY([&]() -> Status {
        const auto width = rules::elements({type.dims.begin(), type.dims.end()}, "the result");
        return width ? Status::ok() : width.status();
    }());
    return type;
}

} // namespace longwave::ir
