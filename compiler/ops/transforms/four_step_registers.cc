#include "compiler/ops/transforms/four_step_registers.h"
#include "schedules/contract/kernel.h"

namespace longwave::ir {

std::optional<RegisterFourStep> RegisterFourStep::of(const PlanContext &context, uint32_t channels,
                                                     uint32_t copies, uint32_t rows, uint32_t length) {
    if (!context.device.has_any_of(devices::gpu_kernels)) return std::nullopt;
    const uint32_t row = schedules::pad(channels);
    if (!FourStep::refused_points(length, row, copies).empty()) return std::nullopt;
    const auto form = schedules::four_step_form(length, row == 1 ? copies : row,
                                                schedules::limits_of(*context.device.target));
    if (!form) return std::nullopt;
    return RegisterFourStep{channels, copies, rows, *form};
}

void RegisterFourStep::plan(KernelCall &call, const std::function<Place()> &spectrum,
                            const std::optional<FourStep::Circular> &circular) const {
    call.one_call();
    const uint32_t length = form.length(), row = schedules::pad(channels);
    const Place roots = register_roots(call, form.radices());
    const Attributes common = {{"length", int64_t{length}}, {"channels", int64_t{channels}}},
                     of_rows = {{"rows", int64_t{rows}}}, of_copies = {{"copies", int64_t{copies}}};
    const auto points = [&](const char *name, uint32_t kernels) {
        return call.memory(name, Elem::f32, {2, length, kernels, row}, KernelCall::Life::call);
    };
    const auto dispatch = [&](const char *kernel, Attributes params, std::vector<compiler::Argument> args) {
        params.insert(common.begin(), common.end());
        call.also(dispatch_step(call, kernel, params, std::move(args)), 0);
    };
    const auto columns_of = [&](size_t input, const char *name) {
        // The kernels of copies share them. Of a single channel the copies are lanes later on.
        const Place columns = points(name, 1);
        dispatch("four_step_columns", of_rows, {call.rows_at(input), roots, columns});
        return columns;
    };
    Attributes params = of_copies;
    std::vector<compiler::Argument> args{columns_of(0, "points")};
    if (circular && circular->made) {
        args.emplace_back(columns_of(*circular->made, "points of the kernel"));
        params.insert({{"adaptive", int64_t{1}}, {"scale", circular->scale}});
    }
    const Place products = points("products", copies);
    for (const Place &place :
         {spectrum_by_threads(call, SpectrumOrder(form), channels, copies, spectrum), roots, products})
        args.emplace_back(place);
    dispatch("four_step_rows", params, std::move(args));
    call.kernel("four_step_columns_back");
    for (const Attributes &some : {common, of_rows, of_copies})
        for (const auto &[name, value] : some) call.param(name, value);
    if (circular) call.param("circular", int64_t{1});
    call.input(products);
    call.weight(roots);
    call.write();
}

} // namespace longwave::ir
