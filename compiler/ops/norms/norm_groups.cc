#include "compiler/ops/norms/norm_groups.h"
#include "compiler/ir/kernel_call.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/norms.h"

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
    LW_ASSIGN(const uint32_t groups, norm_groups(call.node, x));
    const contract::Norm norm{.kind = kind,
                              .channels = x.dims.back(),
                              .copies = x.width() / x.dims.back(),
                              .rows = call.rows(),
                              .eps = call.node.has("eps") ? call.node.number("eps") : 0.0,
                              .groups = groups};
    const bool scalars = norm.kind.is<"transposed">();
    // m and s of a transposed norm are one number each.
    const auto numbers = [&](size_t input) -> Given::Weight {
        if (input >= call.node.inputs.size()) return {};
        const Numbers &values = call.constant(input);
        return call.packed("norm." + std::to_string(input),
                           scalars ? std::vector<float>{static_cast<float>(values[0])} : x.packed(values));
    };
    const Place rows = call.rows_of(0);
    const Given::Weight first = numbers(1), second = numbers(2);
    if (scalars) call.kernel(norm, {.x = rows, .m = first, .s = second, .y = call.result_rows()});
    else call.kernel(norm, {.x = rows, .weight = first, .bias = second, .y = call.result_rows()});
    return Status::ok();
}

} // namespace longwave::ir::rules
