// What each op remembers in a stream, checked against its own reference: a row must not depend on
// older rows than the rule keeps, and on no newer ones.
#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace stream_rules_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

StreamRule rule_of(const Graph &graph, const Node &node) {
    std::vector<Type> types;
    for (const ValueId id : node.inputs) types.push_back(graph.type(id));
    return node.op->stream(node, types);
}

StreamRule rule(const std::string &op, const std::string &dims, const std::string &constants,
                const std::string &attributes) {
    std::string text = "%x = input \"x\" features : f32" + dims + " @1/1\n", inputs = "%x";
    size_t at = 0;
    for (int i = 0; at < constants.size(); ++i) {
        const size_t end = constants.find(' ', at);
        text += "%c" + std::to_string(i) + " = const \"c\" : " + constants.substr(at, end - at) + "\n";
        inputs += ", %c" + std::to_string(i);
        at = end == std::string::npos ? constants.size() : end + 1;
    }
    const Graph graph =
        graph_of(text + "%y = " + op + "(" + inputs + ") {" + attributes + "}\noutput \"y\" %y");
    return rule_of(graph, graph.nodes[0]);
}

void check_history(const StreamRule &rule, uint32_t rows) {
    CHECK(rule.looks_ahead.empty());
    CHECK(rule.history == rows);
}

} // namespace

TEST_CASE("stream: frames keep window − hop samples, none when the hop is longer") {
    check_history(rule("frame", "[1]", "[400]", "window=400, hop=160"), 240);
    check_history(rule("frame", "[1]", "[100]", "window=100, hop=160"), 0);
}

TEST_CASE("stream: convolutions keep what their kernel reaches") {
    check_history(rule("conv2d", "[8]", "[4,8,3,1]", "stride_t=1, stride_f=1, groups=1, bias=0, frequency=0"),
                  2);
    check_history(rule("conv2d", "[8]", "[4,8,3,1]", "stride_t=2, stride_f=1, groups=1, bias=0, frequency=0"),
                  1);
    check_history(rule("conv2d", "[8]", "[4,8,1,1]", "stride_t=2, stride_f=1, groups=1, bias=0, frequency=0"),
                  0);
    check_history(rule("conv2d", "[8]", "[4,8,3,1]",
                       "stride_t=1, stride_f=1, groups=1, bias=0, frequency=0, dilation=5"),
                  10);
    check_history(rule("long_conv", "[4]", "[1,4,64] [1,4]", "channels=1, two_sided=0"), 63);
    check_history(rule("mean_window", "[4]", "", "frames=15"), 14);
}

TEST_CASE("stream: the rest reads its own row or keeps a running state") {
    CHECK(rule("linear", "[4]", "[2,4]", "bias=0").history == 0);
    CHECK(rule("gelu", "[4]", "", "").history == 0);
    CHECK(rule("mean", "[4]", "", "mode=\"mean\"").looks_ahead.empty());
    CHECK(rule("mean", "[4]", "", "mode=\"sum\"").looks_ahead.empty());
    CHECK(rule("mean", "[4]", "", "mode=\"last\"").history == 0);
    const StreamRule running = rule("running_mean", "[4]", "", "mode=\"mean\"");
    REQUIRE(running.carries.size() == 2);
    CHECK(running.carries[0].elem == Elem::f64);
    CHECK(running.carries[0].dims == std::vector<uint32_t>{16}); // a padded row of sums
    CHECK(running.carries[1].dims == std::vector<uint32_t>{1});  // and the number of rows
}

TEST_CASE("stream: what looks ahead says what it reads") {
    const StreamRule two_sided = rule("long_conv", "[4]", "[2,4,64] [1,4]", "channels=1, two_sided=1");
    CHECK(!two_sided.looks_ahead.empty());
    CHECK(two_sided.looks_ahead == "it is bidirectional (the second kernel reads samples after t)");
    CHECK(rule("mean", "[4]", "", "mode=\"first\"").looks_ahead.empty() == false);
    CHECK(rule("image_patches", "[4]", "", "line=4, side=2").looks_ahead ==
          "a patch has pixels of later lines of the image");
    const Graph pair = graph_of("%x = input \"x\" features : f32[2] @1/1\n%a = mean(%x) {mode=\"mean\"}\n%y "
                                "= pair_features(%a, %a)\noutput \"y\" %y");
    CHECK(rule_of(pair, pair.nodes[1]).looks_ahead.empty() == false);
    const Graph repeated =
        graph_of("%x = input \"x\" features : f32[2] @1/1\n%a = mean(%x) {mode=\"mean\"}\n%y "
                 "= repeat(%x, %a)\noutput \"y\" %y");
    CHECK(rule_of(repeated, repeated.nodes[1]).looks_ahead ==
          "the value is known at the end of the sequence");
}

TEST_CASE("stream: every op that is not refused is causal, and forgets beyond its history") {
    struct Case {
        const char *op, *dims, *constants, *attributes;
    };
    // Each runs on 24 rows; then one input row changes, and only the rows that may depend on it
    // change.
    for (const Case &c :
         {Case{"frame", "[1]", "[5]", "window=5, hop=2"},
          Case{"conv2d", "[3]", "[2,3,4,1]", "stride_t=3, stride_f=1, groups=1, bias=0, frequency=0"},
          Case{"conv2d", "[3]", "[2,1,2,3]", "stride_t=1, stride_f=1, groups=1, bias=0, frequency=1"},
          Case{"long_conv", "[2]", "[1,2,6] [1,2]", "channels=1, two_sided=0"},
          Case{"mean_window", "[2]", "", "frames=4"}, Case{"linear", "[2]", "[3,2]", "bias=0"},
          Case{"glu", "[4]", "", ""}, Case{"softmax", "[3]", "", ""}}) {
        CAPTURE(c.op);
        std::string text = std::string("%x = input \"x\" features : f32") + c.dims + " @1/1\n", inputs = "%x";
        Weights weights;
        std::string constants = c.constants;
        for (int i = 0; !constants.empty(); ++i) {
            const std::string shape = constants.substr(0, constants.find(' ')),
                              name = "c" + std::to_string(i);
            constants.erase(0, shape.size() + 1);
            text += "%" + name + " = const \"" + name + "\" : " + shape + "\n";
            inputs += ", %" + name;
            weights[name] =
                random_numbers(graph_of("%a = const \"a\" : " + shape + "\noutput \"a\" %a").type(0).width(),
                               static_cast<unsigned>(i));
        }
        const Graph graph =
            graph_of(text + "%y = " + c.op + "(" + inputs + ")" +
                         (*c.attributes ? std::string(" {") + c.attributes + "}" : "") + "\noutput \"y\" %y",
                     weights);
        const Node &node = graph.nodes[0];
        const uint32_t older = rule_of(graph, node).history, hop = graph.type(node.output).clock.den;
        const size_t width = graph.type(0).width();
        const auto x = random_numbers(24 * width, 9);
        const Array before = run(graph, rows_of(width, x));
        for (size_t changed = 0; changed < 24; ++changed) {
            auto other = x;
            for (size_t i = 0; i < width; ++i) other[changed * width + i] += 1.0 + static_cast<double>(i);
            const Array after = run(graph, rows_of(width, other));
            for (size_t m = 0; m < before.rows; ++m) {
                // Row m of the output may read input rows [m·hop − older, (m + 1)·hop).
                const bool may = changed < (m + 1) * hop && changed + older >= m * hop;
                const bool same = std::equal(before.row(m), before.row(m) + before.width, after.row(m));
                if (!may) CHECK(same);
                const bool newest = changed + 1 == (m + 1) * hop;
                if (newest) CHECK_FALSE(same);
            }
        }
    }
}

TEST_CASE("ops: all are in the table under their own names, sorted") {
    CHECK(all_ops().size() >= 26);
    for (size_t i = 0; i < all_ops().size(); ++i) {
        const OpDef *op = all_ops()[i];
        CHECK(find_op(op->name) == op);
        CHECK((op->infer && op->stream && op->reference));
        if (i) CHECK(std::string(all_ops()[i - 1]->name) < op->name);
    }
    CHECK(find_op("matmul") == nullptr);
    CHECK(find_op("") == nullptr);
}

} // namespace stream_rules_test
