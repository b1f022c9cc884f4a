#include "schedules/linear/gpu_product.h"
#include "schedules/halide/expression.h"
#include "schedules/pointwise/elementary.h"
#include "schedules/spirv/matrix_product.h"
#include "schedules/spirv/matrix_vector.h"

namespace longwave::schedules {

using namespace Halide;

namespace {

// The epilogue, of four outputs at once: its operands are read in fours.
gpu::DeclareFinishFours finish_of(const KernelBuilder &k, const Product &p, const Expr &result) {
    return [&k, &p, result](gpu::Program &program) -> gpu::FinishFours {
        std::map<std::string, gpu::Memory> memory;
        for (const ImageParam &buffer : k.buffers())
            if (const std::string &name = buffer.name();
                name != "x" && name != "w" && name != "scale" && name != "bias")
                memory[name] = program.buffer(name, 4, gpu::Access::read);
        const auto fours = extent(p.width() / 4);
        return [&program, memory, result, fours](const gpu::Four &values, const std::optional<gpu::Four> &gates,
                                                 const gpu::FourPlace &place) {
            std::map<std::string, gpu::Four> read;
            gpu::Four made;
            for (uint32_t i = 0; i < 4; i++) {
                const auto operand = [&](const std::string &name, const std::vector<gpu::Uint> &at) {
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
    const gpu::ProductSizes sizes{.rows = extent(p.rows),
                                  .in = extent(p.in),
                                  .in_row = extent(p.in_row),
                                  .first = extent(p.first),
                                  .blocks = extent(p.blocks),
                                  .bias = p.has_bias,
                                  .panels = p.panels};
    const gpu::WorkgroupSizes limits{extent(k.target.shared_bytes), extent(k.target.threads)};
    const std::optional<gpu::VectorSlices> slices = gpu::vector_slices(sizes, limits);
    const std::optional<gpu::ProductTile> tile = gpu::product_tile(sizes, limits);
    if (!slices && !tile) return false;
    const Shape shape = p.y_shape();
    Var o("o"), r("r");
    const Param<float> value("value"), gate("gate");
    const Expr result = k.epilogue(shape, p.out)(p.halves == 2 ? value * sigmoid(gate) : Expr(value), {o, r});
    Func y("y");
    y(o, r) = 0.0f; // the type: the kernel below computes the values
    k.output(y, shape);
    k.written = [&k, p, sizes, slices, tile, result] {
        const gpu::DeclareFinishFours finish = finish_of(k, p, result);
        return slices ? gpu::matrix_vector(sizes, *slices, finish) : gpu::matrix_product(sizes, *tile, finish);
    };
    return true;
}

} // namespace longwave::schedules
