// Kernels of a GPU whose threads are written out: what a thread keeps in registers outlives
// barriers and loops, which no schedule of Halide can say. A schedule names arguments, workgroups
// and threads as usual; the program replaces what its innermost threads do. Values are Halide's
// expressions.
#pragma once
#include "schedules/halide/builder.h"
#include "schedules/halide/float64_words.h"

namespace longwave::schedules {

class ThreadProgram {
public:
    // Numbers of the thread in its workgroup and of the workgroup; 0 where the schedule has no such
    // loop.
    Halide::Expr thread_x, thread_y, block_x, block_y, block_z;

    // The value, computed once, here. It may read inputs (ImageParams) and values of the program.
    Halide::Expr let(const Halide::Expr &value);

    Name name() {
        return [this](const Halide::Expr &value) { return let(value); };
    }

    // An element of an output; `at` in elements of its declared shape.
    Halide::Expr read(const std::string &output, const std::vector<Halide::Expr> &at);
    void write(const std::string &output, const std::vector<Halide::Expr> &at, const Halide::Expr &value);
    // Of a float64 output (Output::words) or weight (weight_words), which `at` does not name the
    // word of. Both words go together: one request of 8 bytes per thread.
    TwoFloats read_words(const std::string &output, std::vector<Halide::Expr> at);
    TwoFloats read_words(const Halide::ImageParam &weight, const std::vector<Halide::Expr> &at);
    void write_words(const std::string &output, std::vector<Halide::Expr> at, const TwoFloats &rounded_value);

    // A register that changes.
    struct Register {
        std::string name;
        Halide::Type type;
    };
    Register keep(const Halide::Expr &initial);
    struct TwoRegisters {
        Register high, low;
    };
    TwoRegisters keep(const TwoFloats &initial) { return {keep(initial.high), keep(initial.low)}; }
    TwoFloats get(const TwoRegisters &from) { return {get(from.high), get(from.low)}; }
    void set(const TwoRegisters &to, const TwoFloats &value) {
        set(to.high, value.high), set(to.low, value.low);
    }
    Halide::Expr get(const Register &from); // as it is here
    void set(const Register &to, const Halide::Expr &value);

    // Memory of the workgroup: float32.
    std::string shared(int elements);
    Halide::Expr read_shared(const std::string &memory, const Halide::Expr &index);
    void write_shared(const std::string &memory, const Halide::Expr &index, const Halide::Expr &value);
    void barrier(); // all threads of the workgroup must come here

    using Body = std::function<void(const Halide::Expr &iteration)>;
    void loop(const Halide::Expr &iterations, const Body &body);
    void when(const Halide::Expr &condition, const std::function<void()> &body);

private:
    friend class ReplaceThreads;
    explicit ThreadProgram(const KernelBuilder &builder) : builder_(builder) {}
    // A statement, or what holds for all that follow in its scope.
    struct Item {
        Halide::Internal::Stmt statement;
        std::string name;       // of a value or of a register
        Halide::Expr value;     // undefined: a register
        Halide::Type type = {}; // of a register
    };
    using Scope = std::vector<Item>;
    Halide::Internal::Stmt scope(const std::function<void()> &body);
    Halide::Expr resolved(const Halide::Expr &value) const;
    struct Place;
    Place place(const std::string &output, const std::vector<Halide::Expr> &at) const;
    TwoFloats float64_of(const Halide::Expr &both_words);

    const KernelBuilder &builder_;
    Scope *here_ = nullptr;
    std::vector<std::pair<std::string, int>> shared_;
};

// A lowering pass: replaces the threads of a pipeline by the builder's program.
class ReplaceThreads : public Halide::Internal::IRMutator {
public:
    explicit ReplaceThreads(const KernelBuilder &builder) : builder_(builder) {}

private:
    using Halide::Internal::IRMutator::visit;
    Halide::Internal::Stmt visit(const Halide::Internal::For *op) override;
    Halide::Internal::Stmt threads(const Halide::Internal::For *outermost);

    const KernelBuilder &builder_;
    std::map<std::string, std::string> loops_; // "block_x": the name of its variable
};

} // namespace longwave::schedules
