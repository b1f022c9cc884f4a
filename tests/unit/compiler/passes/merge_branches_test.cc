// Branches on one value become one convolution, only where that is exact: graph text in, graph text
// out, and equal numbers.
#include "compiler/ir/op.h"
#include "compiler/passes/merge_branches.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <algorithm>

namespace merge_branches_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

Graph merged(const Graph &graph) {
    auto made = compiler::merge_branches(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const size_t width = graph.type(0).width();
    for (const size_t rows : {1u, 2u, 5u, 30u}) { // both edges: sequences shorter than the kernel, and longer
        const Array x = rows_of(width, random_numbers(rows * width, 3));
        check_close(run(*made, x).data, run(graph, x).data, 1e-13);
    }
    return *std::move(made);
}

size_t count(const Graph &graph, const std::string &op) {
    return static_cast<size_t>(std::count_if(graph.nodes.begin(), graph.nodes.end(),
                                             [&](const Node &node) { return node.op->name == op; }));
}

const Weights weights{{"k3", random_numbers(6, 1)},
                      {"k5", random_numbers(10, 2)},
                      {"k9", random_numbers(18, 9)},
                      {"two", random_numbers(12, 4)},
                      {"D", {0.5, -2}},
                      {"w", {1.5, 0.3}},
                      {"b", {1, -1}},
                      {"m", {0.2, 3}},
                      {"v", {0.5, 2}},
                      {"p", random_numbers(24, 5)},
                      {"zero", {0, 0}}};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[2] @1/1
    %k3 = const "k3" : [1,2,3]
    %k5 = const "k5" : [1,2,5]
    %k9 = const "k9" : [1,2,9]
    %two = const "two" : [2,2,3]
    %p = const "p" : [3,1,2,4]
    %0 = const "zero" : [1,2]
    %D = const "D" : [1,2]
    %w = const "w" : [2]
    %b = const "b" : [2]
    %m = const "m" : [2]
    %v = const "v" : [2]
)";

} // namespace

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

TEST_CASE("merge_branches: a short kernel goes into a long one, D into tap 0") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %l = long_conv(%x, %k9, %D) {channels=1, two_sided=0} ; layer long
        %s = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer short
        %y = add(%s, %l) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(made.nodes.size() == 1);
    CHECK(made.nodes[0].layer == "long");
    CHECK(made.certificates[0].what == "branches {3, 9} → 9 taps");
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

TEST_CASE("merge_branches: into a kernel that is expanded later, single taps go with the first one") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %l = long_conv(%x, %k, %D) {channels=1, two_sided=0} ; layer long
        %i = affine(%x, %w, %b) ; layer id
        %s = add(%l, %x) ; layer sum
        %y = add(%s, %i) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(count(made, "long_conv") == 1);
    CHECK(count(made, "expand_scales") == 1);
    CHECK(count(made, "add") == 0);
    CHECK(made.certificates[0].what == "branches {long 15, identity, identity} → 15 taps and a bias");
    const Node &expand = *std::find_if(made.nodes.begin(), made.nodes.end(), [](const Node &n) {
        return n.op->name == std::string("expand_scales");
    });
    check_close(made.constant(expand.inputs[1])->data.to_vector(), {0.5 + 1 + 1.5, -2 + 1 + 0.3});
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

TEST_CASE("merge_branches: a depthwise short convolution goes into a long one") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %c = const "c" : [2,1,4,1]
        %l = long_conv(%x, %k9, %D) {channels=1, two_sided=0} ; layer long
        %s = conv2d(%x, %c) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer short
        %y = add(%l, %s) ; layer sum
        output "y" %y)",
                                       [] {
                                           Weights with = weights;
                                           with["c"] = random_numbers(8, 8);
                                           return with;
                                       }()));
    CHECK(made.nodes.size() == 1);
    CHECK(made.nodes[0].op->name == std::string("long_conv"));
    CHECK(made.certificates[0].what == "branches {9, 4} → 9 taps");
}

// What must stay as it is.

TEST_CASE("merge_branches: a convolution that mixes channels is no branch") {
    const Graph made = merged(graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %c = const "c" : [2,2,3,1]
        %s = conv2d(%x, %c) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0} ; layer short
        %y = add(%x, %s) ; layer sum
        output "y" %y)",
                                       {{"c", random_numbers(12, 8)}}));
    CHECK(count(made, "add") == 1);
    CHECK(made.certificates.empty());
}

TEST_CASE("merge_branches: convolutions that skip rows stay apart") {
    const Graph made = merged(graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %c = const "c" : [2,1,3,1]
        %s = conv2d(%x, %c) {stride_t=2, stride_f=1, groups=2, bias=0, frequency=0} ; layer one
        %t = conv2d(%x, %c) {stride_t=2, stride_f=1, groups=2, bias=0, frequency=0} ; layer two
        %y = add(%s, %t) ; layer sum
        output "y" %y)",
                                       {{"c", random_numbers(6, 8)}}));
    CHECK(count(made, "conv2d") == 2);
    CHECK(made.certificates.empty());
}

TEST_CASE("merge_branches: a norm behind one short convolution is left for fold_norms") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %c = const "c" : [2,1,4,1]
        %s = conv2d(%x, %c) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer short
        %y = batch_norm(%s, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        output "y" %y)",
                                       weights));
    CHECK(count(made, "batch_norm") == 1);
}

TEST_CASE("merge_branches: short kernels and norms go into a kernel that is expanded later") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %l = long_conv(%x, %k, %D) {channels=1, two_sided=0} ; layer long
        %ln = batch_norm(%l, %w, %b, %m, %v) {eps=1e-5} ; layer long
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer short
        %an = affine(%a, %w, %b) ; layer short
        %c = long_conv(%x, %k5, %0) {channels=1, two_sided=0} ; layer short
        %s = add(%an, %ln) ; layer sum
        %y = add(%s, %c) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(count(made, "long_conv") == 1);
    CHECK(count(made, "expand_scales") == 1);
    CHECK(count(made, "batch_norm") == 0);
    CHECK(count(made, "add") == 0);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].what == "branches {3, long 15, 5} → 15 taps and a bias");
    CHECK(made.certificates[0].error < 1e-13);
}

TEST_CASE("merge_branches: two kernels that are expanded later stay two, and one shorter than its neighbour "
          "stays apart") {
    const Graph two = merged(graph_of(std::string(head) + R"(
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %l = long_conv(%x, %k, %D) {channels=1, two_sided=0} ; layer long
        %k2 = expand_scales(%p) {nearest=1, init_scale=0, taps=15} ; layer other
        %l2 = long_conv(%x, %k2, %D) {channels=1, two_sided=0} ; layer other
        %s = add(%l, %l2) ; layer sum
        %y = add(%s, %x) ; layer sum
        output "y" %y)",
                                      weights));
    CHECK(count(two, "long_conv") == 2);
    CHECK(two.certificates.size() == 1);
    const Graph apart = merged(graph_of(std::string(head) + R"(
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=2} ; layer long
        %l = long_conv(%x, %k, %D) {channels=1, two_sided=0} ; layer long
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer short
        %y = add(%l, %a) ; layer sum
        output "y" %y)",
                                        weights));
    CHECK(count(apart, "long_conv") == 2);
    CHECK(apart.certificates.empty());
}

TEST_CASE("merge_branches: a two-sided convolution takes D, identities and norms like any other") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %l = long_conv(%x, %two, %D) {channels=1, two_sided=1} ; layer long
        %s = add(%l, %x) ; layer sum
        %n = batch_norm(%s, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        output "y" %n)",
                                       weights));
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].what == "branches {3+3 ahead, identity} → 3+3 ahead taps and a bias");
    CHECK(count(made, "batch_norm") == 0);
    CHECK(count(made, "add") == 0);
}

TEST_CASE("merge_branches: numbers by hand: centred short branches align at the current row") {
    // taps in torch order, of x[t−1], x[t], x[t+1]: [1, 2, 3]; five of them: [10, 20, 30, 40, 50]
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %a = const "a" : [1,3]
        %b = const "b" : [1,5]
        %y = centred_conv(%x, %a) {bias=0} ; layer s
        %z = centred_conv(%x, %b) {bias=0} ; layer s
        %s = add(%y, %z) ; layer s
        %t = add(%x, %s) ; layer s
        output "t" %t)",
                                 {{"a", {1, 2, 3}}, {"b", {10, 20, 30, 40, 50}}});
    const Graph made = merged(graph);
    REQUIRE(made.nodes.size() == 1);
    CHECK(made.constants[0].data == std::vector<double>{10, 21, 33, 43, 50});
    CHECK(made.certificates[0].what == "branches {identity, 2+1 ahead, 3+2 ahead} → 3+2 ahead taps");
}

TEST_CASE("merge_branches: a centred short convolution goes into a two-sided long one, whose second kernel "
          "starts at the next row") {
    // k0 = [1, 2, 3], k1 = [4, 5, 6]; [7, 8, 9] of x[t−1], x[t], x[t+1]
    const Graph made = merged(graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %k = const "k" : [2,1,3]
        %0 = const "0" : [1,1]
        %a = const "a" : [1,3]
        %l = long_conv(%x, %k, %0) {channels=1, two_sided=1} ; layer long
        %s = centred_conv(%x, %a) {bias=0} ; layer short
        %y = add(%l, %s) ; layer sum
        output "y" %y)",
                                       {{"k", {1, 2, 3, 4, 5, 6}}, {"a", {7, 8, 9}}}));
    REQUIRE(made.nodes.size() == 1);
    CHECK(made.constant(made.nodes[0].inputs[1])->data == std::vector<double>{1 + 8, 2 + 7, 3, 4 + 9, 5, 6});
}

TEST_CASE("merge_branches: into a two-sided kernel that is expanded later") {
    const Graph made = merged(graph_of(
        R"(
        %x = input "x" features : f32[2] @1/1
        %p = const "p" : [3,2,2,4]
        %a = const "a" : [2,5]
        %D = const "D" : [1,2]
        %w = const "w" : [2]
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %l = long_conv(%x, %k, %D) {channels=1, two_sided=1} ; layer long
        %n = affine(%l, %w, %w) ; layer norm
        %s = centred_conv(%x, %a) {bias=0} ; layer short
        %y = add(%n, %s) ; layer sum
        output "y" %y)",
        {{"p", random_numbers(48, 1)}, {"a", random_numbers(10, 2)}, {"D", {1, 2}}, {"w", {0.5, -3}}}));
    CHECK(count(made, "long_conv") == 1);
    CHECK(count(made, "centred_conv") == 0);
    CHECK(made.certificates[0].what ==
          "branches {long 15 both ways, 3+2 ahead} → 15 both ways taps and a bias");
}

TEST_CASE("merge_branches: copies of each channel have a kernel and a D each") {
    const Graph made = merged(graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [3,2,4]
        %short = const "short" : [3,2,2]
        %D = const "D" : [3,2]
        %w = const "w" : [6]
        %l = long_conv(%x, %k, %D) {channels=3, two_sided=0} ; layer c
        %n = affine(%l, %w, %w) ; layer norm
        %s = long_conv(%x, %short, %D) {channels=3, two_sided=0} ; layer short
        %y = add(%n, %s) ; layer sum
        output "y" %y)",
                                       {{"k", random_numbers(24, 1)},
                                        {"short", random_numbers(12, 3)},
                                        {"w", random_numbers(6, 5)},
                                        {"D", random_numbers(6, 2)}}));
    CHECK(count(made, "long_conv") == 1);
    CHECK(made.certificates[0].what == "branches {4, 2} → 4 taps and a bias");
}

TEST_CASE(
    "merge_branches: a centred convolution and a causal one without a long one stay two, and so does one "
    "beside a causal kernel that is expanded later") {
    const Graph shorts = merged(graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %a = const "a" : [2,3]
        %c = const "c" : [2,1,3,1]
        %s = centred_conv(%x, %a) {bias=0} ; layer one
        %t = conv2d(%x, %c) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer two
        %y = add(%s, %t) ; layer sum
        output "y" %y)",
                                         {{"a", random_numbers(6, 1)}, {"c", random_numbers(6, 2)}}));
    CHECK(count(shorts, "add") == 1);
    CHECK(shorts.certificates.empty());
    const Graph later = merged(graph_of(std::string(head) + R"(
        %a = const "a" : [2,3]
        %k = expand_scales(%p) {nearest=0, init_scale=0, taps=15} ; layer long
        %l = long_conv(%x, %k, %0) {channels=1, two_sided=0} ; layer long
        %s = centred_conv(%x, %a) {bias=0} ; layer short
        %y = add(%l, %s) ; layer sum
        output "y" %y)",
                                        [] {
                                            Weights with = weights;
                                            with["a"] = random_numbers(6, 8);
                                            return with;
                                        }()));
    CHECK(count(later, "centred_conv") == 1);
    CHECK(later.certificates.empty());
}

TEST_CASE("merge_branches: a norm before a convolution stays, for its shift would meet the zeros before the "
          "start") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %n = batch_norm(%x, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        %a = long_conv(%n, %k3, %0) {channels=1, two_sided=0} ; layer conv
        %s = add(%a, %x) ; layer sum
        output "y" %s)",
                                       weights));
    CHECK(count(made, "batch_norm") == 1);
    CHECK(count(made, "add") == 1);
    CHECK(made.certificates.empty());
}

TEST_CASE("merge_branches: with the norm before all branches, the branches still merge behind it") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %n = batch_norm(%x, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        %a = long_conv(%n, %k3, %0) {channels=1, two_sided=0} ; layer conv
        %s = add(%a, %n) ; layer sum
        output "y" %s)",
                                       weights));
    CHECK(made.nodes.size() == 2);
    CHECK(made.nodes[0].op->name == std::string("batch_norm"));
}

TEST_CASE("merge_branches: convolutions of different values stay apart") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %g = gelu(%x) ; layer g
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer a
        %c = long_conv(%g, %k5, %0) {channels=1, two_sided=0} ; layer c
        %y = add(%a, %c) ; layer sum
        output "y" %y)",
                                       weights));
    CHECK(count(made, "long_conv") == 2);
    CHECK(made.certificates.empty());
}

TEST_CASE("merge_branches: a branch that something else reads stays") {
    const Graph made = merged(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer a
        %c = long_conv(%x, %k5, %0) {channels=1, two_sided=0} ; layer c
        %s = add(%a, %c) ; layer sum
        output "y" %s
        output "a" %a)",
                                       weights));
    CHECK(count(made, "long_conv") == 2);
    CHECK(count(made, "add") == 1);
}

TEST_CASE("merge_branches: a variance without a square root is left for the pass that reports it") {
    Weights wrong = weights;
    wrong["v"] = {-1, 1};
    const auto made = compiler::merge_branches(graph_of(std::string(head) + R"(
        %a = long_conv(%x, %k3, %0) {channels=1, two_sided=0} ; layer a
        %y = batch_norm(%a, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        output "y" %y)",
                                                        wrong));
    REQUIRE(made);
    CHECK(count(*made, "batch_norm") == 1);
}

} // namespace merge_branches_test
