// What a schedule file writes into: it asks for params, declares arguments with their static
// shapes, applies the epilogue and names the outputs.
#pragma once
#include "schedules/contract/kernel.h"
#include "schedules/halide/params.h"
#include "targets/target.h"
#include <Halide.h>
#include <functional>
#include <optional>

namespace longwave::gpu {
class Program; // schedules/gpu/program.h
}

namespace longwave::schedules {

using Shape = std::vector<Dim>;

inline uint32_t extent(int n) { return static_cast<uint32_t>(n); } // of a Dim
// Threads of a workgroup whose points lie in shared memory. More would idle at the barriers of
// short passes.
inline int loop_threads(const targets::Target &target) { return std::min(target.threads, 256); }
// Extents without gaps, innermost first.
Shape dense(const std::vector<int> &extents);
// The same extents channel by channel: the rows, the last dimension, lie side by side.
Shape channel_major(const Shape &shape);

class KernelBuilder {
public:
    KernelBuilder(const std::string &kernel, const nlohmann::json &spec, const targets::Target &target);

    Params params;
    const targets::Target &target;
    // of transforms, instead of the built-in ones (long_conv/transform.h); null: built-in
    nlohmann::json structures;
    // Of a gpu: sums carry what they lose, so no driver may rearrange them (module_blob.h).
    bool exact_sums = false;
    // Of a gpu: the kernel, where it is written out (schedules/gpu). The schedule then only
    // declares the arguments, and the buffers of the kernel are these, in order. Empty: the kernel
    // is Halide's.
    std::function<gpu::Program()> written;

    // The params of kernel K, whose arguments the schedule then declares by the names of its contract
    // (names_of<K>()): finish() refuses others, and another order.
    template <class K> K read() {
        using Arguments = typename K::template Arguments<contract::Names>;
        static_assert(contract::complete<K>(), "LW_PARAMS leaves out a param");
        static_assert(contract::complete<Arguments>(), "LW_ARGUMENTS leaves out an argument");
        contract::names_of<K>().each([&](const char *name, const auto &argument) {
            const bool numbered = requires { argument[0]; };
            expected_.push_back({name, argument.part, numbered});
        });
        return params.read<K>();
    }
    Halide::ImageParam input(const contract::Names::Input &name, const Shape &shape,
                             Halide::Type type = Halide::Float(32));
    Halide::ImageParam weight(const contract::Names::Weight &name, const Shape &shape,
                              Halide::Type type = Halide::Float(32));
    // An int32 argument as bytes: four times the extents of dimension 0, four times the strides of
    // the others. Shapes count in int32.
    Halide::ImageParam weight_bytes(const contract::Names::Weight &name, const Shape &shape);
    // The same for a float64 argument of a gpu, few of which compute in float64: an element is two
    // uint32, of which dimension 0 says which: 0 the low word, 1 the high one (count_words.h).
    Halide::ImageParam input_words(const contract::Names::Input &name, const Shape &shape);
    Halide::ImageParam weight_words(const contract::Names::Weight &name, const Shape &shape);

    // An int32 that the kernel accepts from 0 to `high` in steps of `multiple`. The expression is
    // clamped to that, so that an index made of it stays inside. On a gpu all scalars lie in one
    // int32 buffer, in order: Halide computes with parameters outside of the kernel, and passes on
    // what it found by no name.
    Halide::Expr scalar(const contract::Names::Scalar &name, int high, int multiple = 1);
    // The same of each of several streams: an input of an int32 for each. A kernel has these or the
    // scalars above, not both.
    std::function<Halide::Expr(const Halide::Expr &stream)>
    scalar_of_streams(const contract::Names::Scalar &name, int high, int streams);

    // Declares the operands of the epilogue chain and returns the function that applies it to the
    // value at some coordinates of the output. The last dimension of `shape` is the rows. In each
    // padded group of dimension 0 the lanes from `valid` on become zero when the chain could make
    // them something else.
    using Epilogue = std::function<Halide::Expr(Halide::Expr value, const std::vector<Halide::Expr> &at)>;
    Epilogue epilogue(const Shape &shape, int valid);
    Halide::Expr epilogue(const Halide::Expr &value, const std::vector<Halide::Expr> &at, const Shape &shape,
                          int valid) {
        return epilogue(shape, valid)(value, at);
    }
    // The same for a tile of channels: which lanes are valid is not known, so a chain that would
    // need to know is refused.
    Epilogue tile_epilogue(const Shape &shape, int channels);
    void no_epilogue() const;
    bool has_epilogue() const { return spec_.contains("epilogue") && !spec_.at("epilogue").empty(); }

    // The arguments that a Func writes, one for each element of its tuple. In-out: state that the
    // updates of the Func read and write in place. The pure definition of such an element is undef,
    // which stores nothing, so the first update finds what the caller left. An input on the same
    // memory would be unsound: Halide tells LLVM that arguments do not overlap. An update that
    // reads an element writes it in the same definition only where Halide sees the read: outside of
    // calls (exp, strict_float, …). A read that is hidden in a call may come after the store.
    struct Output {
        std::string name;
        Shape shape; // a dimension the element does not depend on has stride 0; never vectorise that one
        ArgKind kind = ArgKind::output;
        // What the signature says of the same memory, where a Func has more dimensions than the
        // argument. `shape` then lies as the specification asks (channel_major below), and this as
        // without.
        Shape argument = {};
        // A float64 argument of a kernel that is written out, which the Func has as uint32. Shapes
        // count in float64.
        bool words = false;
    };
    // An element by the name that the contract has for it.
    static Output result(const contract::Names::Output &name, Shape shape, Shape argument = {}) {
        return {name.text, std::move(shape), ArgKind::output, std::move(argument)};
    }
    static Output updated(const contract::Names::State &name, Shape shape, Shape argument = {}) {
        return {name.text, std::move(shape), ArgKind::inout, std::move(argument)};
    }
    static Output updated_words(const contract::Names::State &name, Shape shape) {
        return {.name = name.text, .shape = std::move(shape), .kind = ArgKind::inout, .words = true};
    }
    void output(const Halide::Func &f, const contract::Names::Output &name, const Shape &shape) {
        outputs(f, {result(name, shape)});
    }
    void in_place(const Halide::Func &f, const contract::Names::State &name, const Shape &shape) {
        outputs(f, {updated(name, shape)});
    }
    void output(const Halide::Func &f, const Shape &shape) { outputs(f, {{f.name(), shape}}); }
    void in_place(const Halide::Func &f, const Shape &shape) {
        outputs(f, {{f.name(), shape, ArgKind::inout}});
    }
    void outputs(Halide::Func f, const std::vector<Output> &list);

    // ---- layouts of rows (contract/kernel.h) ----
    // Whether the specification asks for [channel][row]. The argument has been declared, and its
    // strides say so already.
    bool is_channel_major(const std::string &argument) const { return channel_major_.contains(argument); }
    // Whether it asks so for any argument; also before these are declared.
    bool asks_channel_major() const { return !asked_channel_major_.empty(); }
    // Whether it asks so for the first output; when inputs, weights, scalars and the epilogue have been
    // declared.
    bool asks_channel_major_of_result() const;
    // Arguments that may lie so, all of them or none. `sectors`: what a request takes if they do not.
    void allow_channel_major(std::vector<std::string> together, uint32_t sectors = ideal_sectors);
    // The same together with the operands of the epilogue that have rows.
    void allow_channel_major_with_operands(std::vector<std::string> together,
                                           uint32_t sectors = ideal_sectors);
    // A change of order takes the kernel a way through shared memory.
    void prefer_one_order() { prefers_one_order_ = true; }
    // The operands of the epilogue, and the names of those that have rows.
    const std::vector<Halide::ImageParam> &operands() const { return operands_; }
    const std::vector<std::string> &row_operands() const { return row_operands_; }
    const std::vector<std::vector<std::string>> &layout_groups() const { return layout_groups_; }
    uint32_t sectors_by_row() const { return sectors_by_row_; }
    bool prefers_one_order() const { return prefers_one_order_; }

    // ---- variants of a kernel for a gpu (contract/kernel.h) ----
    // Declares how many there are, and returns the one that the specification asks for.
    size_t variant(size_t count);
    size_t variants() const { return variants_; }

    // Two intermediates of one size that lie in one memory (lowered.h): `later` is written
    // piece by piece, each when what `earlier` held there has been read for the last time.
    struct SharedMemory {
        std::string earlier, later; // by Halide's names
    };
    void share_memory(const Halide::Func &earlier, const Halide::Func &later) {
        shared_memory_.push_back({earlier.name(), later.name()});
    }
    const std::vector<SharedMemory> &shared_memory() const { return shared_memory_; }

    // Checks that the whole specification was used.
    void finish() const;
    Halide::Pipeline pipeline() const { return Halide::Pipeline(outputs_); }
    std::vector<Halide::Argument> arguments() const;
    // Halide's names of the arguments in call order: "" for a scalar.
    std::vector<std::string> argument_names() const;
    static constexpr const char *scalars_buffer = "scalars";
    const std::vector<Halide::ImageParam> &buffers() const { return buffers_; }
    bool is_words(const Halide::ImageParam &buffer) const { return words_.contains(buffer.name()); }
    struct Scalar {
        std::string name;
        Halide::Param<int> param; // of a CPU
        int high, multiple;
    };
    const std::vector<Scalar> &scalars() const { return scalars_; }
    struct OutputBuffer {
        Output declared;
        Halide::Type type;
        Halide::OutputImageParam buffer;
    };
    const std::vector<OutputBuffer> &output_buffers() const { return output_buffers_; }

private:
    Halide::ImageParam add(std::vector<Halide::ImageParam> &list, const std::string &name, const Shape &shape,
                           Halide::Type type);
    // The shape of the next argument, number `number` in call order.
    Shape placed(const std::string &name, size_t number, const Shape &shape);
    void check_layouts() const;
    void check_arguments() const;

    // The arguments of the contract, in call order.
    struct Expected {
        std::string name;
        contract::Part part;
        bool numbered; // name_0, name_1, …
    };

    std::string kernel_;
    const nlohmann::json &spec_;
    std::vector<Expected> expected_;
    std::vector<Halide::ImageParam> inputs_, weights_, operands_, scalars_of_streams_;
    std::vector<Scalar> scalars_;
    std::optional<Halide::ImageParam> scalars_buffer_;
    std::vector<Halide::Func> outputs_;
    std::vector<OutputBuffer> output_buffers_;
    std::vector<SharedMemory> shared_memory_;
    std::set<std::string> words_; // inputs and weights
    std::set<size_t> asked_channel_major_;
    std::set<std::string> channel_major_;
    std::vector<std::string> row_operands_;
    std::vector<std::vector<std::string>> layout_groups_;
    uint32_t sectors_by_row_ = ideal_sectors;
    bool prefers_one_order_ = false;
    size_t variants_ = 1, asked_variant_ = 0;
    mutable std::vector<Halide::ImageParam> buffers_;
};

// The largest vector of at most `limit` lanes that divides the extent evenly; 1 for odd extents.
int dividing_vector(int extent, int limit);
// The largest divisor of `n` that is at most `limit`.
int divisor_at_most(int n, int limit);
// Where row `index` of a ring lies when index is in [-ring, ring).
Halide::Expr wrapped(const Halide::Expr &index, int ring);

// Storage rule of every intermediate: small ones in the stack frame, the others in the caller's
// scratch. `bytes` is what the whole Func holds.
void store(Halide::Func f, int64_t bytes);

} // namespace longwave::schedules
