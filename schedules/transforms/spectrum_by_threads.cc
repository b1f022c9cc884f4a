// The spectrum of a long convolution, from the order of the CPU's kernels to those of a GPU, once per
// model.
// spectrum_by_threads: to that of long_conv_registers and four_step_rows.
// spectrum_by_channel: to that of long_conv_fused whose rows lie channel by channel:
// [channel][copy][part][bin] (last_digit_first).
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include "schedules/halide/registry.h"

namespace longwave::schedules {

using namespace Halide;

static void build_spectrum_by_threads(KernelBuilder &k, const contract::SpectrumByThreads &p) {
    const auto a = contract::names_of<contract::SpectrumByThreads>();
    const int length = p.length, copies = p.copies, channels = p.channels, slots = p.slots,
              workers = p.workers, group = p.lanes;
    k.no_epilogue();
    const int row = static_cast<int>(pad(extent(channels))), tile = std::min(row, 16);
    // The copies of a single channel are the lanes.
    const int all = row == 1 ? copies : row, others = row == 1 ? 1 : copies;
    k.params.require(slots % 2 == 0, "'slots' must be even");
    k.params.require(all % group == 0, "'lanes' must divide the lanes of a row");
    const ImageParam by_position = k.input(a.spectrum, dense({tile, 2, length, copies, row / tile}));
    const ImageParam order = k.weight(a.order, dense({workers, slots}), Int(32));

    Var e("e"), thread("thread"), pair("pair"), m("m"), g("g");
    Func y("by_threads");
    const Expr lane = g * group + thread % group;
    const Expr place = clamp(order(thread / group, pair * 2 + e / 2), 0, length - 1);
    y(e, thread, pair, m, g) = row == 1 ? by_position(0, e % 2, place, lane, 0)
                                        : by_position(lane % tile, e % 2, place, m, lane / tile);
    y.bound(e, 0, 4).unroll(e);
    k.output(y, a.by_threads, dense({4, workers * group, slots / 2, others, all / group}));
}

static void build_spectrum_by_channel(KernelBuilder &k, const contract::SpectrumByChannel &p) {
    const auto a = contract::names_of<contract::SpectrumByChannel>();
    const int length = p.length, copies = p.copies, channels = p.channels;
    k.no_epilogue();
    const std::vector<int> radices = right_angle_radices(extent(length));
    k.params.require(!radices.empty(), "'length' must be a product of 2, 3 and 5");
    const int row = static_cast<int>(pad(extent(channels))), tile = std::min(row, 16), last = radices.back();
    const ImageParam by_position = k.input(a.spectrum, dense({tile, 2, length, copies, row / tile}));
    Var bin("bin"), part("part"), m("m"), c("c");
    Func y("by_channel");
    y(bin, part, m, c) =
        by_position(c % tile, part, last_digit_first(Expr(bin), length, length / last), m, c / tile);
    k.output(y, a.by_channel, dense({length, 2, copies, row}));
}

static const Kernel<contract::SpectrumByChannel> spectrum_by_channel{build_spectrum_by_channel};
static const Kernel<contract::SpectrumByThreads> spectrum_by_threads{build_spectrum_by_threads};

} // namespace longwave::schedules
