#include "compiler/ops/norms/norm_groups.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"

namespace longwave::ir::rules {

Expected<uint32_t> norm_groups(const Node &node, const Type &x) {
    if (!node.has("groups")) return 1u;
    LW_ASSIGN(const uint32_t groups, integer(node, "groups", 1, x.width()));
    if (x.width() % groups || (groups > 1 && x.dims.size() > 1))
        return Status::input(fmt::format("rows of {} do not divide into {} groups", text(x.dims), groups));
    return groups;
}

Expected<Type> infer_norm(const Node &node, std::span<const Type> in,
                          std::initializer_list<const char *> operands) {
    LW_TRY(count(in, 1 + operands.size()));
    LW_TRY(real(in[0]));
    if (node.number("eps") < 0)
        return Status::input(fmt::format("attribute eps expected 0 or more, found {}", node.number("eps")));
    size_t input = 1;
    for (const char *name : operands) LW_TRY(vector(in[input++], name, in[0].width()));
    LW_TRY(norm_groups(node, in[0]).status());
    return in[0];
}

Status norm_kernel(KernelCall &call, const std::string &kind) {
    const Type &x = call.type(0);
    call.kernel("norm");
    call.param("kind", kind);
    call.param("channels", x.dims.back());
    call.param("copies", x.width() / x.dims.back());
    LW_ASSIGN(const uint32_t groups, norm_groups(call.node, x));
    if (groups > 1) call.param("groups", groups);
    call.param("rows", call.rows());
    call.param("eps", call.node.has("eps") ? call.node.number("eps") : 0.0);
    call.read_rows(0);
    for (size_t i = 1; i < call.node.inputs.size(); ++i) {
        const Numbers &values = call.constant(i);
        const bool scalar = values.size() == 1; // transposed: m and s
        call.weight("norm." + std::to_string(i),
                    scalar ? std::vector<float>{static_cast<float>(values[0])} : x.packed(values));
    }
    call.write();
    return Status::ok();
}

} // namespace longwave::ir::rules
