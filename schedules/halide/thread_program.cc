#include "schedules/halide/thread_program.h"

namespace longwave::schedules {

using namespace Halide;
using Internal::Stmt;

namespace {

// Reads of arguments as loads, with an index for their dimensions. To Halide an ImageParam is a
// Func that reads a buffer.
class FlattenReads : public Internal::IRMutator {
public:
    explicit FlattenReads(const std::vector<ImageParam> &buffers) : buffers_(buffers) {}

private:
    using Internal::IRMutator::visit;
    Expr visit(const Internal::Call *op) override {
        if (op->call_type != Internal::Call::Halide) return Internal::IRMutator::visit(op);
        for (const ImageParam &buffer : buffers_) {
            if (op->name != buffer.name() + "_im") continue;
            Expr index = 0;
            for (size_t i = 0; i < op->args.size(); i++)
                index += mutate(op->args[i]) * buffer.parameter().stride_constraint(static_cast<int>(i));
            return Internal::Load::make(op->type, buffer.name(), Internal::simplify(index), Buffer<>(),
                                        buffer.parameter(), Internal::const_true(), {});
        }
        throw SpecError("internal: a program reads '" + op->name + "', which is not an argument");
    }
    const std::vector<ImageParam> &buffers_;
};

Expr load_from(Type type, const std::string &memory, const Expr &index) {
    return Internal::Load::make(type, memory, index, Buffer<>(), Parameter(), Internal::const_true(), {});
}

// The words of a float64 lie beside each other, from an even index on.
const Internal::ModulusRemainder even(2, 0);
Expr both_words(const std::string &memory, const Expr &index, const Parameter &of) {
    return Internal::Load::make(UInt(32, 2), memory, Internal::Ramp::make(index, 1, 2), Buffer<>(), of,
                                Internal::const_true(2), even);
}

Stmt store_to(const std::string &memory, const Expr &index, const Expr &value) {
    return Internal::Store::make(memory, value, index, Parameter(), Internal::const_true(), {});
}

Stmt serial_loop(const std::string &name, const Expr &iterations, const Stmt &body) {
    return Internal::For::make(name, 0, iterations, Internal::ForType::Serial, Partition::Never,
                               DeviceAPI::None, body);
}

} // namespace

struct ThreadProgram::Place {
    std::string memory;
    Type type;
    Expr index;
};

Expr ThreadProgram::resolved(const Expr &value) const {
    return Internal::common_subexpression_elimination(FlattenReads(builder_.buffers()).mutate(value));
}

Expr ThreadProgram::let(const Expr &value) {
    const std::string name = Internal::unique_name("value");
    here_->push_back({.statement = {}, .name = name, .value = resolved(value)});
    return Internal::Variable::make(value.type(), name);
}

ThreadProgram::Place ThreadProgram::place(const std::string &output, const std::vector<Expr> &at) const {
    for (const KernelBuilder::OutputBuffer &buffer : builder_.output_buffers()) {
        if (buffer.declared.name != output) continue;
        const bool words = buffer.declared.words;
        Expr index = words ? at[0] : Expr(0);
        for (size_t i = words ? 1 : 0; i < at.size(); i++)
            index +=
                at[i] * (words ? 2 * buffer.declared.shape[i - 1].stride : buffer.declared.shape[i].stride);
        return {buffer.buffer.name(), buffer.type, resolved(Internal::simplify(index))};
    }
    throw SpecError("internal: '" + output + "' is not an output");
}

Expr ThreadProgram::read(const std::string &output, const std::vector<Expr> &at) {
    const Place from = place(output, at);
    return let(load_from(from.type, from.memory, from.index));
}

void ThreadProgram::write(const std::string &output, const std::vector<Expr> &at, const Expr &value) {
    const Place to = place(output, at);
    here_->push_back({.statement = store_to(to.memory, to.index, resolved(value)), .name = {}, .value = {}});
}

TwoFloats ThreadProgram::read_words(const std::string &output, std::vector<Expr> at) {
    at.insert(at.begin(), 0);
    const Place from = place(output, at);
    return float64_of(both_words(from.memory, from.index, Parameter()));
}

TwoFloats ThreadProgram::read_words(const ImageParam &weight, const std::vector<Expr> &at) {
    Expr index = 0;
    for (size_t i = 0; i < at.size(); i++)
        index += at[i] * weight.parameter().stride_constraint(static_cast<int>(i) + 1);
    return float64_of(both_words(weight.name(), resolved(Internal::simplify(index)), weight.parameter()));
}

TwoFloats ThreadProgram::float64_of(const Expr &both_words) {
    const Expr both = let(both_words);
    return read_float64(name(), {let(Internal::Shuffle::make_extract_element(both, 0)),
                                 let(Internal::Shuffle::make_extract_element(both, 1))});
}

void ThreadProgram::write_words(const std::string &output, std::vector<Expr> at,
                                const TwoFloats &rounded_value) {
    const WordPair words = write_float64(name(), rounded_value);
    at.insert(at.begin(), 0);
    const Place to = place(output, at);
    const Expr both = let(Internal::Shuffle::make_concat({words.low, words.high}));
    here_->push_back(
        {.statement = Internal::Store::make(to.memory, both, Internal::Ramp::make(to.index, 1, 2),
                                            Parameter(), Internal::const_true(2), even),
         .name = {},
         .value = {}});
}

ThreadProgram::Register ThreadProgram::keep(const Expr &initial) {
    const Register made{Internal::unique_name("kept"), initial.type()};
    const Expr value = let(initial);
    here_->push_back({.statement = {}, .name = made.name, .value = {}, .type = made.type});
    set(made, value);
    return made;
}

Expr ThreadProgram::get(const Register &from) { return let(load_from(from.type, from.name, 0)); }

void ThreadProgram::set(const Register &to, const Expr &value) {
    here_->push_back({.statement = store_to(to.name, 0, resolved(value)), .name = {}, .value = {}});
}

std::string ThreadProgram::shared(int elements) {
    shared_.emplace_back(Internal::unique_name("shared"), elements);
    return shared_.back().first;
}

Expr ThreadProgram::read_shared(const std::string &memory, const Expr &index) {
    return let(load_from(Float(32), memory, Internal::simplify(index)));
}

void ThreadProgram::write_shared(const std::string &memory, const Expr &index, const Expr &value) {
    here_->push_back(
        {.statement = store_to(memory, Internal::simplify(index), resolved(value)), .name = {}, .value = {}});
}

void ThreadProgram::barrier() {
    const int fence = Internal::CodeGen_GPU_Dev::MemoryFenceType::Shared;
    here_->push_back({.statement = Internal::Evaluate::make(Internal::Call::make(
                          Int(32), Internal::Call::gpu_thread_barrier, {fence}, Internal::Call::Intrinsic)),
                      .name = {},
                      .value = {}});
}

Stmt ThreadProgram::scope(const std::function<void()> &body) {
    Scope items, *const outer = here_;
    here_ = &items;
    body();
    here_ = outer;
    Stmt whole;
    for (auto item = items.rbegin(); item != items.rend(); ++item) {
        if (item->statement.defined())
            whole = whole.defined() ? Internal::Block::make(item->statement, whole) : item->statement;
        else if (!whole.defined()) continue; // nothing uses it
        else if (item->value.defined()) whole = Internal::LetStmt::make(item->name, item->value, whole);
        else
            whole = Internal::Allocate::make(item->name, item->type, MemoryType::Register, {1},
                                             Internal::const_true(), whole);
    }
    return whole.defined() ? whole : Internal::Evaluate::make(0);
}

void ThreadProgram::loop(const Expr &iterations, const Body &body) {
    const std::string name = Internal::unique_name("iteration");
    const Expr iteration = Internal::Variable::make(Int(32), name);
    const Stmt inside = scope([&] { body(iteration); });
    here_->push_back({.statement = serial_loop(name, resolved(iterations), inside), .name = {}, .value = {}});
}

void ThreadProgram::when(const Expr &condition, const std::function<void()> &body) {
    const Stmt inside = scope(body);
    here_->push_back(
        {.statement = Internal::IfThenElse::make(resolved(condition), inside), .name = {}, .value = {}});
}

Stmt ReplaceThreads::visit(const Internal::For *op) {
    if (op->for_type == Internal::ForType::GPUThread) return threads(op);
    if (op->for_type == Internal::ForType::GPUBlock)
        for (const char *axis : {"x", "y", "z"})
            if (op->name.ends_with(std::string("_id_") + axis))
                loops_[std::string("block_") + axis] = op->name;
    return Internal::IRMutator::visit(op);
}

// The loops over threads stay, their body is the program's.
Stmt ReplaceThreads::threads(const Internal::For *outermost) {
    std::vector<const Internal::For *> nest;
    for (const auto *loop = outermost; loop && loop->for_type == Internal::ForType::GPUThread;
         loop = loop->body.as<Internal::For>()) {
        nest.push_back(loop);
        for (const char *axis : {"x", "y", "z"})
            if (loop->name.ends_with(std::string("_id_") + axis))
                loops_[std::string("thread_") + axis] = loop->name;
    }
    const auto variable = [&](const char *loop) -> Expr {
        const auto found = loops_.find(loop);
        return found == loops_.end() ? Expr(0) : Internal::Variable::make(Int(32), found->second);
    };
    ThreadProgram program(builder_);
    program.thread_x = variable("thread_x"), program.thread_y = variable("thread_y");
    program.block_x = variable("block_x"), program.block_y = variable("block_y"),
    program.block_z = variable("block_z");
    Stmt body = program.scope([&] { builder_.program(program); });
    for (auto loop = nest.rbegin(); loop != nest.rend(); ++loop)
        body = Internal::For::make((*loop)->name, (*loop)->min, (*loop)->extent, (*loop)->for_type,
                                   (*loop)->partition_policy, (*loop)->device_api, body);
    for (const auto &[name, elements] : program.shared_)
        body = Internal::Allocate::make(name, Float(32), MemoryType::GPUShared, {elements},
                                        Internal::const_true(), body);
    return body;
}

} // namespace longwave::schedules
