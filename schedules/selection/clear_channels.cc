// clear_channels: rows behind the end of a sequence become zero, where memory holds them channel by
// channel. Rows that lie one after the other need no kernel for that.
#include "schedules/contract/kernels/selection.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/threads.h"

namespace longwave::schedules {

using namespace Halide;

static void build_clear_channels(KernelBuilder &k, const contract::ClearChannels &p) {
    const int width = p.width, rows = p.rows;
    const auto a = contract::names_of<contract::ClearChannels>();
    const Expr used = k.scalar(a.first, rows);
    k.no_epilogue();

    // THE ALGORITHM
    Var r("r"), c("c");
    RDom all({{0, rows}, {0, width}}, "all");
    all.where(all.x >= used);
    Func x("x");
    x(r, c) = undef<float>();
    x(all.x, all.y) = 0.0f;

    // THE SCHEDULE
    spread(x.update(), {all.x, all.y}, {rows, width});
    k.in_place(x, a.x, dense({rows, width}));
}

static const GpuSchedule<contract::ClearChannels> clear_channels{build_clear_channels, Fp16::none};

} // namespace longwave::schedules
