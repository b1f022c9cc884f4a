// circular_conv_registers: circular_conv of a power of two of rows in one dispatch, whose threads keep
// their points in registers (spirv/long_conv.h), and those of the kernel where the run makes it. This
// file declares the arguments and hands over the epilogue.
#include "schedules/contract/register_transform.h"
#include "schedules/halide/expression.h"
#include "schedules/halide/registry.h"
#include "schedules/spirv/long_conv.h"

namespace longwave::schedules {

using namespace Halide;

static void build_circular_conv_registers(KernelBuilder &k) {
    const int length = k.params.integer("length", 4, 1 << 22),
              channels = k.params.integer("channels", 1, 1 << 20);
    const bool adaptive = k.params.flag_or("adaptive", false);
    const auto scale = static_cast<float>(k.params.real("scale", 0, 1e30));
    k.params.require(adaptive == (scale > 0), "'scale' is that of h, which 'adaptive' declares");
    const auto row = static_cast<int>(pad(extent(channels)));
    const std::optional<RegisterForm> form =
        register_form(extent(length), extent(row), {extent(k.target.shared_bytes), extent(k.target.threads)});
    k.params.require(form.has_value(),
                     "'length' must be a power of two from 256 to 8192 that fits " + k.target.name);

    const Shape shape = dense({row, length});
    k.input("u", shape);
    if (adaptive) k.input("h", shape);
    k.weight("fixed", dense({4, static_cast<int>(form->threads()), static_cast<int>(form->points / 2),
                             row / static_cast<int>(form->lanes)}));
    k.weight("roots", dense({4, static_cast<int>(zeros_of_roots(*form)) + 1}));
    const KernelBuilder::Epilogue epilogue = k.epilogue(shape, channels);
    Var c("c"), t("t");
    Func y("y");
    y(c, t) = 0.0f; // the type: the kernel below computes the values
    k.output(y, shape);

    k.written = [&k, form = *form, epilogue, length, row, scale] {
        const gpu::DeclareFinish finish = [&](gpu::Program &program) -> gpu::Finish {
            std::map<std::string, gpu::Memory> memory;
            for (const ImageParam &buffer : k.buffers())
                if (const std::string &name = buffer.name();
                    name != "u" && name != "h" && name != "fixed" && name != "roots")
                    memory[name] = program.buffer(name, 1, gpu::Access::read);
            const auto read = [&program, memory, row](const std::string &name,
                                                      const std::vector<gpu::Uint> &at) {
                return program.load(memory.at(name), at.size() < 2 ? at[0] : at[0] + at[1] * extent(row));
            };
            const Var channel("channel"), at_row("row");
            const Param<float> sum("sum");
            const Expr value = epilogue(Expr(sum), {Expr(channel), Expr(at_row)});
            return [&program, value, read](const gpu::Float &of, const gpu::ResultPlace &at) {
                return written_value(program, value,
                                     {{{"channel", at.channel}, {"row", at.row}}, {{"sum", of}}, read});
            };
        };
        return gpu::long_conv(
            form, {.rows = extent(length), .row = extent(row), .circular = true, .scale_of_h = scale},
            finish);
    };
}

static const GpuSchedule circular_conv_registers{"circular_conv_registers", build_circular_conv_registers,
                                                 Fp16::inputs_and_outputs};

} // namespace longwave::schedules
