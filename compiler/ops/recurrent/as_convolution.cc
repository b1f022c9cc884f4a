// convolution: an offline run of a state space as a long convolution. Its taps are the answer to an
// impulse, which the runtime computes when it opens the model. So the file holds poles alone. The
// convolution is planned in a small graph of its own, by the algorithms of long_conv.
#include "compiler/ops/recurrent/state_space.h"
#include "compiler/ops/support/rules.h"
#include "schedules/contract/kernels/recurrent.h"

namespace longwave::ir {
namespace {

using compiler::Packed;

// x -> long_conv(x, exponential_taps(poles, c), D), with as many taps as the run has rows.
class Inner {
public:
    explicit Inner(const PlanContext &outer)
        : outer_(outer), space_(outer.type(1), static_cast<uint32_t>(outer.node.integer("channels"))),
          graph_(made()), context_{.graph = graph_,
                                   .node = graph_.nodes[1],
                                   .rows = outer.rows,
                                   .streaming = false,
                                   .alike = outer.alike,
                                   .before = outer.before,
                                   .costs = outer.costs,
                                   .device = outer.device} {}
    Inner(const Inner &) = delete;
    const PlanContext &context() const { return context_; }

private:
    enum Value : ValueId { x, poles, c, d, taps, y };

    Graph made() const {
        Graph graph;
        graph.inputs.push_back({.name = "x", .value = x});
        graph.values.push_back({outer_.type(0), ir::Value::Kind::input, 0});
        for (uint32_t i = 0; i < 3; ++i) {
            graph.constants.push_back(*outer_.graph.constant(outer_.node.inputs[1 + i]));
            graph.values.push_back({outer_.type(1 + i), ir::Value::Kind::constant, i});
        }
        Type kernel = outer_.type(1);
        kernel.dims = {space_.copies, space_.heads, outer_.rows};
        graph.values.push_back({kernel, ir::Value::Kind::node, 0});
        graph.values.push_back({outer_.graph.type(outer_.node.output), ir::Value::Kind::node, 1});
        const std::string &layer = outer_.node.layer;
        graph.nodes.push_back({&op_exponential_taps, {}, {poles, c}, taps, layer});
        graph.nodes.push_back({&op_long_conv,
                               {{"channels", int64_t{space_.copies}}, {"two_sided", int64_t{0}}},
                               {x, taps, d},
                               y,
                               layer});
        return graph;
    }

    const PlanContext &outer_;
    const StateSpace space_;
    const Graph graph_;
    const PlanContext context_;
};

// The call of the state space, seen as a call of the long convolution.
class InnerCall : public KernelCall {
public:
    InnerCall(KernelCall &outer, const Inner &inner) : KernelCall(inner.context()), outer_(outer) {}

    const Type &result() const override { return outer_.result(); }
    const Node *consumer() const override { return outer_.consumer(); }
    uint32_t rows() const override { return outer_.rows(); }
    uint32_t all_rows() const override { return outer_.all_rows(); }
    uint32_t rows_of_input(size_t input) const override { return outer_.rows_of_input(input); }
    bool channel_major(size_t input) const override { return outer_.channel_major(input); }
    bool may_lie_by_channel() const override { return outer_.may_lie_by_channel(); }
    const Decisions &decisions() const override { return outer_.decisions(); }
    void kernel(KernelWithArguments of) override { outer_.kernel(std::move(of)); }
    void serves_streams() override { outer_.serves_streams(); }
    Place rows_of(size_t input) override { return outer_.rows_of(input); }
    Ring ring_of(size_t input, uint32_t reads, uint32_t ahead) override {
        return outer_.ring_of(input, reads, ahead);
    }
    std::optional<ChannelHistory> channels_of_past() override { return outer_.channels_of_past(); }
    Place all_rows_of(size_t input) override { return outer_.all_rows_of(input); }
    Place packed(const std::string &name, Packed numbers) override {
        return outer_.packed(name, std::move(numbers));
    }
    ResultRows result_rows() override { return outer_.result_rows(); }
    Scalar length_of(size_t input) override { return outer_.length_of(input); }
    Scalar valid_rows_of(size_t input) override { return outer_.valid_rows_of(input); }
    Place state(const std::string &name, Packed initial) override {
        return outer_.state(name, std::move(initial));
    }
    Expected<std::optional<Place>> host_scalar(const HostScalar &scalar, const std::string &carry) override {
        return outer_.host_scalar(scalar, carry);
    }
    Count count_of(const std::string &name) override { return outer_.count_of(name); }
    void one_call() override { outer_.one_call(); }
    void ordered_tiles(uint32_t rows) override { outer_.ordered_tiles(rows); }
    void ordered_parts(uint32_t parts) override { outer_.ordered_parts(parts); }
    void channel_tiles(uint32_t tiles, uint64_t tile_bytes) override {
        outer_.channel_tiles(tiles, tile_bytes);
    }
    void epilogue(const std::string &op, Place rows) override { outer_.epilogue(op, rows); }
    Place stored(const std::string &name, Packed packed) override {
        return outer_.stored(name, std::move(packed));
    }
    Place derived(const std::string &key, Elem elem, const std::vector<uint32_t> &dims,
                  bool *fresh) override {
        return outer_.derived(key, elem, dims, fresh);
    }
    Place memory(const std::string &name, Elem elem, const std::vector<uint32_t> &dims, Life life) override {
        return outer_.memory(name, elem, dims, life);
    }
    Place rows_at(size_t input) const override { return outer_.rows_at(input); }
    void cost(double ns) override { outer_.cost(ns); }
    std::vector<double> load(uint32_t blocks) const override { return outer_.load(blocks); }
    void prepare(Step step) override { outer_.prepare(std::move(step)); }
    void also(Step step, uint32_t replay) override { outer_.also(std::move(step), replay); }
    void replay(uint32_t firings) override { outer_.replay(firings); }

private:
    KernelCall &outer_;
};

const Algorithm &chosen(const Decisions &decisions) {
    return *op_long_conv.algorithms[decisions.at("of_long_conv")];
}

Estimate estimate(const PlanContext &context) {
    if (context.node.integer("complex"))
        return {.refused = "its input has imaginary parts", .cost = 0, .decisions = {}};
    const StateSpace space(context.type(1), static_cast<uint32_t>(context.node.integer("channels")));
    if (growth(space, context.graph.constant(context.node.inputs[1])->data) > 0)
        return {.refused = "a state grows", .cost = 0, .decisions = {}};
    const Inner inner(context);
    Estimate best{.refused = "the device has no kernel", .cost = 0, .decisions = {}};
    for (uint32_t i = 0; i < op_long_conv.algorithms.size(); ++i) {
        const Algorithm &algorithm = *op_long_conv.algorithms[i];
        if (!context.device.has_any_of(algorithm.offline)) continue;
        Estimate found = algorithm.estimate(inner.context());
        if (!found.refused.empty() || (best.refused.empty() && best.cost <= found.cost)) continue;
        best = std::move(found);
        best.decisions.put("of_long_conv", i);
    }
    return best;
}

Reach reach(const PlanContext &context, const Decisions &decisions) {
    const Inner inner(context);
    const Algorithm &algorithm = chosen(decisions);
    return algorithm.reach ? algorithm.reach(inner.context(), decisions) : Reach{.history = context.rows - 1};
}

Status plan(KernelCall &call) {
    const Inner inner(call.context);
    InnerCall made(call, inner);
    return chosen(call.decisions()).plan(made);
}

uint32_t transformed(const Decisions &decisions) {
    const Algorithm &algorithm = chosen(decisions);
    return algorithm.transformed ? algorithm.transformed(decisions) : 0;
}

} // namespace

const OpDef op_exponential_taps{.name = "exponential_taps"};

Step exponential_taps_step(KernelCall &call, const Node &made, uint32_t taps, const Place &to) {
    const StateSpace space(call.graph().type(made.inputs[0]),
                           static_cast<uint32_t>(call.node.integer("channels")));
    Step step{.name = call.node.layer + " exponential_taps", .layer = call.node.layer};
    StateSpaceNumbers numbers(space, call.constant(made, 0), call.constant(made, 1), call.constant(2));
    set_kernel<contract::ExponentialTaps>(
        step, {.channels = space.heads, .copies = space.computed, .poles = space.poles, .taps = taps},
        {.pole_real = call.stored("poles.real", std::move(numbers.pole_real)),
         .pole_imaginary = call.stored("poles.imaginary", std::move(numbers.pole_imaginary)),
         .c_real = call.stored("c.real", std::move(numbers.c_real)),
         .c_imaginary = call.stored("c.imaginary", std::move(numbers.c_imaginary)),
         .D = call.stored("D", std::move(numbers.direct)),
         .k = to});
    return step;
}

const Algorithm state_space_as_convolution{.name = "convolution",
                                           .offline = devices::cpu_kernels,
                                           .stream = devices::no_kernels,
                                           .estimate = estimate,
                                           .reach = reach,
                                           .plan = plan,
                                           .transformed = transformed};

} // namespace longwave::ir
