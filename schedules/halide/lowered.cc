#include "schedules/halide/lowered.h"
#include "schedules/halide/internals.h"
#include <optional>
#include <set>

namespace longwave::schedules {

using namespace Halide;

namespace {

constexpr int64_t block_overhead =
    320; // header, footer, alignment and the padding Halide adds to each heap allocation
constexpr int64_t stack_limit = 16384;        // bytes of intermediates in a frame
constexpr int64_t halide_stack_limit = 16384; // larger ones go to the heap by themselves

class Allocations : public Internal::IRVisitor {
public:
    explicit Allocations(std::string kernel) : kernel_(std::move(kernel)) {}
    int64_t heap = 0, stack = 0;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::Allocate *op) override {
        int64_t bytes = op->type.bytes();
        for (const Expr &extent : op->extents) {
            const auto constant = Internal::as_const_int(Internal::simplify(extent));
            if (!constant)
                throw SpecError(kernel_ + ": intermediate '" + op->name + "' has no constant size");
            bytes *= *constant;
        }
        if (op->memory_type == MemoryType::Heap ||
            (op->memory_type != MemoryType::Register && bytes > halide_stack_limit)) {
            heap += (bytes + block_overhead + 63) / 64 * 64;
        } else {
            return visit_on_stack(op, bytes);
        }
        Internal::IRVisitor::visit(op);
    }
    // Halide's code uses the place of an ended allocation again, if that had the same type and enough bytes.
    void visit_on_stack(const Internal::Allocate *op, int64_t bytes) {
        Place place{op->type, bytes};
        const auto found = std::find_if(ended_.begin(), ended_.end(), [&](const Place &other) {
            return other.type == place.type && other.bytes >= bytes;
        });
        if (found == ended_.end()) {
            stack += bytes;
        } else {
            place = *found;
            ended_.erase(found);
        }
        Internal::IRVisitor::visit(op);
        ended_.push_back(place);
    }
    struct Place {
        Halide::Type type;
        int64_t bytes;
    };
    std::vector<Place> ended_;
    std::string kernel_;
};

class UnalignedLoads : public Internal::IRMutator {
    using Internal::IRMutator::visit;
    Internal::Stmt visit(const Internal::Allocate *op) override {
        own_.insert(op->name);
        return Internal::IRMutator::visit(op);
    }
    Expr visit(const Internal::Load *op) override {
        Expr load = Internal::IRMutator::visit(op);
        const auto *found = load.as<Internal::Load>();
        if (own_.count(found->name)) return load;
        return Internal::Load::make(found->type, found->name, found->index, found->image, found->param,
                                    found->predicate, {});
    }
    std::set<std::string> own_; // allocated by the kernel
};

class IntegerFloor : public Internal::IRMutator {
    using Internal::IRMutator::visit;
    Expr visit(const Internal::Call *op) override {
        if (op->name == "exp_f32") return mutate(Internal::halide_exp(op->args[0]));
        if (op->name != "floor_f32") return Internal::IRMutator::visit(op);
        const std::string name = fresh_name("floor"); // used several times, computed once
        const Expr x = Internal::Variable::make(op->type, name);
        const Expr whole = cast(op->type, cast(Int(32, op->type.lanes()), x));
        const Expr one = Internal::make_one(op->type), limit = Internal::make_const(op->type, 8388608.0);
        const Expr floor = select(whole > x, whole - one, whole);
        // From 2^23 on all numbers are whole; NaN stays NaN.
        return Internal::Let::make(name, mutate(op->args[0]), select(abs(x) < limit, floor, x));
    }
};

const char *elem_name(Type type) {
    if (type == Float(32)) return "f32";
    if (type == Float(64)) return "f64";
    if (type == Int(32)) return "i32";
    throw SpecError("an argument has an element type outside the contract");
}

int64_t constant_of(const Expr &e, const std::string &name) {
    const auto value = Internal::as_const_int(e);
    if (!value) throw SpecError("argument '" + name + "' has an extent or stride that is not constant");
    return *value;
}

// `words`: a float64 argument that the kernel sees as two words an element. Of an int32 argument
// the kernel may see the four bytes or two halves of an element, side by side in dimension 0.
nlohmann::json input(const ImageParam &buffer, bool words) {
    nlohmann::json dims = nlohmann::json::array();
    const Parameter &constraints = buffer.parameter();
    const int parts = buffer.type() == Int(8) ? 4 : buffer.type() == UInt(16) ? 2 : 1;
    for (int i = words ? 1 : 0; i < buffer.dimensions(); i++) {
        const int64_t extent = constant_of(constraints.extent_constraint(i), buffer.name()),
                      stride = constant_of(constraints.stride_constraint(i), buffer.name());
        if (parts > 1) dims.push_back({i == 0 ? extent / parts : extent, i == 0 ? stride : stride / parts});
        else dims.push_back({extent, stride / (words ? 2 : 1)});
    }
    return {{"name", buffer.name()},
            {"kind", "input"},
            {"elem", words       ? "f64"
                     : parts > 1 ? "i32"
                                 : elem_name(buffer.type())},
            {"dims", dims}};
}

// Only the first element of a tuple has extents of its own in Halide: the others are as they were
// declared.
nlohmann::json output(const KernelBuilder::OutputBuffer &output) {
    nlohmann::json dims = nlohmann::json::array();
    const Parameter &constraints = output.buffer.parameter();
    for (const Dim &dim : output.declared.argument) dims.push_back({dim.extent, dim.stride});
    for (size_t i = 0; i < output.declared.shape.size() && output.declared.argument.empty(); i++)
        dims.push_back(
            {output.declared.shape[i].extent,
             constant_of(constraints.stride_constraint(static_cast<int>(i)), output.declared.name) /
                 (output.declared.words ? 2 : 1)});
    const char *kind = output.declared.kind == ArgKind::inout ? "inout" : "output";
    return {{"name", output.declared.name},
            {"kind", kind},
            {"elem", output.declared.words ? "f64" : elem_name(output.type)},
            {"dims", dims}};
}

} // namespace

namespace {

// The module with the body of every function changed.
template <class Mutator> Module mutated(const Module &module) {
    Module result(module.name(), module.target());
    result.set_any_strict_float(module.any_strict_float());
    for (Internal::LoweredFunc function : module.functions()) {
        function.body = Mutator().mutate(function.body);
        result.append(function);
    }
    for (const Buffer<> &constants : module.buffers()) result.append(constants);
    return result;
}

} // namespace

Module with_unaligned_arguments(const Module &module) { return mutated<UnalignedLoads>(module); }

Module with_integer_floor(const Module &module) {
    const bool lacks = module.target().arch == Target::ARM && module.target().bits == 32;
    return lacks ? mutated<IntegerFloor>(module) : module;
}

uint64_t scratch_bytes(const std::string &kernel, const Module &module) {
    Allocations found(kernel);
    for (const Internal::LoweredFunc &function : module.functions()) function.body.accept(&found);
    if (found.stack > stack_limit)
        throw SpecError(kernel + ": " + std::to_string(found.stack) + " bytes of stack frame");
    return static_cast<uint64_t>(found.heap);
}

nlohmann::json signature_json(const KernelBuilder &builder, uint64_t scratch) {
    nlohmann::json args = nlohmann::json::array();
    for (const ImageParam &buffer : builder.buffers())
        args.push_back(input(buffer, builder.is_words(buffer)));
    for (const KernelBuilder::Scalar &scalar : builder.scalars())
        args.push_back({{"name", scalar.name},
                        {"kind", "scalar"},
                        {"elem", "i32"},
                        {"dims", nlohmann::json::array()},
                        {"high", scalar.high},
                        {"multiple", scalar.multiple}});
    for (const KernelBuilder::OutputBuffer &buffer : builder.output_buffers()) args.push_back(output(buffer));
    return {{"args", args}, {"scratch_bytes", scratch}};
}

using namespace Halide;

namespace {

class OneAllocation : public Internal::IRMutator {
public:
    explicit OneAllocation(const KernelBuilder::SharedMemory &pair) : pair_(pair) {}

private:
    using Internal::IRMutator::visit;
    bool ours(const std::string &name) const { return name == pair_.earlier || name == pair_.later; }

    // One of them is allocated inside of the other, which stays.
    Internal::Stmt visit(const Internal::Allocate *op) override {
        if (!ours(op->name)) return Internal::IRMutator::visit(op);
        if (kept_) {
            if (bytes(kept_) != bytes(op))
                throw SpecError("'" + op->name + "' and '" + kept_->name +
                                "' share memory, but not their size");
            return mutate(op->body);
        }
        kept_ = op;
        Internal::Stmt whole = Internal::IRMutator::visit(op);
        kept_ = nullptr;
        return whole;
    }
    // The later one is needed longest.
    Internal::Stmt visit(const Internal::Free *op) override {
        if (op->name == pair_.earlier) return Internal::Evaluate::make(0);
        return op->name == pair_.later ? Internal::Free::make(kept_->name) : Internal::Stmt(op);
    }
    Internal::Stmt visit(const Internal::Store *op) override {
        const Internal::Stmt store = Internal::IRMutator::visit(op);
        const auto *s = store.as<Internal::Store>();
        return ours(s->name) ? Internal::Store::make(kept_->name, s->value, s->index, s->param, s->predicate,
                                                     s->alignment)
                             : store;
    }
    Expr visit(const Internal::Load *op) override {
        const Expr load = Internal::IRMutator::visit(op);
        const auto *l = load.as<Internal::Load>();
        return ours(l->name) ? Internal::Load::make(l->type, kept_->name, l->index, l->image, l->param,
                                                    l->predicate, l->alignment)
                             : load;
    }

    static int64_t bytes(const Internal::Allocate *op) {
        int64_t bytes = op->type.bytes();
        for (const Expr &extent : op->extents)
            bytes *= Internal::as_const_int(Internal::simplify(extent)).value_or(0);
        return bytes;
    }

    const KernelBuilder::SharedMemory &pair_;
    const Internal::Allocate *kept_ = nullptr;
};

} // namespace

Module with_shared_memory(const KernelBuilder &builder, const Module &module) {
    Module shared(module.name(), module.target());
    shared.set_any_strict_float(module.any_strict_float());
    for (Internal::LoweredFunc function : module.functions()) {
        for (const KernelBuilder::SharedMemory &pair : builder.shared_memory()) {
            OneAllocation one(pair);
            function.body = one.mutate(function.body);
        }
        shared.append(function);
    }
    for (const Buffer<> &constants : module.buffers()) shared.append(constants);
    return shared;
}

using namespace Halide;

namespace {

std::optional<int> odd_divisor(const Expr &e) {
    if (e.type() != Int(32)) return {};
    const auto value = Internal::as_const_int(e);
    if (!value || *value < 2 || (*value & (*value - 1)) == 0) return {};
    return static_cast<int>(*value);
}

// The quotient in float32 is off by 2^-22 of itself: by less than 2^10, then, for what was left, by
// less than 1.
Expr divided(const Expr &n, int divisor) {
    const float inverse = 1.0f / static_cast<float>(divisor);
    const std::string name = Internal::unique_name("quotient"), nearer = Internal::unique_name("quotient");
    const Expr first = cast<int>(cast<float>(n) * inverse), q = Internal::Variable::make(Int(32), name);
    const Expr second = q + cast<int>(cast<float>(n - q * divisor) * inverse),
               r = Internal::Variable::make(Int(32), nearer);
    const Expr rest = n - r * divisor, exact = r + select(rest < 0, -1, select(rest >= divisor, 1, 0));
    return Internal::Let::make(name, first, Internal::Let::make(nearer, second, exact));
}

} // namespace

// The dividend is computed once, or a chain of divisions would grow with a power of its length.
template <class F> static Expr with_dividend(const Expr &dividend, const F &result) {
    const std::string name = Internal::unique_name("dividend");
    return Internal::Let::make(name, dividend, result(Internal::Variable::make(Int(32), name)));
}

Expr NarrowDivisions::visit(const Internal::Div *op) {
    const auto divisor = odd_divisor(op->b);
    if (!divisor) return Internal::IRMutator::visit(op);
    return with_dividend(mutate(op->a), [&](const Expr &n) { return divided(n, *divisor); });
}

Expr NarrowDivisions::visit(const Internal::Mod *op) {
    const auto divisor = odd_divisor(op->b);
    if (!divisor) return Internal::IRMutator::visit(op);
    return with_dividend(mutate(op->a), [&](const Expr &n) { return n - divided(n, *divisor) * *divisor; });
}

} // namespace longwave::schedules
