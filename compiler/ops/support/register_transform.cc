#include "compiler/ops/support/register_transform.h"
#include "schedules/contract/kernel.h"
#include "schedules/contract/kernels/transforms.h"
#include <fmt/format.h>

namespace longwave::ir {

std::optional<schedules::RegisterForm> register_form(const PlanContext &context, uint32_t length,
                                                     uint32_t lanes) {
    return schedules::register_form(length, lanes, schedules::limits_of(*context.device.target));
}

SpectrumOrder::SpectrumOrder(const schedules::RegisterForm &form)
    : length(form.length), slots(form.slots(form.last_pass())), workers(form.workers()), lanes(form.lanes),
      places([form] { return schedules::register_spectrum_order(form, form.radices); }) {}

SpectrumOrder::SpectrumOrder(const schedules::FourStepForm &form)
    : length(form.length()), slots(form.rows.slots(form.rows.last_pass()) * form.columns.length),
      workers(form.rows.workers()), lanes(form.rows.lanes),
      places([form] { return schedules::register_spectrum_order(form.rows, form.radices()); }) {}

Place spectrum_by_threads(KernelCall &call, const SpectrumOrder &order, uint32_t channels, uint32_t copies,
                          const std::function<Place()> &spectrum) {
    const uint32_t row = channels == 1 ? copies : schedules::pad(channels);
    bool fresh = false;
    const Place made = call.derived(
        fmt::format("{}.k spectrum {} by threads of {} with {}", call.node.layer, order.length, order.lanes,
                    order.slots),
        Elem::f32,
        {row / order.lanes, channels == 1 ? 1 : copies, order.slots / 2, order.workers * order.lanes, 4},
        &fresh);
    if (!fresh) return made;
    Place from = spectrum();
    from.tile_bytes = 0;
    Step step{.name = call.node.layer + " spectrum by threads", .layer = call.node.layer};
    set_kernel<contract::SpectrumByThreads>(
        step,
        {.length = order.length,
         .copies = copies,
         .channels = channels,
         .slots = order.slots,
         .workers = order.workers,
         .lanes = order.lanes},
        {.spectrum = from,
         .order = call.stored("order", Packed::of(Elem::i32, {order.slots, order.workers}, order.places())),
         .by_threads = made});
    call.prepare(std::move(step));
    return made;
}

Place register_roots(KernelCall &call, const schedules::Radices &radices) {
    const std::vector<float> roots = schedules::register_roots(radices);
    return call.stored("roots", Packed::f32({static_cast<uint32_t>(roots.size() / 4), 4}, roots));
}

} // namespace longwave::ir
