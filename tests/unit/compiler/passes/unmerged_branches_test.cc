// Branches that merge_branches leaves as they are, because one convolution would not be exact.
#include "tests/unit/compiler/passes/merged_branches.h"

namespace unmerged_branches_test {

using namespace longwave;
using namespace longwave::ir;

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

} // namespace unmerged_branches_test
