// polyphase: offline runs as in right_angle, but vectorized over the phases of one channel at a
// time. Best for few channels, and for lengths at which sixteen channels side by side do not fit in
// a near cache.
#include "compiler/ops/long_conv/kernels.h"
#include "schedules/contract/kernels/long_conv.h"
#include "schedules/contract/kernels/transforms.h"
#include "schedules/contract/twiddles.h"
#include <fmt/format.h>

namespace longwave::compiler::convolution {
namespace {

// By length: a transform forward and back with lanes over phases, of one channel and of sixteen.
Expected<Row> measure(const Meter &meter, uint32_t length) {
    const Meter::Params params{{"length", length}, {"rows", length}};
    LW_ASSIGN(const double one, meter.element("long_conv_polyphase", params, length, 1, 1));
    LW_ASSIGN(const double tile, meter.element("long_conv_polyphase", params, length));
    return Row{double(length), costs::rounded(one), costs::rounded(tile)};
}

const CostTable phases_table{.key = "phases",
                             .columns = 3,
                             .points = {256, 1024, 4096, 16384, 65536, 262144, 1048576},
                             .measure = measure};
const CostTable *const tables[] = {&phases_table};

Estimate estimate(const PlanContext &context) {
    const Shape shape(context);
    const uint32_t length = schedules::polyphase_length(context.rows);
    const double idle = shape.tiles() > 1 ? double(shape.padded) / shape.channels : 1;
    Estimate estimate{.cost = idle * context.costs->at(phases_table, length, shape.channels > 1 ? 2 : 1) *
                              length / context.rows};
    estimate.decisions.put("taps", shape.taps);
    estimate.decisions.put("length", length);
    return estimate;
}

Place spectrum(KernelCall &call, const Shape &s, uint32_t length, const std::vector<double> &table) {
    const std::vector<uint32_t> tile = {std::min(s.channels, s.tile), s.lane_copies(), length, 2};
    std::vector<uint32_t> dims = tile;
    dims.insert(dims.begin(), s.tiles());
    bool fresh = false;
    Place place = call.derived(fmt::format("{}.k spectrum of {} by phases", call.node.layer, length),
                               Elem::f32, dims, &fresh);
    place.tile_bytes = bytes_of(Elem::f32, tile);
    if (!fresh) return place;
    TapsForSpectra taps = taps_for_spectra(call, s);
    taps.place.tile_bytes = s.tile * sizeof(float);
    Step step{.name = call.node.layer + " spectrum", .layer = call.node.layer, .tiles = s.tiles()};
    ir::set_kernel<ir::contract::SpectrumOfPhases>(
        step,
        {.length = length,
         .taps = s.taps,
         .copies = s.lane_copies(),
         .channels = s.channels,
         .stored_copies = s.copies,
         .two_sided = s.two_sided,
         .dense = taps.dense},
        {.k = taps.place,
         .twiddles = call.stored("twiddles of phases in float64",
                                 Packed::f64({static_cast<uint32_t>(table.size())}, table)),
         .spectrum = place});
    call.prepare(std::move(step));
    return place;
}

Status plan(KernelCall &call) { return plan_phases<contract::LongConvPolyphase>(call); }

} // namespace

PhasesPlaces phases_places(KernelCall &call, const Shape &shape, uint32_t length) {
    const std::vector<double> table = schedules::polyphase_twiddles(length);
    return {.spectrum = spectrum(call, shape, length, table),
            .twiddles = call.stored("twiddles of phases", Packed::f32({static_cast<uint32_t>(table.size())},
                                                                      {table.begin(), table.end()}))};
}

extern const ir::Algorithm polyphase;
const ir::Algorithm polyphase =
    offline_algorithm("polyphase", devices::cpu_kernels, estimate, no_demands, plan, tables);

} // namespace longwave::compiler::convolution
