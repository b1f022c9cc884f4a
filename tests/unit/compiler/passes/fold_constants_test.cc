#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace fold_constants_test {

using namespace longwave;
using namespace longwave::ir;

TEST_CASE("fold_constants: a node of constants becomes its result, through chains") {
    // 2·3 + 1 = 7, relu keeps it; 2·(−1) + 1 = −1, relu clears it
    const Graph graph = graph_of(R"(graph "g"
        %x = input "x" features : f32[2] @1/1
        %w = const "w" : [2]
        %2 = const "two" : [2]
        %1 = const "one" : [2]
        %a = affine(%w, %2, %1) ; layer a
        %r = relu(%a) ; layer r
        %y = affine(%x, %r, %w)
        output "y" %y)",
                                 {{"w", {3, -1}}, {"two", {2, 2}}, {"one", {1, 1}}});
    const auto folded = compiler::fold_constants(graph);
    REQUIRE(folded);
    CHECK(verify(*folded));
    CHECK(print(*folded) == R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "w" : [2]
%2 = const "r.relu" : [2]
%3 = affine(%0, %2, %1) : f32[2] @1/1 causal
output "y" %3
)");
    CHECK(folded->constants[1].data == std::vector<double>{7, 0});
}

TEST_CASE("fold_constants: kernels stay for the passes that know them") {
    const std::string text = R"(graph "g"
%0 = const "w" : [1,1,2]
%1 = const "norm" : [1,1]
%2 = const "one" : [1]
%3 = sgconv_kernel(%0, %1, %2, %2) {channels=1, heads=1, init_scale=0, kernel_dim=2, l_max=2, mode="cat_randn", num_scales=1, resolution=2} : f32[1,1,2] @0/1 causal
%4 = const "p" : [2,1,1,2]
%5 = expand_scales(%4) {init_scale=0, nearest=0, taps=4} : f32[1,1,4] @0/1 causal
output "k" %3
output "e" %5
)";
    const auto folded = compiler::fold_constants(graph_of(text));
    REQUIRE(folded);
    CHECK(print(*folded) == text);
}

TEST_CASE("fold_constants: what reads an input stays") {
    const std::string text = R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "w" : [2]
%2 = affine(%0, %1, %1) : f32[2] @1/1 causal   ; layer a
output "y" %2
)";
    const auto folded = compiler::fold_constants(graph_of(text));
    REQUIRE(folded);
    CHECK(print(*folded) == text);
}

} // namespace fold_constants_test
