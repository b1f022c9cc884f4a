#include "compiler/ops/attention/attention.h"
#include "compiler/ops/support/rules.h"
#include <algorithm>

namespace longwave::ir::attention {

Expected<Type> rows_of_one_rate(std::span<const Type> in, Type result) {
    for (const Type &type : in) {
        LW_TRY(rules::real(type));
        LW_TRY(rules::timed(type));
        LW_TRY(rules::rank(type, 1));
        if (type.clock != in[0].clock) return Status::input("queries, keys and values expected at one rate");
        result.causal = result.causal && type.causal;
        result.delay = std::max(result.delay, type.delay);
    }
    return result;
}

Expected<Type> of_heads(const Node &node, std::span<const Type> in) {
    LW_ASSIGN(const uint32_t heads, rules::integer(node, "heads", 1, 1 << 12));
    LW_ASSIGN(const Type result, rows_of_one_rate(in, in[2]));
    for (const Type &type : in)
        if (type.dims[0] % heads)
            return Status::input(fmt::format("{} features do not divide into {} heads", type.dims[0], heads));
    return result;
}

Expected<Type> infer(const Node &node, std::span<const Type> in) {
    LW_TRY(rules::count(in, 3));
    LW_ASSIGN(const Type type, of_heads(node, in));
    if (in[0].dims == in[1].dims) return type;
    return Status::input(
        fmt::format("queries and keys of one width expected, found {} and {}", in[0].dims[0], in[1].dims[0]));
}

} // namespace longwave::ir::attention
