// How an op names the kernel that computes it. The kernel rule of an op reads facts about its place
// in a plan. It names a kernel of docs/kernels.md with its params and arguments. One rule serves
// offline runs and blocks of streams: the planner implements this interface and decides where rows
// lie and how calls are tiled.
//
//     Status kernel(KernelCall &call) {
//         call.kernel<contract::Softmax>({.channels = call.type(0).width(), .rows = call.rows()},
//                                        {.x = call.rows_of(0), .y = call.result_rows()});
//         return Status::ok();
//     }
//
// Errors (Fault::input) tell what the kernel cannot compute. The planner adds the layer.
#pragma once
#include "compiler/ir/algorithm.h"
#include "compiler/ir/given.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/step.h"
#include "formats/base/expected.h"
#include "schedules/contract/spec.h"
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

namespace longwave::ir {

using compiler::HostScalar;
using compiler::Scalar;
using compiler::Step;
using schedules::contract::Specification;

// Rows of a ring: where it lies, the scalar that says where its new rows begin, how many rows it has, and
// the scalar that says how many have been written, the new ones among them.
struct Ring {
    Place place;
    Scalar position;
    uint32_t rows;
    Scalar filled;
};

// Older rows that a kernel keeps channel by channel: their place, the scalar that says where the new rows
// begin, rows of the ring, and the slots behind it in which its first rows stand again.
struct ChannelHistory {
    Place place;
    Scalar position;
    uint32_t ring, again;
};

// A kernel's specification, and its canonical text.
nlohmann::json spec_json(const Specification &specification);
std::string kernel_spec(const Specification &specification);

// A number of rows so far. Where a kernel counts them itself it is a state. Elsewhere (a GPU) it is an
// input, and a step before the call has moved it on.
struct Count {
    bool counts = true; // the kernel does
    Given::Input so_far = {};
    Given::State state = {};
};

// A kernel, and where its arguments lie: in call order within each kind.
struct KernelWithArguments {
    Specification specification;
    std::vector<Place> inputs, weights;
    std::vector<Scalar> scalars;
    std::vector<Place> outputs;
    size_t result = 0; // which of the outputs are the rows of the op's result

    void add(const Given::Input &given) {
        if (given.place) inputs.push_back(*given.place);
    }
    void add(const Given::Weight &given) {
        if (given.place) weights.push_back(*given.place);
    }
    void add(const Given::Scalar &given) {
        if (given.scalar) scalars.push_back(*given.scalar);
    }
    void add(const Given::Output &given) {
        if (given.result) result = outputs.size();
        if (given.place) outputs.push_back(*given.place);
    }
    void add(const Given::State &given) {
        if (given.place) outputs.push_back(*given.place);
    }
    template <class One> void add(const std::vector<One> &several) {
        for (const One &given : several) add(given);
    }
};

template <class K>
KernelWithArguments kernel_with(const K &params, const typename K::template Arguments<Given> &arguments) {
    KernelWithArguments made{.specification = schedules::contract::specification(params)};
    arguments.each([&](const char *, const auto &given) { made.add(given); });
    return made;
}

class KernelCall {
public:
    virtual ~KernelCall() = default;
    const PlanContext &context;
    const Node &node;

    // ---- facts ----
    const Type &type(size_t input) const { return context.type(input); }
    const Graph &graph() const { return context.graph; }
    // The numbers of a constant input, of this node or of another.
    const Numbers &constant(size_t input) const { return constant(node, input); }
    const Numbers &constant(const Node &of, size_t input) const {
        return graph().constant(of.inputs[input])->data;
    }
    // Null for inputs and constants of the graph.
    const Node *producer(size_t input) const { return graph().producer(node.inputs[input]); }
    virtual const Type &result() const = 0;   // after all ops that are fused with this one
    virtual const Node *consumer() const = 0; // what the kernel absorbs (OpDef::absorb_consumer), or null
    virtual uint32_t rows() const = 0;        // output rows of one call
    virtual uint32_t all_rows() const = 0;    // output rows of a sequence or block
    virtual uint32_t rows_of_input(size_t input) const = 0; // of a sequence or block
    virtual bool channel_major(size_t input) const = 0;     // its rows lie [channel][row]
    // Whether the first input or the result lies so. In a draft, which finds out what could: true.
    virtual bool may_lie_by_channel() const = 0;
    virtual const Decisions &decisions() const = 0; // what the chosen algorithm has decided

    // ---- tiling; call one of these before rows() ----
    // All rows of a sequence or block at once.
    virtual void one_call() = 0;
    // `rows` rows per call, in order: for ops with carries.
    virtual void ordered_tiles(uint32_t rows) = 0;
    // One call for each of `parts` equal parts of a row, in order.
    virtual void ordered_parts(uint32_t parts) = 0;
    // All rows, one group of channels per call. Places of rows move by tile_bytes.
    virtual void channel_tiles(uint32_t tiles, uint64_t tile_bytes) = 0;
    // Several streams may run together: their weights are read once (param `streams`).
    virtual void serves_streams() = 0;

    // ---- where arguments lie ----
    // The rows that this call's output rows depend on, without history.
    virtual Place rows_of(size_t input) = 0;
    // Rows with their history, `reads` new rows per output row, of which the newest lies `ahead`
    // rows behind the output row's own.
    virtual Ring ring_of(size_t input, uint32_t reads = 1, uint32_t ahead = 0) = 0;
    // The older rows of the first input, where the op keeps them itself (OpDef::keeps_channels). None: they
    // lie in a ring of rows.
    virtual std::optional<ChannelHistory> channels_of_past() = 0;
    // All rows in every tile.
    virtual Place all_rows_of(size_t input) = 0;
    // Numbers that the artifact stores, and that the call reads.
    virtual Place packed(const std::string &name, Packed numbers) = 0;
    Place packed(const std::string &name, const std::vector<float> &values) {
        return packed(name, Packed::f32({static_cast<uint32_t>(values.size())}, values));
    }
    virtual ResultRows result_rows() = 0;
    // Known at run time: rows of an input before the end of the sequence; valid rows of an input for
    // pooling, at most those of the sequence.
    virtual Scalar length_of(size_t input) = 0;
    virtual Scalar valid_rows_of(size_t input) = 0;
    // A carry of the op's stream rule, by name: updated in place. `initial`: float32 numbers of the
    // carry's dims at the start. Without dims: zeros.
    virtual Place state(const std::string &name, Packed initial = {}) = 0;
    // A scalar of the host, in the carry `carry` of host_scalar_numbers. None: an offline run, which has its
    // initial number.
    virtual Expected<std::optional<Place>> host_scalar(const HostScalar &scalar,
                                                       const std::string &carry) = 0;
    // The carry of that name that counts rows, which every part of a call reads.
    virtual Count count_of(const std::string &name) = 0;

    // ---- the kernel ----
    // The kernel of contract K with its arguments.
    template <class K> void kernel(const K &params, const typename K::template Arguments<Given> &arguments) {
        kernel(kernel_with<K>(params, arguments));
    }
    virtual void kernel(KernelWithArguments of) = 0;
    // A pointwise op with rows as second operand, applied to the result before everything fused
    // after the op.
    virtual void epilogue(const std::string &op, Place rows) = 0;

    // ---- memory ----
    // Part of the artifact's weights.
    virtual Place stored(const std::string &name, Packed packed) = 0;
    // Steps of `prepare` fill it when the model is opened. All entries share it by `key`. *fresh:
    // it is new, and the caller must add the steps that fill it.
    virtual Place derived(const std::string &key, Elem elem, const std::vector<uint32_t> &dims,
                          bool *fresh) = 0;
    // Memory of the call's own. It outlives a call for `past` only.
    enum class Life {
        past, // the past in a form of the algorithm's own (spectra, running sums). Zero at the start. In a
              // stream this is a cache: the runtime rebuilds it from the history and never saves it
        call, // values that steps of one call of an offline run hand to each other. Holds anything at first
        open  // values that steps of `prepare` hand to each other while the model is opened
    };
    virtual Place memory(const std::string &name, Elem elem, const std::vector<uint32_t> &dims,
                         Life life = Life::past) = 0;
    // Where an input's rows lie, for further steps: all rows of an offline run or block.
    virtual Place rows_at(size_t input) const = 0;

    // ---- cost ----
    // The predicted time of this call in ns, for the report.
    virtual void cost(double ns) = 0;
    // The predicted cost in each of `blocks` blocks of the steps so far that do not run in every
    // block. A step that can choose its block takes the cheapest one.
    virtual std::vector<double> load(uint32_t blocks) const = 0;

    // ---- further steps ----
    virtual void prepare(Step step) = 0; // for the entry that runs when the model is opened
    // A step before this call. `replay`: as in replay().
    virtual void also(Step step, uint32_t replay) = 0;
    // The runtime rebuilds a cache from the history: it runs the last `firings` firings again and
    // discards their rows.
    virtual void replay(uint32_t firings) = 0;

protected:
    explicit KernelCall(const PlanContext &of) : context(of), node(of.node) {}
};

// A step that calls the kernel of contract K, for what an op does beside its own call.
template <class K>
void set_kernel(Step &step, const K &params, const typename K::template Arguments<Given> &arguments) {
    const KernelWithArguments made = kernel_with<K>(params, arguments);
    step.spec = kernel_spec(made.specification);
    for (auto *places : {&made.inputs, &made.weights})
        step.args.insert(step.args.end(), places->begin(), places->end());
    step.args.insert(step.args.end(), made.scalars.begin(), made.scalars.end());
    step.args.insert(step.args.end(), made.outputs.begin(), made.outputs.end());
}

} // namespace longwave::ir
