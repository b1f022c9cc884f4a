// Which nodes share a kernel.
#include "compiler/plan/fuse_regions.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace fuse_regions_test {

using namespace longwave;
using namespace longwave::ir;
using compiler::fuse_regions;
using compiler::Region;

namespace {

// "conv+gelu": the op of the anchor, a gate, what is applied behind; regions in the order they run.
std::string regions_of(const Graph &graph, const std::set<std::string> &apart = {}) {
    std::string text;
    for (const Region &region : fuse_regions(graph, apart)) {
        text += text.empty() ? "" : " ";
        if (region.producer)
            text += std::string(graph.producer(graph.nodes[region.anchor].inputs[0])->op->name) + ">";
        if (!region.pointwise) text += graph.nodes[region.anchor].op->name;
        if (region.consumer) text += std::string("*") + region.consumer->op->name;
        for (size_t node : region.epilogue) text += std::string("+") + graph.nodes[node].op->name;
    }
    return text;
}

const char *const linears = R"(%x = input "x" features : f32[32] @1/1
        %w = const "w" : [32,32]
        )";

} // namespace

TEST_CASE("fuse_regions: pointwise ops join the kernel whose result only they read") {
    const std::string text = linears;
    CHECK(regions_of(graph_of(
              text + "%a = linear(%x, %w) {bias=0}\n%b = gelu(%a)\n%c = add(%b, %x)\noutput \"y\" %c")) ==
          "linear+gelu+add");
    // A value that two nodes read, or that is an output, is stored.
    CHECK(regions_of(graph_of(
              text + "%a = linear(%x, %w) {bias=0}\n%b = gelu(%a)\n%c = add(%a, %b)\noutput \"y\" %c")) ==
          "linear +gelu+add");
    CHECK(regions_of(graph_of(
              text + "%a = linear(%x, %w) {bias=0}\n%b = gelu(%a)\noutput \"y\" %b\noutput \"a\" %a")) ==
          "linear +gelu");
}

TEST_CASE("fuse_regions: nothing pointwise is fused with a layer that another device computes; gates are") {
    const Graph graph =
        graph_of(std::string(linears) +
                 "%a = linear(%x, %w) {bias=0} ; layer up\n%b = glu(%a) ; layer gate\n%c = relu(%b) ; "
                 "layer act\n%d = gelu(%c) ; layer act\noutput \"y\" %d");
    CHECK(regions_of(graph) == "linear*glu+relu+gelu");
    CHECK(regions_of(graph, {"act"}) == "linear*glu +relu+gelu");
    CHECK(regions_of(graph, {"up"}) == "linear*glu +relu+gelu");
    CHECK(regions_of(graph, {"up", "act"}) == "linear*glu+relu+gelu");
}

TEST_CASE("fuse_regions: a gate is part of the product before it, unless something else reads that") {
    const std::string text = linears;
    CHECK(regions_of(graph_of(
              text + "%a = linear(%x, %w) {bias=0}\n%b = glu(%a)\n%c = relu(%b)\noutput \"y\" %c")) ==
          "linear*glu+relu");
    CHECK(regions_of(graph_of(
              text + "%a = linear(%x, %w) {bias=0}\n%b = glu(%a)\noutput \"y\" %b\noutput \"a\" %a")) ==
          "linear glu");
}

TEST_CASE("fuse_regions: a view is read through by the kernel behind it") {
    const Graph graph = graph_of(R"(%x = input "x" audio rate=16000 : f32[1] @1/1
        %w = const "w" : [64]
        %f = frame(%x, %w) {hop=32, window=64}
        %p = power_spectrum(%f) {n_fft=64}
        %l = log(%p) {offset=1e-05}
        output "y" %l)");
    CHECK(regions_of(graph) == "frame>power_spectrum+log");
}

TEST_CASE("fuse_regions: a view that something else reads too has a kernel of its own as well") {
    const Graph graph = graph_of(R"(%x = input "x" audio rate=16000 : f32[1] @1/1
        %w = const "w" : [64]
        %m = const "m" : [8,64]
        %f = frame(%x, %w) {hop=32, window=64}
        %p = power_spectrum(%f) {n_fft=64}
        %y = linear(%f, %m) {bias=0}
        output "p" %p
        output "y" %y)");
    CHECK(regions_of(graph) == "frame frame>power_spectrum linear");
}

TEST_CASE("fuse_regions: tiles of channels take neither operands with rows nor what makes something of zero "
          "in padding lanes") {
    const auto behind = [](const std::string &channels, const std::string &op) {
        return regions_of(graph_of(
            "%x = input \"x\" features : f32[" + channels + "] @1/1\n%k = const \"k\" : [1," + channels +
            ",4]\n%d = const \"d\" : [1," + channels + "]\n%s = const \"s\" : [" + channels +
            "]\n%c = long_conv(%x, %k, %d) {channels=1, two_sided=0}\n%o = " + op + "\noutput \"y\" %o"));
    };
    CHECK(behind("20", "affine(%c, %s, %s)") == "long_conv+affine"); // its constants have the same tiles
    CHECK(behind("32", "sigmoid(%c)") == "long_conv+sigmoid");
    CHECK(behind("20", "sigmoid(%c)") == "long_conv +sigmoid");
    CHECK(behind("20", "gelu(%c)") == "long_conv+gelu");
    CHECK(behind("32", "add(%c, %x)") == "long_conv +add");
}

TEST_CASE(
    "fuse_regions: nothing is applied behind a kernel with a plain result, and what is prepared has none") {
    const std::string text = R"(%x = input "x" features : f32[32] @1/1
        %a = linear_attention(%x, %x, %x) {heads=2}
        %b = gelu(%a)
        output "y" %b)";
    CHECK(regions_of(graph_of(text)) == "linear_attention +gelu");
    CHECK(regions_of(graph_of(R"(%x = input "x" features : f32[2] @1/1
        %p = const "p" : [2,1,2,2]
        %d = const "d" : [1,2]
        %k = expand_scales(%p) {init_scale=0, nearest=0, taps=4}
        %y = long_conv(%x, %k, %d) {channels=1, two_sided=0}
        output "y" %y)")) == "long_conv");
}

} // namespace fuse_regions_test
