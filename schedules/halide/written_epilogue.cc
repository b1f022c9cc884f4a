#include "schedules/halide/written_epilogue.h"
#include "schedules/halide/internals.h"
#include "schedules/halide/params.h"

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
        ExpressionScope scope{.u32 = {}, .f32 = {{"result", of}}, .read = {}};
        for (size_t i = 0; i < at.size(); i++) scope.u32[vars[i].name()] = at[i];
        scope.read = [&](const std::string &name, const std::vector<gpu::Uint> &where) {
            const Operand &operand = operands.at(name);
            gpu::Uint index = program.u32(0);
            for (size_t i = 0; i < where.size(); i++)
                index = index + where[i] * extent(operand.shape[i].stride);
            return program.load(operand.memory, index);
        };
        return written_value(program, value, scope);
    };
}

using namespace Halide;

namespace {

class ExpressionWriter {
public:
    ExpressionWriter(gpu::Program &program, const ExpressionScope &scope)
        : program_(program), scope_(scope) {}

    gpu::Float f32(const Expr &e) {
        if (const auto *c = e.as<Internal::FloatImm>()) return program_.f32(static_cast<float>(c->value));
        if (const auto *v = e.as<Internal::Variable>()) return found(scope_.f32, v->name);
        if (const auto *o = e.as<Internal::Add>()) return f32(o->a) + f32(o->b);
        if (const auto *o = e.as<Internal::Sub>()) return f32(o->a) - f32(o->b);
        if (const auto *o = e.as<Internal::Mul>()) return f32(o->a) * f32(o->b);
        if (const auto *o = e.as<Internal::Div>()) return f32(o->a) / f32(o->b);
        if (const auto *o = e.as<Internal::Min>()) return min(f32(o->a), f32(o->b));
        if (const auto *o = e.as<Internal::Max>()) return max(f32(o->a), f32(o->b));
        if (const auto *o = e.as<Internal::Select>())
            return gpu::select(boolean(o->condition), f32(o->true_value), f32(o->false_value));
        if (const auto *o = e.as<Internal::Let>()) {
            scope_.f32[o->name] = f32(o->value); // epilogues name float32 only
            return f32(o->body);
        }
        if (const auto *o = e.as<Internal::Call>()) return call(o);
        // The whole part, by way of an int32.
        if (const auto *o = e.as<Internal::Cast>(); o && o->type == Float(32))
            if (const auto *whole = o->value.as<Internal::Cast>(); whole && whole->type == Int(32))
                return trunc(f32(whole->value));
        unknown(e);
    }

private:
    gpu::Uint u32(const Expr &e) {
        if (const auto *c = e.as<Internal::IntImm>()) return program_.u32(static_cast<uint32_t>(c->value));
        if (const auto *v = e.as<Internal::Variable>()) return found(scope_.u32, v->name);
        unknown(e);
    }

    gpu::Bool boolean(const Expr &e) {
        const auto compared = [&](const auto *o) { return o->a.type().is_float(); };
        if (const auto *o = e.as<Internal::LT>())
            return compared(o) ? f32(o->a) < f32(o->b) : u32(o->a) < u32(o->b);
        if (const auto *o = e.as<Internal::GT>(); o && compared(o)) return f32(o->b) < f32(o->a);
        if (const auto *o = e.as<Internal::LE>(); o && compared(o)) return f32(o->a) <= f32(o->b);
        if (const auto *o = e.as<Internal::GE>(); o && compared(o)) return f32(o->b) <= f32(o->a);
        if (const auto *o = e.as<Internal::Call>(); o && o->args.size() == 2) {
            if (o->is_intrinsic(Internal::Call::strict_lt)) return f32(o->args[0]) < f32(o->args[1]);
            if (o->is_intrinsic(Internal::Call::strict_le)) return f32(o->args[0]) <= f32(o->args[1]);
        }
        unknown(e);
    }

    // SPIR-V keeps the order of operations everywhere.
    gpu::Float strict(const Internal::Call *o, const gpu::Float &a, const gpu::Float &b) {
        if (o->is_intrinsic(Internal::Call::strict_add)) return a + b;
        if (o->is_intrinsic(Internal::Call::strict_sub)) return a - b;
        if (o->is_intrinsic(Internal::Call::strict_mul)) return a * b;
        if (o->is_intrinsic(Internal::Call::strict_div)) return a / b;
        if (o->is_intrinsic(Internal::Call::strict_min)) return min(a, b);
        if (o->is_intrinsic(Internal::Call::strict_max)) return max(a, b);
        unknown(Expr(o));
    }

    gpu::Float call(const Internal::Call *o) {
        if (o->name == "exp_f32") return exp(f32(o->args[0]));
        if (o->name == "log_f32") return log(f32(o->args[0]));
        if (o->name == "sqrt_f32") return sqrt(f32(o->args[0]));
        if (o->is_intrinsic(Internal::Call::abs)) return abs(f32(o->args[0]));
        if (o->is_strict_float_intrinsic() && o->args.size() == 2)
            return strict(o, f32(o->args[0]), f32(o->args[1]));
        const std::string suffix = "_im"; // of an ImageParam's Func
        if (o->call_type != Internal::Call::Halide || !o->name.ends_with(suffix)) unknown(Expr(o));
        std::vector<gpu::Uint> at;
        for (const Expr &index : o->args) at.push_back(u32(index));
        return scope_.read(o->name.substr(0, o->name.size() - suffix.size()), at);
    }

    template <class Value> Value found(const std::map<std::string, Value> &values, const std::string &name) {
        const auto it = values.find(name);
        if (it == values.end()) throw SpecError("internal: '" + name + "' is not a variable of an epilogue");
        return it->second;
    }

    [[noreturn]] static void unknown(const Expr &e) {
        std::ostringstream text;
        text << e;
        throw SpecError("internal: an epilogue has the expression '" + text.str() + "'");
    }

    gpu::Program &program_;
    ExpressionScope scope_;
};

} // namespace

gpu::Float written_value(gpu::Program &program, const Expr &value, const ExpressionScope &scope) {
    return ExpressionWriter(program, scope).f32(Internal::common_subexpression_elimination(value));
}

} // namespace longwave::schedules
