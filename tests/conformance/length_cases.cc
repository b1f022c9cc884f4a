#include "tests/conformance/length_cases.h"
#include "compiler/ir/op.h"
#include "tests/support/compiled_graph.h"
#include "tests/support/numbers.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace longwave::test {

namespace {

constexpr uint32_t capacity = 24, channels = 16;
constexpr double limit = 2e-6; // float32 sums of at most 24 rows

struct Case {
    const char *body; // from %u to %y; constants are drawn from their names
    uint32_t width = channels;
    bool gpu = true; // there is a kernel for a GPU
};

// %u has a value in every row, also in rows after the end of a sequence: a shift is added to the
// input.
const Case cases[] = {
    {"%k = const \"k\" : [1,16,9]\n%D = const \"D\" : [1,16]\n"
     "%y = long_conv(%u, %k, %D) {channels=1, two_sided=0}"},
    {"%k = const \"k\" : [2,16,9]\n%D = const \"D\" : [1,16]\n"
     "%y = long_conv(%u, %k, %D) {channels=1, two_sided=1}"},
    {"%w = const \"w\" : [16,5]\n%y = centred_conv(%u, %w) {bias=0}"},
    {"%w = const \"w\" : [16,16,3,1]\n"
     "%y = conv2d(%u, %w) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0}"},
    {"%w = const \"window\" : [40]\n%f = frame(%u, %w) {window=40, hop=2}\n%y = power_spectrum(%f) "
     "{n_fft=64}",
     1},
    {"%y = unframe(%u) {window=16, hop=6, ahead=0}"},
    {"%y = unframe(%u) {window=16, hop=6, ahead=2}"},
    {"%y = mean_window(%u) {frames=4}"},
    {"%p = image_patches(%u) {line=4, side=2}\n%w = const \"w\" : [16,64]\n%y = linear(%p, %w) {bias=0}"},
    {"%y = running_mean(%u) {mode=\"mean\"}"},
    {"%w = const \"kv\" : [33,16]\n%b = const \"there\" : [33]\n%kv = linear(%u, %w, %b) {bias=1}\n"
     "%y = softmax_attention(%kv, %u) {heads=2, window=0, causal=0}"},
    {"%w = const \"kv\" : [17,16]\n%b = const \"there\" : [17]\n%kv = linear(%u, %w, %b) {bias=1}\n"
     "%y = softmax_attention(%kv, %u) {heads=2, key_heads=1, window=5, causal=1}"},
    {"%t = const \"theta\" : [4]\n%y = rotary(%u, %t) {heads=2, interleaved=0}"},
    {"%t = const \"theta\" : [16]\n%y = lrpe(%u, %t) {heads=2}"},
    {"%y = linear_attention(%u, %u, %u) {heads=2}"},
    {"%w = sigmoid(%u)\n%y = decaying_attention(%u, %w, %u) {heads=2}"},
    {"%w = sigmoid(%u)\n%y = matrix_recurrence(%u, %u, %u, %w) "
     "{heads=2, key_heads=2, decay=\"key\", rank_one=0}",
     channels, false},
    {"%w = sigmoid(%u)\n%y = gated_scan(%w, %u)"},
    {"%w = sigmoid(%u)\n%y = gated_scan(%w, %u) {maximum=1}"},
    {"%y = cumulative_softmax(%u) {start=1}"},
    {"%y = cumulative_softmax(%u) {start=0, log=1}"},
    {"%p = const \"poles\" : [16,3,2]\n%c = const \"c\" : [2,16,3,2]\n%D = const \"D\" : [2,16]\n"
     "%s = state_space(%u, %u, %p, %c, %D) {channels=2, complex=1, state=32}\n"
     "%i = const \"index\" : [16]\n%y = take(%s, %i) {bands=1}"},
    {"%g = concat(%u, %u, %u, %u)\n%w = const \"w\" : [64,16]\n%y = lstm(%g, %w)", channels, false},
    {"%g = concat(%u, %u, %u)\n%w = const \"w\" : [48,16]\n%b = const \"b\" : [16]\n%y = gru(%g, %w, %b)",
     channels, false},
    {"%s = shift(%u) {rows=5}\n%y = add(%s, %u)"},
    {"%g = scalar(%u) {high=1.0, initial=0.5, low=0.0, name=\"gain\", smoothed=1}\n%y = mul(%u, %g)",
     channels, false},
    {"%y = pool(%u) {mode=\"max\", time=5, stride_t=2, frequency=1, stride_f=1, pad_f=0, lag=1, "
     "count_outside=0}"},
    {"%y = pool(%u) {mode=\"mean\", time=3, stride_t=1, frequency=1, stride_f=1, pad_f=0, lag=0, "
     "count_outside=0}"},
    {"%w = const \"w\" : [16]\n%b = const \"b\" : [16]\n%y = group_norm(%u, %w, %b) {groups=4, eps=1e-5}",
     channels, false},
    {"%m = mean(%u) {mode=\"max\"}\n%r = repeat(%u, %m)\n%y = add(%r, %u)"},
    {"%y = running_mean(%u) {mode=\"max\"}"},
    {"%y = sequence_softmax(%u)"},
    {"%y = linear_attention_offline(%u, %u, %u) {heads=2}"},
    {"%l = const \"lambda\" : [16,2]\n%c = const \"c\" : [16,2]\n%y = exponential_scan(%u, %l, %c)"},
    {"%k = const \"k\" : [16,24]\n%b = const \"b\" : [16]\n"
     "%y = circular_conv(%u, %k, %b) {transform=\"fft\", l_max=24}"},
    {"%w = const \"w\" : [16,1,3]\n%b = const \"b\" : [16]\n"
     "%y = grouped_conv(%u, %w, %b) {groups=\"channel\", half=0}"},
    {"%s = sequence_spectrum(%u) {transform=\"fft\", doubled=1, magnitude=0}\n"
     "%y = sequence_taps(%s) {transform=\"fft\"}"},
    {"%s = sequence_spectrum(%u) {transform=\"fft\", doubled=0, magnitude=0}\n"
     "%k = const \"k\" : [16,24]\n%b = const \"b\" : [16]\n"
     "%y = spectral_conv(%s, %k, %b) {transform=\"fft\", l_max=24}"},
};

// Ops that the graphs below add to every case, or that never see a sequence.
const std::set<std::string> poolings = {"mean", "pair_features"};

std::vector<double> weights_of(const std::string &name, size_t size) {
    std::vector<double> values = ir::random_numbers(size, static_cast<unsigned>(size));
    for (double &value : values) {
        if (name == "lambda") value = 0.5 + 0.4 * value;
        if (name == "poles") value = -0.2 + 0.1 * value;
        if (name == "index") value = std::floor(31.9 * std::fabs(value));
        if (name == "kv" || name == "k" || name == "w") value *= 0.3;
    }
    if (name == "kv") std::fill(values.end() - channels, values.end(), 0.0);
    if (name == "there") {
        std::fill(values.begin(), values.end(), 0.0);
        values.back() = 1; // every row is there
    }
    return values;
}

ir::Graph graph_of(const Case &c) {
    const std::string text = fmt::format(R"(graph "lengths"
%x = input "x" features : f32[{0}] @1/1
%scale = const "scale" : [{0}]
%shift = const "shift" : [{0}]
%u = affine(%x, %scale, %shift)
{1}
%mean = mean(%y) {{mode="mean"}}
%sum = mean(%y) {{mode="sum"}}
%last = mean(%y) {{mode="last"}}
%first = mean(%y) {{mode="first"}}
%most = mean(%y) {{mode="max"}}
%pair = pair_features(%mean, %last)
output "y" %y
output "mean" %mean
output "sum" %sum
output "last" %last
output "first" %first
output "most" %most
output "pair" %pair
)",
                                         c.width, c.body);
    ir::Weights weights;
    for (size_t at = 0; (at = text.find("const \"", at)) != std::string::npos;) {
        at += 7;
        const std::string name = text.substr(at, text.find('"', at) - at);
        const size_t open = text.find('[', at), close = text.find(']', at);
        size_t size = 1;
        for (size_t from = open; from < close; from = std::min(text.find(',', from + 1), close))
            size *= std::stoul(text.substr(from + 1));
        weights[name] = weights_of(name, size);
    }
    return ir::graph_of(text, weights);
}

bool reads_other_rows(const ir::Graph &graph, const ir::Node &node) {
    std::vector<ir::Type> types;
    for (const ir::ValueId id : node.inputs) types.push_back(graph.type(id));
    const ir::StreamRule rule = node.op->stream(node, types);
    return rule.history || !rule.carries.empty() || !rule.looks_ahead.empty();
}

bool takes_shorter(const ir::Graph &graph) {
    return std::none_of(graph.nodes.begin(), graph.nodes.end(),
                        [](const ir::Node &node) { return node.op->end == ir::EndRule::fixed; });
}

void compare(const cli::Model &model, const ir::Graph &graph, size_t rows, size_t length) {
    const size_t width = graph.type(graph.inputs[0].value).width();
    cli::Sequence in = sequence_of(random_numbers(rows * width, static_cast<uint32_t>(rows + length)), width);
    in.lengths = {length};
    const auto expected =
        ir::evaluate(graph, {{"x", ir::rows_of(width, {in.floats[0].begin(), in.floats[0].end()})}}, length);
    REQUIRE_MESSAGE(expected, expected.status().message());
    const Outputs found = outputs_of_run(model, in);
    REQUIRE(found.size() == expected->size());
    for (size_t i = 0; i < found.size(); i++) {
        const double error = distance(found[i], expected->at(i).data);
        CHECK_MESSAGE(error <= limit, graph.outputs[i].name, " of ", rows, " rows, ", length,
                      " valid: ", error);
    }
}

} // namespace

void check_lengths(const compiler::Options &options, const std::shared_ptr<lw_device> &device) {
    std::set<std::string> covered = poolings;
    for (const Case &c : cases) {
        INFO(std::string(c.body));
        const ir::Graph graph = graph_of(c);
        for (const ir::Node &node : graph.nodes)
            if (reads_other_rows(graph, node)) covered.insert(node.op->name);
        if (device && !c.gpu) continue;
        const auto bytes = compile_graph(graph, capacity, options);
        REQUIRE_MESSAGE(bytes, bytes.status().message());
        const auto model = device ? cli::Model::open(*bytes, device) : cli::Model::open(*bytes);
        REQUIRE_MESSAGE(model, model.status().message());
        compare(*model, graph, capacity, 11);
        compare(*model, graph, capacity, capacity);
        if (!takes_shorter(graph)) continue;
        compare(*model, graph, 18, 18);
        compare(*model, graph, 18, 11);
    }
    // An op with a stream rule of its own reads other rows, for some attributes at least. Where
    // there are streams only, no run has a length.
    for (const ir::OpDef *op : ir::all_ops()) {
        const bool own_rule = op->stream != ir::find_op("relu")->stream;
        CHECK_MESSAGE((!own_rule || op->of_passes || covered.contains(op->name)), std::string(op->name),
                      " is in no case");
    }
}

} // namespace longwave::test
