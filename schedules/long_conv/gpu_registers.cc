// long_conv_registers: a long convolution of a complete sequence, causal or two-sided (the spectrum
// decides), in one dispatch. The threads keep their points in registers, which no schedule of
// Halide can say: gpu/long_conv.cc writes the kernel out. This file declares its arguments and
// hands over the epilogue.
//
// What it moves: u once per copy, y once and the spectrum once. A thread reads its part of the
// spectrum in order, 16 bytes at a time. From 2,048 rows on few channels fit into a workgroup, which
// then reads a part of each sector of 32 bytes. Rows that lie channel by channel are read whole.
#include "schedules/contract/kernels/long_conv_gpu.h"
#include "schedules/contract/register_transform.h"
#include "schedules/gpu/long_conv.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"
#include "schedules/halide/written_epilogue.h"

namespace longwave::schedules {

using namespace Halide;

static void build_long_conv_registers(KernelBuilder &k, const contract::LongConvRegisters &p) {
    const int length = p.length, rows = p.rows, copies = p.copies, channels = p.channels;
    const auto a = contract::names_of<contract::LongConvRegisters>();
    const auto row = static_cast<int>(pad(extent(channels)));
    k.params.require(rows <= length, "'rows' must not exceed length");
    const bool channel_major = k.asks_channel_major();
    std::optional<RegisterForm> form = register_form(
        extent(length), channel_major ? 1 : extent(row == 1 ? copies : row), limits_of(k.target));
    k.params.require(form.has_value(),
                     "'length' must be 1, 3, 5 or 15 times a power of two, from 256 to 8192, that fits " +
                         k.target.name);
    // Half of the shared memory for twice the barriers: a device may then run more workgroups at once.
    if (k.variant(form->planes) == 1) form->planes = 1;
    const int tiles = (row == 1 ? copies : row) / static_cast<int>(form->lanes);
    k.params.require(int64_t{tiles} * static_cast<int>(form->lanes) * (row == 1 ? 1 : copies) * length <
                         int64_t{1} << 29,
                     "the points of all channels must be less than 2^29");

    k.input(a.u, dense({row, rows}));
    k.weight(a.spectrum,
             dense({4, static_cast<int>(form->threads()),
                    static_cast<int>(form->slots(form->last_pass()) / 2), row == 1 ? 1 : copies, tiles}));
    k.weight(a.roots, dense({4, static_cast<int>(zeros_of_roots(form->radices)) + 1}));
    const Shape y_shape = dense({row, copies, rows});
    const KernelBuilder::Epilogue epilogue = k.epilogue(y_shape, channels);
    Var c("c"), m("m"), t("t");
    Func y("y");
    y(c, m, t) = 0.0f; // the type: the kernel below computes the values
    k.output(y, a.y, y_shape);
    if (row > 1 && rows % sector_channels == 0)
        k.allow_channel_major_with_operands({a.u.text, a.y.text},
                                            sectors_of_rows(static_cast<int>(form->lanes)));

    k.written = [&k, form = *form, epilogue, y_shape, rows, row, copies, channel_major] {
        const gpu::DeclareFinish finish = [&](gpu::Program &program) -> gpu::Finish {
            const WrittenEpilogue finished = declare_epilogue(program, k, epilogue, y_shape);
            return [finished](const gpu::Float &sum, const gpu::ResultPlace &at) {
                return finished(sum, {at.channel, at.copy, at.row});
            };
        };
        return gpu::long_conv(form, {extent(rows), extent(row), extent(copies), channel_major}, finish);
    };
}

static const GpuSchedule<contract::LongConvRegisters> long_conv_registers{build_long_conv_registers,
                                                                          Fp16::inputs_and_outputs};

} // namespace longwave::schedules
