#include "schedules/halide/merge_allocations.h"

namespace longwave::schedules {

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

} // namespace longwave::schedules
