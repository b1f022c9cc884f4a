#include "compiler/driver/graphs.h"
#include "compiler/ir/op.h"
#include "compiler/layers/lower.h"
#include "compiler/ops/linear/matrix_multiply.h"
#include "compiler/passes/passes.h"
#include "compiler/plan/look_back.h"
#include "compiler/plan/windowed_stream.h"
#include <algorithm>
#include <fmt/format.h>

namespace longwave::compiler {

namespace {

constexpr uint32_t least_capacity = 1024;

// Capacity of an offline run: the option, else the length of the package, else one second of audio,
// else the longest sequence that an op of the model was made for, else so many ticks that every lag
// of every layer and two blocks behind it fit: whole multiples of 1024. `lowered`: the graph before
// kernels are materialised.
uint32_t run_capacity(const ir::Graph &lowered, uint32_t package_length, const Options &options) {
    if (options.window) return options.window; // the same plan: the stream has the bits of its runs
    if (options.length) return options.length;
    if (package_length) return package_length;
    if (lowered.inputs[0].kind == ir::GraphInput::Kind::audio) return lowered.inputs[0].sample_rate;
    uint32_t longest = 0;
    for (const ir::Node &node : lowered.nodes)
        if (node.op->natural_length) longest = std::max(longest, node.op->natural_length(node));
    const LookBack back = look_back(lowered);
    if (longest > back.ticks) return longest;
    const uint32_t block =
        options.blocks.empty() ? 1 : *std::max_element(options.blocks.begin(), options.blocks.end());
    const uint64_t ticks = uint64_t{back.ticks} + 1 + 2 * uint64_t{block};
    const uint64_t whole = (ticks + least_capacity - 1) / least_capacity * least_capacity;
    return static_cast<uint32_t>(std::clamp<uint64_t>(whole, std::max(longest, least_capacity), 1u << 24));
}

// The same where an offline run makes the golden vectors of every stream (pack): these reach behind
// the longest lag.
uint32_t packable_capacity(const ir::Graph &lowered, uint32_t package_length, const Options &options) {
    const uint32_t usual = run_capacity(lowered, package_length, options);
    if (options.window || options.length) return usual;
    const uint32_t block =
        options.blocks.empty() ? 1 : *std::max_element(options.blocks.begin(), options.blocks.end());
    const uint64_t reach = uint64_t{look_back(lowered).ticks} + 2 * uint64_t{block} + 2 * least_capacity;
    const uint64_t whole = (reach + least_capacity - 1) / least_capacity * least_capacity;
    return static_cast<uint32_t>(std::clamp<uint64_t>(whole, usual, std::max(usual, 1u << 24)));
}

// An offline run must be long enough for one row of every layer.
Status check_capacity(const ir::Graph &graph, uint32_t ticks) {
    for (const ir::Node &node : graph.nodes) {
        const ir::Type &type = graph.type(node.output);
        if (type.rows(ticks) > 0) continue;
        return Status::usage(fmt::format(
            "--length {}: offline runs are too short for layer {}, which needs {} input ticks for one row",
            ticks, node.layer, std::max(type.whole, (type.clock.den + type.clock.num - 1) / type.clock.num)));
    }
    return Status::ok();
}

Status check_capacities(const ModelGraphs &model, const Options &options) {
    if (!options.offline) return Status::ok();
    LW_TRY(check_capacity(model.offline, model.capacity));
    for (const uint32_t ticks : options.further_lengths) LW_TRY(check_capacity(model.offline, ticks));
    return Status::ok();
}

// Exact rewrites of the lowered graph, each verified.
//
// `unmixed`: without those that mix numbers of several tensors.
Expected<ir::Graph> rewritten(Passes &passes, ir::Graph graph, bool unmixed) {
    LW_ASSIGN(graph, passes.run("fold_constants", [&] { return fold_constants(graph); }));
    LW_ASSIGN(graph, passes.run("materialise_kernels", [&] { return materialise_kernels(graph); }));
    LW_ASSIGN(graph, passes.run("separate_channels", [&] { return separate_channels(graph); }));
    if (!unmixed) {
        LW_ASSIGN(graph, passes.run("merge_branches", [&] { return merge_branches(graph); }));
        LW_ASSIGN(graph, passes.run("fold_norms", [&] { return fold_norms(graph); }));
        LW_ASSIGN(graph, passes.run("merge_chains", [&] { return merge_chains(graph); }));
        LW_ASSIGN(graph, passes.run("merge_products", [&] { return merge_products(graph); }));
    }
    LW_ASSIGN(graph, passes.run("split_lone", [&] { return split_lone(graph); }));
    return passes.run("order_elements", [&] { return order_elements(graph); });
}

bool rounds_activations(const ir::Graph &graph) {
    return std::any_of(graph.nodes.begin(), graph.nodes.end(),
                       [](const ir::Node &node) { return node.has(ir::activation_steps.name); });
}

// The stream of the model, where it has one and the options ask for it.
Status add_stream(ModelGraphs &model, Passes &passes, const Options &options) {
    if (options.stream != StreamMode::none) {
        auto made = passes.run("make_streaming", [&] { return make_streaming(model.offline); });
        model.streams = static_cast<bool>(made);
        if (made) model.stream = *std::move(made);
        else if (options.stream == StreamMode::required || made.status().fault() == Fault::internal)
            return made.status();
        else model.no_stream = made.status().message();
    }
    if (options.window) { // make_streaming only answers whether the model looks ahead, for the report
        model.streams = false;
        return check_window(model.offline, options.window, options.hop);
    }
    if (!model.streams && !options.offline)
        return Status::usage("nothing to compile: neither offline runs nor a stream");
    return Status::ok();
}

} // namespace

Expected<ModelGraphs> make_graphs(Passes &passes, package::Package &package, const Request &request,
                                  const Options &options) {
    ModelGraphs model;
    LW_ASSIGN(ir::Graph graph, passes.run("lower", [&] { return lower(package); }));
    model.capacity = options.packable ? packable_capacity(graph, package.length, options)
                                      : run_capacity(graph, package.length, options);
    model.identity =
        identity_of(package, options.weights + (request.byte_activations ? " int8 activations" : ""));
    for (auto &[key, tensor] : package.weights) tensor.data = {}; // constants hold the numbers now
    LW_ASSIGN(model.exact, rewritten(passes, std::move(graph), options.unmixed));
    // With int8 activations the rows are rounded as coarsely as the weights: they keep their ranges.
    LW_ASSIGN(graph, passes.run("balance_inputs", [&]() -> Expected<ir::Graph> {
        return request.byte_activations ? Expected<ir::Graph>(model.exact)
                                        : balance_inputs(model.exact, request.weights);
    }));
    LW_ASSIGN(graph, passes.run("store_weights", [&] {
        return store_weights(graph, request.weights, request.byte_activations, model.stored);
    }));
    if (model.stored.empty()) model.exact = {};
    if (request.byte_activations && !rounds_activations(graph))
        return Status::usage(
            "--activations int8 is for layers with int8 or int4 weights: add --weights int8 or int4");
    LW_ASSIGN(model.offline, passes.run("pack_outputs", [&] { return pack_outputs(graph); }));
    LW_TRY(check_capacities(model, options));
    LW_TRY(add_stream(model, passes, options));
    return model;
}

} // namespace longwave::compiler
