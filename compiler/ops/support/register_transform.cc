#include "compiler/ops/support/register_transform.h"
#include "schedules/contract/kernel.h"
#include <fmt/format.h>

namespace longwave::ir {

std::optional<schedules::RegisterForm> register_form(const PlanContext &context, uint32_t length,
                                                     uint32_t lanes) {
    return schedules::register_form(length, lanes, schedules::limits_of(*context.device.target));
}

Place spectrum_by_threads(KernelCall &call, const schedules::RegisterForm &form, uint32_t channels,
                          uint32_t copies, const std::function<Place()> &spectrum) {
    const uint32_t lanes = channels == 1 ? copies : schedules::pad(channels);
    bool fresh = false;
    const Place made = call.derived(
        fmt::format("{}.k spectrum {} by threads of {}", call.node.layer, form.length, form.lanes), Elem::f32,
        {lanes / form.lanes, channels == 1 ? 1 : copies, form.points / 2, form.threads(), 4}, &fresh);
    if (!fresh) return made;
    Place from = spectrum();
    from.tile_bytes = 0;
    Step step{.name = call.node.layer + " spectrum by threads", .layer = call.node.layer};
    step.spec = kernel_spec("spectrum_by_threads", {{"length", int64_t{form.length}},
                                                    {"copies", int64_t{copies}},
                                                    {"channels", int64_t{channels}},
                                                    {"points", int64_t{form.points}},
                                                    {"lanes", int64_t{form.lanes}}});
    step.args = {from,
                 call.stored("order", Packed::of(Elem::i32, {form.points, form.workers()},
                                                 schedules::register_spectrum_order(form))),
                 made};
    call.prepare(std::move(step));
    return made;
}

void register_roots(KernelCall &call, const schedules::RegisterForm &form) {
    const std::vector<float> roots = schedules::register_roots(form.radices);
    call.weight("roots", Packed::f32({static_cast<uint32_t>(roots.size() / 4), 4}, roots));
}

} // namespace longwave::ir
