#include "compiler/ops/transforms/four_step_registers.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/long_conv_gpu.h"

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
    const auto points = [&](const char *name, uint32_t kernels) {
        return call.memory(name, Elem::f32, {2, length, kernels, row}, KernelCall::Life::call);
    };
    const auto columns_of = [&](size_t input, const char *name) {
        // The kernels of copies share them. Of a single channel the copies are lanes later on.
        const Place columns = points(name, 1);
        call.also(dispatch_step<contract::FourStepColumns>(
                      call, {.length = length, .rows = rows, .channels = channels},
                      {.u = call.rows_at(input), .roots = roots, .points = columns}),
                  0);
        return columns;
    };
    const Place columns = columns_of(0, "points");
    const bool adaptive = circular && circular->made;
    const Given::Input made =
        adaptive ? Given::Input(columns_of(*circular->made, "points of the kernel")) : Given::Input();
    const Place products = points("products", copies);
    call.also(dispatch_step<contract::FourStepRows>(
                  call,
                  {.length = length,
                   .copies = copies,
                   .channels = channels,
                   .adaptive = adaptive,
                   .scale = adaptive ? circular->scale : 0.0},
                  {.points = columns,
                   .made = made,
                   .spectrum = spectrum_by_threads(call, SpectrumOrder(form), channels, copies, spectrum),
                   .roots = roots,
                   .products = products}),
              0);
    call.kernel<contract::FourStepColumnsBack>(
        {.length = length,
         .rows = rows,
         .copies = copies,
         .channels = channels,
         .circular = circular.has_value()},
        {.products = products, .roots = roots, .y = call.result_rows()});
}

} // namespace longwave::ir
