// circular_conv_registers: circular_conv in one dispatch, whose threads keep their points in registers
// (spirv/long_conv.h), and those of the kernel where the run makes it. This file declares the arguments
// and hands over the epilogue.
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/register_transform.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"
#include "schedules/spirv/long_conv.h"

namespace longwave::schedules {

using namespace Halide;

static void build_circular_conv_registers(KernelBuilder &k, const contract::CircularConvRegisters &p) {
    const auto a = contract::names_of<contract::CircularConvRegisters>();
    const int length = p.length, channels = p.channels;
    const bool adaptive = p.adaptive;
    const float scale = p.scale;
    k.params.require(adaptive == (scale > 0), "'scale' is that of h, which 'adaptive' declares");
    const auto row = static_cast<int>(pad(extent(channels)));
    const bool channel_major = k.asks_channel_major();
    std::optional<RegisterForm> form =
        register_form(extent(length), channel_major ? 1 : extent(row), limits_of(k.target));
    k.params.require(form.has_value(),
                     "'length' must be 1, 3, 5 or 15 times a power of two, from 256 to 8192, that fits " +
                         k.target.name);
    if (k.variant(form->planes) == 1) form->planes = 1; // as in long_conv_registers

    const Shape shape = dense({row, length});
    k.input(a.u, shape);
    if (adaptive) k.input(a.h, shape);
    k.weight(a.fixed, dense({4, static_cast<int>(form->threads()),
                             static_cast<int>(form->slots(form->last_pass()) / 2),
                             row / static_cast<int>(form->lanes)}));
    k.weight(a.roots, dense({4, static_cast<int>(zeros_of_roots(form->radices)) + 1}));
    const KernelBuilder::Epilogue epilogue = k.epilogue(shape, channels);
    Var c("c"), t("t");
    Func y("y");
    y(c, t) = 0.0f; // the type: the kernel below computes the values
    k.output(y, a.y, shape);
    if (row > 1) {
        std::vector<std::string> together{a.u.text, y.name()};
        if (adaptive) together.emplace_back(a.h.text);
        k.allow_channel_major_with_operands(together, sectors_of_rows(static_cast<int>(form->lanes)));
    }

    k.written = [&k, form = *form, epilogue, shape, length, row, scale, channel_major] {
        const gpu::DeclareFinish finish = [&](gpu::Program &program) -> gpu::Finish {
            const WrittenEpilogue finished = declare_epilogue(program, k, epilogue, shape);
            return [finished](const gpu::Float &sum, const gpu::ResultPlace &at) {
                return finished(sum, {at.channel, at.row});
            };
        };
        return gpu::long_conv(form,
                              {.rows = extent(length),
                               .row = extent(row),
                               .channel_major = channel_major,
                               .circular = true,
                               .scale_of_h = scale},
                              finish);
    };
}

static const GpuSchedule<contract::CircularConvRegisters> circular_conv_registers{
    build_circular_conv_registers, Fp16::inputs_and_outputs};

} // namespace longwave::schedules
