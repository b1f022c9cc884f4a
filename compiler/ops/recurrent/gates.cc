#include "compiler/ops/recurrent/gates.h"
#include <algorithm>

namespace longwave::ir::gates {

Expected<Type> infer(std::span<const Type> in, uint32_t gates) {
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    LW_TRY(rules::rank(in[0], 1));
    const uint32_t units = in[0].dims[0] / gates;
    if (in[0].dims[0] % gates || units > widest)
        return Status::input(fmt::format("expected rows of {} gates with 1 to {} units each, found {}", gates, widest,
                                         rules::text(in[0].dims)));
    LW_TRY(rules::operand(in[1], "weight", {gates * units, units}));
    Type type = in[0];
    type.dims = {units};
    return type;
}

void add_product(const Operand &w, size_t row0, const std::vector<double> &h, std::vector<double> &y) {
    for (size_t i = 0; i < y.size(); ++i)
        for (size_t k = 0; k < h.size(); ++k) y[i] += w.data[(row0 + i) * h.size() + k] * h[k];
}

void plan_row(KernelCall &call, const char *kernel, uint32_t gates) {
    const uint32_t units = call.result().width(), width = schedules::pad(units);
    std::vector<float> weight(size_t{units} * gates * width, 0.f);
    const Numbers &w = call.constant(1);
    for (size_t k = 0; k < units; ++k)
        for (size_t g = 0; g < gates; ++g)
            for (size_t i = 0; i < units; ++i)
                weight[(k * gates + g) * width + i] = static_cast<float>(w[(g * units + i) * units + k]);
    call.kernel(kernel);
    call.ordered_tiles(1);
    call.param("streams", int64_t{1});
    call.param("units", units);
    call.read_rows(0);
    call.weight("weight", Packed::f32({units, gates, width}, weight));
}

Place memory(KernelCall &call, uint32_t gates) {
    const std::vector<uint32_t> dims{gates, schedules::pad(call.result().width())};
    const Place place = call.memory("gates", Elem::f32, dims, KernelCall::Life::call);
    Step clear{.kind = Step::Kind::zero, .name = call.node.layer + " gates clear", .layer = call.node.layer};
    clear.bytes = compiler::bytes_of(Elem::f32, dims);
    clear.args.emplace_back(place);
    call.also(std::move(clear), 0);
    return place;
}

Packed initial(const KernelCall &call, size_t input, size_t row) {
    if (call.node.inputs.size() <= input) return {};
    const uint32_t units = call.result().width(), width = schedules::pad(units);
    const Numbers &given = call.constant(input);
    std::vector<float> state(width, 0.f);
    for (size_t i = 0; i < units; ++i) state[i] = static_cast<float>(given[row * units + i]);
    if (std::all_of(state.begin(), state.end(), [](float value) { return value == 0; })) return {};
    return Packed::f32({width}, std::move(state));
}

} // namespace longwave::ir::gates
