// Norms with fixed statistics fold into what stands beside them: graph text in, graph text out, and
// equal numbers.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace fold_norms_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

const Weights weights{{"w", random_numbers(6, 1)},
                      {"b", {1, -1}},
                      {"s", {2, -0.5}},
                      {"t", {3, 0.25}},
                      {"bw", {1.5, 0.3}},
                      {"bb", {0.1, -0.2}},
                      {"bm", {0.5, 2}},
                      {"bv", {0.5, 2}},
                      {"k", random_numbers(36, 2)},
                      {"s3", {2, 3, -1}},
                      {"t3", {1, 2, 3}},
                      {"s6", random_numbers(6, 3)},
                      {"t6", random_numbers(6, 4)},
                      {"w6", random_numbers(12, 5)}};

Graph folded(const std::string &text) {
    const Graph graph = graph_of(text, weights);
    auto made = compiler::fold_norms(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const size_t width = graph.type(0).width();
    for (const size_t rows : {2u, 9u}) {
        const Array x = rows_of(width, random_numbers(rows * width, 6));
        check_close(run(*made, x).data, run(graph, x).data, 1e-12);
    }
    for (const Certificate &certificate : made->certificates) {
        CHECK(certificate.pass == "fold_norms");
        CHECK(certificate.error <= 1e-14);
    }
    return *std::move(made);
}

std::string ops(const Graph &graph) {
    std::string out;
    for (const Node &node : graph.nodes) out += (out.empty() ? "" : " ") + std::string(node.op->name);
    return out;
}

const char *const constants = R"(
    %s = const "s" : [2]
    %t = const "t" : [2]
    %bw = const "bw" : [2]
    %bb = const "bb" : [2]
    %bm = const "bm" : [2]
    %bv = const "bv" : [2]
    %w = const "w" : [2,3]
    %b = const "b" : [2]
    %s3 = const "s3" : [3]
    %t3 = const "t3" : [3]
)";

const std::string three = std::string("graph \"g\"\n%x = input \"x\" features : f32[3] @1/1\n") + constants;

} // namespace

TEST_CASE("fold_norms: batch_norm becomes an affine") {
    const Graph made =
        folded("graph \"g\"\n%x = input \"x\" features : f32[2] @1/1\n" + std::string(constants) +
               "%y = batch_norm(%x, %bw, %bb, %bm, %bv) {eps=0.5} ; layer norm\noutput \"y\" %y");
    Graph shown = made;
    shown.certificates.clear();
    CHECK(print(shown) == R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "norm.scale" : [2]
%2 = const "norm.shift" : [2]
%3 = affine(%0, %1, %2) : f32[2] @1/1 causal   ; layer norm
output "y" %3
)");
    check_close(made.constants[0].data.to_vector(), {1.5, 0.3 / std::sqrt(2.5)}); // weight/√(var + eps)
    check_close(made.constants[1].data.to_vector(),
                {0.1 - 0.5 * 1.5, -0.2 - 2 * 0.3 / std::sqrt(2.5)}); // bias − mean · scale
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].layer == "norm");
    CHECK(made.certificates[0].what == "batch_norm → affine");
}

TEST_CASE("fold_norms: a norm behind a linear goes into weight and bias, which is made where there is none") {
    const Graph made = folded(three + R"(
        %h = linear(%x, %w) {bias=0} ; layer head
        %y = batch_norm(%h, %bw, %bb, %bm, %bv) {eps=1e-5} ; layer norm
        output "y" %y)");
    Graph shown = made;
    shown.certificates.clear();
    CHECK(print(shown) == R"(graph "g"
%0 = input "x" features : f32[3] @1/1 causal
%1 = const "head.weight.folded" : [2,3]
%2 = const "head.bias.folded" : [2]
%3 = linear(%0, %1, %2) {bias=1} : f32[2] @1/1 causal   ; layer head
output "y" %3
)");
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].layer == "head");
    CHECK(made.certificates[0].what == "batch_norm of norm → linear");
}

TEST_CASE("fold_norms: affine before and behind a linear with a bias") {
    const Graph made = folded(three + R"(
        %a = affine(%x, %s3, %t3) ; layer before
        %h = linear(%a, %w, %b) {bias=1} ; layer head
        %y = affine(%h, %s, %t) ; layer behind
        output "y" %y)");
    CHECK(ops(made) == "linear");
    CHECK(made.certificates.size() == 2);
    const auto &weight = made.constant(made.nodes[0].inputs[1])->data;
    CHECK(weight[4] == doctest::Approx(weights.at("w")[4] * 3 * -0.5)); // w[1,1] · s3[1] · s[1]
}

TEST_CASE("fold_norms: two norms before a linear both fold") {
    CHECK(ops(folded("%x = input \"x\" features : f32[2] @1/1\n" + std::string(constants) + R"(
        %k = const "w6" : [6,2]
        %n = batch_norm(%x, %bw, %bb, %bm, %bv) {eps=1e-5} ; layer norm
        %a = affine(%n, %s, %t) ; layer affine
        %y = linear(%a, %k) {bias=0} ; layer head
        output "y" %y)")) == "linear");
}

TEST_CASE("fold_norms: between two linears a norm goes into the first") {
    const Graph made = folded(three + R"(
        %k = const "w6" : [6,2]
        %h = linear(%x, %w) {bias=0} ; layer one
        %n = batch_norm(%h, %bw, %bb, %bm, %bv) {eps=1e-5} ; layer norm
        %y = linear(%n, %k) {bias=0} ; layer two
        output "y" %y)");
    CHECK(ops(made) == "linear linear");
    CHECK(made.nodes[0].integer("bias") == 1);
    CHECK(made.nodes[1].integer("bias") == 0);
}

TEST_CASE("fold_norms: a norm behind a conv2d folds channel by channel, edges included") {
    const Graph made = folded(R"(
        %x = input "x" features : f32[3] @1/1
        %k = const "k" : [2,1,6,3]
        %bw = const "bw" : [2]
        %bb = const "bb" : [2]
        %bm = const "bm" : [2]
        %bv = const "bv" : [2]
        %h = conv2d(%x, %k) {stride_t=2, stride_f=1, groups=1, bias=0, frequency=1} ; layer stem
        %n = batch_norm(%h, %bw, %bb, %bm, %bv) {eps=1e-5} ; layer norm
        %y = affine(%n, %bw, %bb) ; layer more
        output "y" %y)");
    CHECK(ops(made) == "conv2d");
    CHECK(made.certificates.size() == 2);
}

TEST_CASE("fold_norms: an affine over all features of (frequency, channel) folds into the linear behind it") {
    CHECK(ops(folded(R"(
        %x = input "x" features : f32[3,2] @1/1
        %s = const "s6" : [6]
        %t = const "t6" : [6]
        %c = const "s" : [2]
        %w = const "w6" : [2,6]
        %a = affine(%x, %s, %t) ; layer a
        %b = affine(%a, %c, %c) ; layer b
        %y = linear(%b, %w) {bias=0} ; layer head
        output "y" %y)")) == "linear");
}

TEST_CASE("fold_norms: a pooled value folds as well") {
    CHECK(ops(folded(three + R"(
        %m = mean(%x) {mode="mean"} ; layer pool
        %a = affine(%m, %s3, %t3) ; layer a
        %y = linear(%a, %w) {bias=0} ; layer head
        output "y" %y)")) == "mean linear");
}

// What must stay.

TEST_CASE(
    "fold_norms: a norm before a convolution stays, for its shift would meet the zeros around the signal") {
    const Graph conv2d = folded(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [3,2,6,1]
        %s = const "s" : [2]
        %t = const "t" : [2]
        %a = affine(%x, %s, %t) ; layer norm
        %y = conv2d(%a, %k) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0} ; layer stem
        output "y" %y)");
    CHECK(ops(conv2d) == "affine conv2d");
    CHECK(conv2d.certificates.empty());
    const Graph long_conv = folded(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [1,2,18]
        %s = const "s" : [2]
        %t = const "t" : [1,2]
        %a = affine(%x, %s, %s) ; layer norm
        %y = long_conv(%a, %k, %t) {channels=1, two_sided=0} ; layer conv
        output "y" %y)");
    CHECK(ops(long_conv) == "affine long_conv");
}

TEST_CASE("fold_norms: a value with two readers is not changed") {
    CHECK(ops(folded(three + R"(
        %h = linear(%x, %w) {bias=0} ; layer head
        %y = affine(%h, %s, %t) ; layer behind
        output "y" %y
        output "h" %h)")) == "linear affine");
    CHECK(ops(folded(three + R"(
        %a = affine(%x, %s3, %t3) ; layer before
        %y = linear(%a, %w) {bias=0} ; layer head
        output "y" %y
        output "a" %a)")) == "affine linear");
}

TEST_CASE("fold_norms: an affine that differs by frequency does not go into a convolution over frequencies") {
    CHECK(ops(folded(R"(
        %x = input "x" features : f32[3] @1/1
        %k = const "k" : [2,1,6,3]
        %s = const "s6" : [6]
        %t = const "t6" : [6]
        %h = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=1} ; layer stem
        %y = affine(%h, %s, %t) ; layer a
        output "y" %y)")) == "conv2d affine");
}

TEST_CASE("fold_norms: a nonlinearity between them keeps them apart") {
    CHECK(ops(folded(three + R"(
        %h = linear(%x, %w) {bias=0} ; layer head
        %r = relu(%h) ; layer act
        %y = affine(%r, %s, %t) ; layer behind
        output "y" %y)")) == "linear relu affine");
}

TEST_CASE("fold_norms: a variance without a square root is refused with layer and channel") {
    for (const double variance : {-1.0, -1e-5, std::nan("")}) {
        Weights wrong = weights;
        wrong["bv"] = {1, variance};
        const auto made = compiler::fold_norms(
            graph_of("%x = input \"x\" features : f32[2] @1/1\n" + std::string(constants) +
                         "%y = batch_norm(%x, %bw, %bb, %bm, %bv) {eps=1e-5} ; layer norm\noutput \"y\" %y",
                     wrong));
        REQUIRE(!made);
        CHECK(made.status().fault() == Fault::input);
        CHECK(made.status().message().find(
                  "layer norm: batch_norm: running_var[1] + eps expected above zero") != std::string::npos);
    }
}

TEST_CASE("fold_norms: a graph without norms stays as it is") {
    const std::string text = "graph \"g\"\n%0 = input \"x\" features : f32[3] @1/1 causal\n%1 = relu(%0) : "
                             "f32[3] @1/1 causal   ; layer act\noutput \"y\" %1\n";
    const auto made = compiler::fold_norms(graph_of(text));
    REQUIRE(made);
    CHECK(print(*made) == text);
}

} // namespace fold_norms_test
