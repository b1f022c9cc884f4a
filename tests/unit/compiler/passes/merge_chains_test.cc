// A short convolution and the one behind it become one, only where that is exact.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace merge_chains_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

Graph chained(const Graph &graph) {
    auto made = compiler::merge_chains(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const size_t width = graph.type(0).width();
    for (const size_t rows : {1u, 2u, 5u, 30u}) { // sequences shorter than the kernels, and longer
        const Array x = rows_of(width, random_numbers(rows * width, 3));
        check_close(run(*made, x).data, run(graph, x).data, 1e-13);
    }
    return *std::move(made);
}

const Weights weights{{"g", random_numbers(6, 1)},    {"bias", {0.5, -1}},
                      {"k", random_numbers(18, 2)},   {"D", {0.5, -2}},
                      {"two", random_numbers(36, 4)}, {"three", random_numbers(54, 5)},
                      {"D3", random_numbers(6, 6)},   {"c", random_numbers(6, 7)},
                      {"p", random_numbers(24, 8)}};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[2] @1/1
    %g = const "g" : [2,1,3,1]
    %bias = const "bias" : [2]
    %k = const "k" : [1,2,9]
    %D = const "D" : [1,2]
    %two = const "two" : [2,2,9]
    %three = const "three" : [3,2,9]
    %D3 = const "D3" : [3,2]
    %c = const "c" : [2,3]
    %p = const "p" : [3,1,2,4]
    %s = conv2d(%x, %g) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer short
)";

Graph of(const std::string &rest) { return graph_of(head + rest + "output \"y\" %y", weights); }

void stays(const std::string &rest) {
    const Graph graph = of(rest);
    const Graph made = chained(graph);
    CHECK(made.certificates.empty());
    CHECK(made.nodes.size() == drop_unused(graph).nodes.size());
}

} // namespace

TEST_CASE("merge_chains: numbers by hand: g, then k, is g*k") {
    // lags: g = [1, 2] (torch order has the oldest first), k = [10, 20, 30]
    const Graph made = chained(graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %g = const "g" : [1,1,2,1]
        %k = const "k" : [1,1,3]
        %0 = const "0" : [1,1]
        %s = conv2d(%x, %g) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0} ; layer short
        %y = long_conv(%s, %k, %0) {channels=1, two_sided=0} ; layer long
        output "y" %y)",
                                        {{"g", {2, 1}}, {"k", {10, 20, 30}}}));
    REQUIRE(made.nodes.size() == 1);
    CHECK(made.nodes[0].layer == "long");
    CHECK(made.constant(made.nodes[0].inputs[1])->data == std::vector<double>{10, 40, 70, 60});
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].pass == "merge_chains");
    CHECK(made.certificates[0].what == "3 behind 2 → 4 taps");
}

TEST_CASE("merge_chains: D and copies of each channel go with the long kernel") {
    CHECK(chained(of("%y = long_conv(%s, %k, %D) {channels=1, two_sided=0} ; layer long\n")).nodes.size() ==
          1);
    CHECK(chained(of("%y = long_conv(%s, %three, %D3) {channels=3, two_sided=0} ; layer long\n"))
              .nodes.size() == 1);
}

TEST_CASE("merge_chains: a chain of three is one, and short ones keep their kind and the last bias") {
    const Graph made = chained(of(R"(
        %t = conv2d(%s, %g) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer b
        %y = conv2d(%t, %g, %bias) {stride_t=1, stride_f=1, groups=2, bias=1, frequency=0} ; layer c
)"));
    REQUIRE(made.nodes.size() == 1);
    CHECK(made.nodes[0].op->name == std::string("conv2d"));
    CHECK(made.certificates.size() == 2);
}

TEST_CASE("merge_chains: a nonlinearity between the two keeps them apart") {
    stays(R"(
        %a = silu(%s) ; layer act
        %y = long_conv(%a, %k, %D) {channels=1, two_sided=0} ; layer long
)");
}

TEST_CASE("merge_chains: a bias between the two keeps them apart, for it meets the zeros before the start") {
    stays(R"(
        %b = conv2d(%x, %g, %bias) {stride_t=1, stride_f=1, groups=2, bias=1, frequency=0} ; layer short
        %y = long_conv(%b, %k, %D) {channels=1, two_sided=0} ; layer long
)");
}

TEST_CASE(
    "merge_chains: a centred convolution before a long one stays, and so does one before a two-sided one: "
    "the signal between them is cut at the ends") {
    stays(R"(
        %m = centred_conv(%x, %c) {bias=0} ; layer short
        %y = long_conv(%m, %k, %D) {channels=1, two_sided=0} ; layer long
)");
    stays("%y = long_conv(%s, %two, %D) {channels=1, two_sided=1} ; layer long\n");
}

TEST_CASE(
    "merge_chains: a value between them that something else reads stays, and so do taps that are expanded "
    "later") {
    stays(R"(
        %l = long_conv(%s, %k, %D) {channels=1, two_sided=0} ; layer long
        %y = add(%l, %s) ; layer sum
)");
    stays(R"(
        %e = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %y = long_conv(%s, %e, %D) {channels=1, two_sided=0} ; layer long
)");
}

} // namespace merge_chains_test
