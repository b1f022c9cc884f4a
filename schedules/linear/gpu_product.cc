#include "schedules/linear/gpu_product.h"
#include "schedules/halide/expression.h"
#include "schedules/pointwise/elementary.h"
#include "schedules/spirv/matrix_product.h"
#include "schedules/spirv/matrix_vector.h"
#include <algorithm>

namespace longwave::schedules {

using namespace Halide;

namespace {

// The epilogue, of four outputs at once: its operands are read in fours.
gpu::DeclareFinishFours finish_of(const KernelBuilder &k, const Product &p, const Expr &result) {
    return [&k, &p, result](gpu::Program &program) -> gpu::FinishFours {
        std::map<std::string, gpu::Memory> memory;
        for (const ImageParam &operand : k.operands()) {
            const std::string &name = operand.name();
            memory[name] = program.buffer(name, k.is_channel_major(name) ? 1 : 4, gpu::Access::read);
        }
        const uint32_t fours = extent(p.width() / 4), rows = extent(p.rows);
        return [&k, &program, memory, result, fours, rows](const gpu::Four &values,
                                                           const std::optional<gpu::Four> &gates,
                                                           const gpu::FourPlace &place) {
            std::map<std::string, gpu::Four> read;
            gpu::Four made;
            for (uint32_t i = 0; i < 4; i++) {
                const auto operand = [&](const std::string &name, const std::vector<gpu::Uint> &at) {
                    if (k.is_channel_major(name))
                        return program.load(memory.at(name), (place.four * 4 + i) * rows + place.row);
                    if (!read.contains(name))
                        read[name] = program.load_four(
                            memory.at(name), at.size() > 1 ? place.row * fours + place.four : place.four);
                    return read[name][i];
                };
                ExpressionScope scope{
                    {{"o", place.four * 4 + i}, {"r", place.row}}, {{"value", values[i]}}, operand};
                if (gates) scope.real["gate"] = (*gates)[i];
                made[i] = written_value(program, result, scope);
            }
            return made;
        };
    };
}

} // namespace

bool product_in_registers(KernelBuilder &k, const Product &p) {
    gpu::ProductSizes sizes{.rows = extent(p.rows),
                            .in = extent(p.in),
                            .in_row = extent(p.in_row),
                            .first = extent(p.first),
                            .blocks = extent(p.blocks),
                            .bias = p.has_bias,
                            .panels = p.panels};
    sizes.along_rows = k.asks_channel_major(); // any argument; of which is known when all are declared
    const WorkgroupLimits limits = limits_of(k.target);
    const std::vector<gpu::ProductTile> tiles = gpu::product_tiles(sizes, limits);
    const std::vector<gpu::VectorSlices> slices = gpu::vector_slices(sizes, limits);
    if (slices.empty() && tiles.empty()) return false;
    const size_t variant = k.variant(slices.empty() ? tiles.size() : slices.size());
    const Shape shape = p.y_shape();
    Var o("o"), r("r");
    const Param<float> value("value"), gate("gate");
    const Expr result = k.epilogue(shape, p.out)(p.halves == 2 ? value * sigmoid(gate) : Expr(value), {o, r});
    Func y("y");
    y(o, r) = 0.0f; // the type: the kernel below computes the values
    k.output(y, p.a.y, shape);
    if (slices.empty()) { // threads bring x row by row or channel by channel, whatever y is
        k.allow_channel_major({p.a.x.text});
        k.allow_channel_major({y.name()});
        for (const std::string &operand : k.row_operands()) k.allow_channel_major({operand});
    }
    const auto lies_so = [&](const std::string &name) { return k.is_channel_major(name); };
    sizes.x_channel_major = lies_so(p.a.x.text);
    sizes.y_channel_major = lies_so(y.name());
    sizes.along_rows = sizes.y_channel_major || std::ranges::any_of(k.row_operands(), lies_so);
    k.written = [&k, p, sizes, slices, tiles, variant, result] {
        const gpu::DeclareFinishFours finish = finish_of(k, p, result);
        return slices.empty() ? gpu::matrix_product(sizes, tiles[variant], finish)
                              : gpu::matrix_vector(sizes, slices[variant], finish);
    };
    return true;
}

} // namespace longwave::schedules
