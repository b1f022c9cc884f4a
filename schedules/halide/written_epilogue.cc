#include "schedules/halide/written_epilogue.h"
#include "schedules/halide/expression.h"

namespace longwave::schedules {

using namespace Halide;

WrittenEpilogue declare_epilogue(gpu::Program &program, const KernelBuilder &k,
                                 const KernelBuilder::Epilogue &epilogue, const Shape &shape) {
    struct Operand {
        gpu::Memory memory;
        Shape shape;
    };
    std::map<std::string, Operand> operands;
    for (const ImageParam &operand : k.operands())
        operands[operand.name()] = {program.buffer(operand.name(), 1, gpu::Access::read),
                                    k.is_channel_major(operand.name()) ? channel_major(shape) : shape};
    std::vector<Var> vars;
    for (size_t i = 0; i < shape.size(); i++) vars.emplace_back("at_" + std::to_string(i));
    const Param<float> result("result");
    const Expr value = epilogue(Expr(result), std::vector<Expr>(vars.begin(), vars.end()));
    return [&program, operands, vars, value](const gpu::Float &of, const std::vector<gpu::Uint> &at) {
        ExpressionScope scope{.whole = {}, .real = {{"result", of}}, .read = {}};
        for (size_t i = 0; i < at.size(); i++) scope.whole[vars[i].name()] = at[i];
        scope.read = [&](const std::string &name, const std::vector<gpu::Uint> &where) {
            const Operand &operand = operands.at(name);
            gpu::Uint index = program.whole(0);
            for (size_t i = 0; i < where.size(); i++)
                index = index + where[i] * extent(operand.shape[i].stride);
            return program.load(operand.memory, index);
        };
        return written_value(program, value, scope);
    };
}

} // namespace longwave::schedules
