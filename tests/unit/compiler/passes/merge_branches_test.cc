// Branches on one value become one convolution, only where that is exact: graph text in, graph text
// out, and equal numbers.
#include "tests/unit/compiler/passes/merged_branches.h"

namespace merge_branches_test {

using namespace longwave;
using namespace longwave::ir;

TEST_CASE("merge_branches: short branches, their norms and identities become one short kernel and a bias") {
    const Graph graph = graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer stem
        %an = batch_norm(%a, %w, %b, %m, %v) {eps=1e-5} ; layer stem
        %c = long_conv(%x, %k5, %0) {channels=1, two_sided=0} ; layer stem
        %cn = affine(%c, %w, %b) ; layer stem
        %s = add(%an, %cn) ; layer stem
        %i = batch_norm(%x, %w, %b, %m, %v) {eps=1e-5} ; layer stem
        %s2 = add(%s, %i) ; layer stem
        %s3 = add(%s2, %x) ; layer stem
        %y = silu(%s3) ; layer act
        output "y" %y)",
                                 weights);
    const Graph made = merged(graph);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].pass == "merge_branches");
    CHECK(made.certificates[0].layer == "stem");
    CHECK(made.certificates[0].what == "branches {3, 5, identity, identity} → 5 taps and a bias");
    CHECK(made.certificates[0].error < 1e-14);
    Graph shown = made;
    shown.certificates.clear();
    CHECK(print(shown) == R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "stem.k.merged" : [1,2,5]
%2 = const "stem.D.merged" : [1,2]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} : f32[2] @1/1 causal   ; layer stem
%4 = const "stem.ones" : [2]
%5 = const "stem.bias.merged" : [2]
%6 = affine(%3, %4, %5) : f32[2] @1/1 causal   ; layer stem
%7 = silu(%6) : f32[2] @1/1 causal   ; layer act
output "y" %7
)");
}

TEST_CASE("merge_branches: numbers by hand") {
    // taps [1, 2] and [10, 20, 30], identity, D = 100 on the first: lag 0: 1 + 10 + 1 + 100
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %a = const "a" : [1,1,2]
        %b = const "b" : [1,1,3]
        %D = const "D" : [1,1]
        %0 = const "0" : [1,1]
        %y = long_conv(%x, %a, %D) {channels=1, two_sided=0} ; layer s
        %z = long_conv(%x, %b, %0) {channels=1, two_sided=0} ; layer s
        %s = add(%y, %z) ; layer s
        %t = add(%x, %s) ; layer s
        output "t" %t)",
                                 {{"a", {1, 2}}, {"b", {10, 20, 30}}, {"D", {100}}});
    const Graph made = merged(graph);
    CHECK(made.nodes.size() == 1); // no bias: no affine
    CHECK(made.constant(made.nodes[0].inputs[1])->data == std::vector<double>{112, 22, 30});
    CHECK(made.constant(made.nodes[0].inputs[2])->data == std::vector<double>{0});
}

TEST_CASE("merge_branches: D alone goes into tap 0") {
    const Graph made = merged(
        graph_of(std::string(head) +
                     "%y = long_conv(%x, %k5, %D) {channels=1, two_sided=0} ; layer long\noutput \"y\" %y",
                 weights));
    CHECK(made.certificates[0].what == "D into tap 0 of 5");
    CHECK(made.constant(made.nodes[0].inputs[2])->data == std::vector<double>{0, 0});
}

TEST_CASE("merge_branches: a norm behind a single convolution becomes its taps and a bias") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer stem
        %y = batch_norm(%a, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        output "y" %y)",
                                       weights));
    CHECK(count(made, "batch_norm") == 0);
    CHECK(made.certificates[0].what == "branches {3} → 3 taps and a bias");
}

TEST_CASE("merge_branches: a norm behind a sum of branches is every branch's") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer stem
        %s = add(%a, %x) ; layer stem
        %y = batch_norm(%s, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        output "y" %y)",
                                       weights));
    CHECK(made.nodes.size() == 2);
    CHECK(count(made, "affine") == 1);
}

TEST_CASE("merge_branches: what does not belong to the sum's branches is added behind them") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %g = gelu(%x) ; layer g
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer stem
        %b1 = add(%g, %a) ; layer sum
        %c = long_conv(%x, %k5, %0) {channels=1, two_sided=0} ; layer stem
        %y = add(%b1, %c) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(count(made, "long_conv") == 1);
    CHECK(count(made, "add") == 1);
    CHECK(made.certificates.size() == 1);
}

TEST_CASE("merge_branches: a branch twice counts twice") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer stem
        %y = add(%a, %a) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(made.nodes.size() == 1);
    CHECK(made.constant(made.nodes[0].inputs[1])->data[0] == 2 * weights.at("k3")[0]);
}

TEST_CASE("merge_branches: chains of branch sets merge one by one") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer one
        %h = add(%a, %x) ; layer one
        %c = long_conv(%h, %k5, %0) {channels=1, two_sided=0} ; layer two
        %y = add(%c, %h) ; layer two
        output "y" %y)",
                                       weights));
    CHECK(count(made, "long_conv") == 2);
    CHECK(count(made, "add") == 0);
    CHECK(made.certificates.size() == 2);
}

TEST_CASE("merge_branches: depthwise short convolutions merge into one, with its bias; torch order is oldest "
          "first") {
    // lags: [2, 1] + [30, 20, 10] + identity; biases 0.5 and the norm's (0 − 1)·3
    const Graph graph =
        graph_of(R"(graph "g"
        %x = input "x" features : f32[1] @1/1
        %a = const "a" : [1,1,2,1]
        %b = const "b" : [1,1,3,1]
        %h = const "half" : [1]
        %0 = const "0" : [1]
        %1 = const "1" : [1]
        %3 = const "3" : [1]
        %y = conv2d(%x, %a, %h) {stride_t=1, stride_f=1, groups=1, bias=1, frequency=0} ; layer s
        %z = conv2d(%x, %b) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0} ; layer s
        %i = batch_norm(%x, %3, %0, %1, %1) {eps=0.0} ; layer s
        %t = add(%y, %z) ; layer s
        %u = add(%t, %i) ; layer s
        output "u" %u)",
                 {{"a", {1, 2}}, {"b", {10, 20, 30}}, {"half", {0.5}}, {"1", {1}}, {"3", {3}}});
    const Graph made = merged(graph);
    Graph shown = made;
    shown.certificates.clear();
    CHECK(print(shown) == R"(graph "g"
%0 = input "x" features : f32[1] @1/1 causal
%1 = const "s.weight.merged" : [1,1,3,1]
%2 = const "s.bias.merged" : [1]
%3 = conv2d(%0, %1, %2) {bias=1, frequency=0, groups=1, stride_f=1, stride_t=1} : f32[1] @1/1 causal   ; layer s
output "u" %3
)");
    CHECK(made.constants[0].data == std::vector<double>{10, 21, 35});
    CHECK(made.constants[1].data == std::vector<double>{-2.5});
    CHECK(made.certificates[0].what == "branches {2, 3, identity} → 3 taps and a bias");
}

} // namespace merge_branches_test
