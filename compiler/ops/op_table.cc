// The ops that the graph knows by name.
#include "compiler/ir/op.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

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

std::vector<std::string> algorithm_names() {
    std::vector<std::string> names;
    for (const OpDef *op : all_ops())
        for (const Algorithm *algorithm : op->algorithms)
            if (std::find(names.begin(), names.end(), algorithm->name) == names.end())
                names.emplace_back(algorithm->name);
    return names;
}

} // namespace longwave::ir
