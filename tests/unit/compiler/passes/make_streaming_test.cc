// Streams of ops that look ahead: who waits for whom, how late rows come, and what cannot begin
// late.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace make_streaming_test {

using namespace longwave;
using namespace longwave::ir;
using compiler::make_streaming;

namespace {

const std::string head =
    "%x = input \"x\" features : f32[4] @1/1\n%w = const \"w\" : [4,4,5,1]\n%d = const \"d\" : [4,5]\n";

std::string conv(const std::string &from, int stride, int ahead) {
    return "conv2d(" + from + ", %w) {stride_t=" + std::to_string(stride) +
           ", stride_f=1, groups=1, bias=0, frequency=0, ahead=" + std::to_string(ahead) + "}";
}

// The ops of the stream with the rows that each waits.
std::vector<std::string> ops(const Graph &graph) {
    std::vector<std::string> names;
    for (const Node &node : graph.nodes)
        names.push_back(std::string(node.op->name) +
                        (node.has("rows") ? " " + std::to_string(node.integer("rows")) : ""));
    return names;
}

Graph stream_of(const std::string &nodes) {
    auto made = make_streaming(graph_of(head + nodes));
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(verify(*made));
    return *std::move(made);
}

std::string refusal(const std::string &nodes) {
    const auto made = make_streaming(graph_of(head + nodes));
    REQUIRE_FALSE(made);
    CHECK(made.status().fault() == Fault::usage);
    return made.status().message();
}

uint32_t delay(const Graph &graph) { return graph.type(graph.outputs[0].value).delay; }

} // namespace

TEST_CASE("make_streaming: convolutions that look ahead come late, and delays add up") {
    const Graph graph =
        stream_of("%a = " + conv("%x", 1, 2) + "\n%b = centred_conv(%a, %d) {bias=0}\noutput \"y\" %b");
    CHECK(ops(graph) == std::vector<std::string>{"late_conv2d", "late_conv2d"});
    CHECK(delay(graph) == 4);
}

TEST_CASE("make_streaming: the branch that is early waits, and only for the node that meets them") {
    const Graph graph =
        stream_of("%a = " + conv("%x", 1, 3) +
                  "\n%b = add(%a, %x)\n%c = relu(%x)\n%e = add(%b, %c)\noutput \"y\" %e\noutput \"c\" %c");
    CHECK(ops(graph) == std::vector<std::string>{"late_conv2d", "wait 3", "add", "relu", "wait 3", "add"});
    CHECK(delay(graph) == 3);
    CHECK(graph.type(graph.outputs[1].value).delay == 0);
}

const std::string both = "%k = const \"k\" : [2,4,3]\n%z = const \"z\" : [1,4]\n%b = long_conv(%x, %k, %z) "
                         "{channels=1, two_sided=1";

TEST_CASE("make_streaming: a long convolution waits for its taps ahead, if it says how many they are") {
    const Graph offline = graph_of(head + both + ", ahead=3}\n%c = add(%b, %x)\noutput \"y\" %c",
                                   {{"k", random_numbers(24, 1)}, {"z", random_numbers(4, 2)}});
    const auto stream = make_streaming(offline);
    REQUIRE_MESSAGE(stream, stream.status().message());
    CHECK(ops(*stream) == std::vector<std::string>{"late_long_conv", "wait 3", "add"});
    CHECK(delay(*stream) == 3);
    const Array x = rows_of(4, random_numbers(4 * 9, 3)), late = run(*stream, x), expected = run(offline, x);
    for (size_t i = 0; i < expected.data.size(); i++)
        CHECK(late.data[i] == doctest::Approx(expected.data[i]).epsilon(1e-12));
    CHECK(refusal(both + "}\noutput \"y\" %b").find("looks ahead: it is bidirectional") != std::string::npos);
    const auto more =
        make_streaming(graph_of(head + both + ", ahead=2}\noutput \"y\" %b", {{"k", random_numbers(24, 1)}}));
    REQUIRE_FALSE(more);
    CHECK(more.status().message().find("ahead is 2, and a tap further ahead is not zero") !=
          std::string::npos);
}

TEST_CASE("make_streaming: rows wait until they fit a stride") {
    const Graph graph =
        stream_of("%a = " + conv("%x", 1, 1) + "\n%b = " + conv("%a", 2, 2) + "\noutput \"y\" %b");
    // 1 + 2 rows late are no whole row of every second one: one more
    CHECK(ops(graph) == std::vector<std::string>{"late_conv2d", "wait 1", "late_conv2d"});
    CHECK(delay(graph) == 4);
}

TEST_CASE("make_streaming: what does not look ahead stays as it is") {
    const Graph graph = stream_of("%a = " + conv("%x", 1, 0) + "\n%b = add(%a, %x)\noutput \"y\" %b");
    CHECK(ops(graph) == std::vector<std::string>{"conv2d", "add"});
    CHECK(delay(graph) == 0);
}

TEST_CASE("make_streaming: the stream's references give the rows of the offline graph") {
    const Graph offline =
        graph_of(head + "%a = " + conv("%x", 1, 2) +
                     "\n%b = centred_conv(%a, %d) {bias=0}\n%c = add(%b, %x)\noutput \"y\" %c",
                 {{"w", random_numbers(80, 1)}, {"d", random_numbers(20, 2)}});
    const auto made = make_streaming(offline);
    REQUIRE(made);
    const Array x = rows_of(4, random_numbers(4 * 23, 3));
    CHECK(run(*made, x).data == run(offline, x).data);
}

TEST_CASE("make_streaming: states that take in their first rows cannot begin late, and are all named") {
    const std::string found = refusal(
        "%a = " + conv("%x", 1, 2) +
        "\n%b = mean_window(%a) {frames=3} ; layer one\n%c = running_mean(%a) {mode=\"mean\"} ; layer two\n"
        "%e = add(%b, %c)\noutput \"y\" %e");
    CHECK(found.find("layer one reads rows that come 2 input ticks late") != std::string::npos);
    CHECK(found.find("layer two reads rows that come 2 input ticks late") != std::string::npos);
    CHECK(found.find("--window N --hop M") != std::string::npos);
}

TEST_CASE("make_streaming: ops without a form that waits are refused as before") {
    CHECK(refusal("%g = const \"g\" : [4]\n%a = group_norm(%x, %g, %g) {groups=1, eps=0.1} ; layer n\noutput "
                  "\"y\" %a")
              .find("layer n looks ahead") != std::string::npos);
}

} // namespace make_streaming_test
