#include "compiler/ops/recurrent/gates.h"
#include <algorithm>

namespace longwave::ir::gates {

namespace {

// Calls of a run that a scalar of the kernel can count.
constexpr uint64_t most_calls = 1 << 24;

Place cleared(KernelCall &call, const char *name, const std::vector<uint32_t> &dims) {
    const Place place = call.memory(name, Elem::f32, dims, KernelCall::Life::call);
    Step clear{.kind = Step::Kind::zero,
               .name = fmt::format("{} {} clear", call.node.layer, name),
               .layer = call.node.layer};
    clear.bytes = compiler::bytes_of(Elem::f32, dims);
    clear.args.emplace_back(place);
    call.also(std::move(clear), 0);
    return place;
}

// What is in memory of one call.
std::vector<uint32_t> dims_of_call(const KernelCall &call) {
    std::vector<uint32_t> dims = state_dims(call.result());
    if (goes_over_bands(call.node)) dims.erase(dims.begin(), dims.end() - 1);
    return dims;
}

// State number `state` of the constant input, as the kernel reads it. Without dims if the node has no such
// input, or if all are zeros.
Packed initial_state(const KernelCall &call, size_t input, size_t state) {
    if (call.node.inputs.size() <= input) return {};
    const Type &result = call.result();
    const size_t units = result.dims.back(), width = schedules::pad(result.dims.back());
    const Numbers &given = call.constant(input);
    std::vector<float> numbers(bands_of(result) * width, 0.f);
    for (size_t i = 0; i < result.width(); ++i)
        numbers[i / units * width + i % units] = static_cast<float>(given[state * result.width() + i]);
    if (std::all_of(numbers.begin(), numbers.end(), [](float value) { return value == 0; })) return {};
    return Packed::f32(state_dims(result), std::move(numbers));
}

} // namespace

bool goes_over_bands(const Node &node) {
    return node.has(over_bands.name) && node.integer(over_bands.name) != 0;
}

uint32_t bands_of(const Type &type) { return type.dims.size() == 2 ? type.dims[0] : 1; }

std::vector<uint32_t> state_dims(const Type &result) {
    const uint32_t width = schedules::pad(result.dims.back());
    return result.dims.size() == 2 ? std::vector{result.dims[0], width} : std::vector{width};
}

Expected<Type> infer(const Node &node, std::span<const Type> in, uint32_t gates, size_t initial,
                     uint32_t states) {
    if (node.has(over_bands.name)) LW_TRY(rules::flag(node, over_bands.name).status());
    if (in.size() != initial + 1) LW_TRY(rules::count(in, initial));
    LW_TRY(rules::real(in[0]));
    LW_TRY(rules::timed(in[0]));
    if (in[0].dims.size() != 2) LW_TRY(rules::rank(in[0], 1));
    const uint32_t row = in[0].dims.back(), units = row / gates;
    if (row % gates || units > widest)
        return Status::input(fmt::format("expected rows of {} gates with 1 to {} units each, found {}", gates,
                                         widest, rules::text(in[0].dims)));
    if (in[0].dims.size() == 2 && units == 1)
        return Status::input("expected at least 2 units for bands, found 1: add one with weights of zero");
    LW_TRY(rules::operand(in[1], "weight", {gates * units, units}));
    Type type = in[0];
    type.dims.back() = units;
    if (in.size() <= initial) return type;
    if (goes_over_bands(node))
        return Status::input(
            "a recurrence over bands begins with zeros in each row: leave out the initial state");
    std::vector<uint32_t> dims = type.dims;
    if (states > 1) dims.insert(dims.begin(), states);
    LW_TRY(rules::operand(in[initial], "initial", dims));
    return type;
}

void add_product(const Operand &w, size_t row0, const std::vector<double> &h, std::vector<double> &y) {
    for (size_t i = 0; i < y.size(); ++i)
        for (size_t k = 0; k < h.size(); ++k) y[i] += w.data[(row0 + i) * h.size() + k] * h[k];
}

Expected<Row> plan_row(KernelCall &call, uint32_t gates) {
    const uint32_t units = call.result().dims.back(), width = schedules::pad(units),
                   panel = std::min(width, schedules::lanes), bands = bands_of(call.result());
    std::vector<float> weight(size_t{units} * gates * width, 0.f);
    const Numbers &w = call.constant(1);
    for (size_t k = 0; k < units; ++k)
        for (size_t g = 0; g < gates; ++g)
            for (size_t i = 0; i < units; ++i)
                weight[((i / panel * units + k) * gates + g) * panel + i % panel] =
                    static_cast<float>(w[(g * units + i) * units + k]);
    Row row{.units = units, .bands = bands};
    if (goes_over_bands(call.node)) {
        const uint64_t calls = uint64_t{call.all_rows()} * bands;
        if (calls > most_calls)
            return Status::input(
                fmt::format("{} rows of {} bands in one run are too many for a recurrence over bands, "
                            "expected at most {} bands of all rows",
                            call.all_rows(), bands, most_calls));
        call.ordered_parts(bands);
        row.bands = 1, row.restart = bands;
        row.place = Scalar{.kind = Scalar::Kind::slot, .tile_mul = calls > 1 ? 1 : 0};
    } else {
        call.ordered_tiles(1);
        call.serves_streams();
    }
    std::vector<uint32_t> dims = dims_of_call(call);
    dims.insert(dims.end() - 1, gates);
    row.x = call.rows_of(0);
    row.weight = call.packed("weight", Packed::f32({width / panel, units, gates, panel}, weight));
    row.y = call.result_rows();
    // The rows of a call share the memory in turn, so the kernel updates it.
    row.gates = cleared(call, "gates", dims);
    return row;
}

Place state(KernelCall &call, const char *name, size_t number, size_t initial) {
    if (goes_over_bands(call.node)) return cleared(call, name, dims_of_call(call));
    return call.state(name, initial_state(call, initial, number));
}

} // namespace longwave::ir::gates
