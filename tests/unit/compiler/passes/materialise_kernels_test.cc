#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace materialise_kernels_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

// One convolution whose kernel has three scales of two weights: eight taps from six parameters.
std::string model(const std::string &mode, int resolution) {
    return R"(graph "g"
        %x = input "x" features : f32[2] @1/1
        %0 = const "kernel_list.0" : [1,2,2]
        %1 = const "kernel_list.1" : [1,2,2]
        %2 = const "kernel_list.2" : [1,2,2]
        %n = const "kernel_norm" : [1,2]
        %g = const "multiplier" : [2]
        %d = const "decay" : [2]
        %k = sgconv_kernel(%0, %1, %2, %n, %g, %d) {channels=1, heads=2, init_scale=0, kernel_dim=2, l_max=8, mode=")" +
           mode + "\", num_scales=3, resolution=" + std::to_string(resolution) + R"(} ; layer block
        %D = const "D" : [1,2]
        %y = long_conv(%x, %k, %D) {channels=1, two_sided=0} ; layer block
        output "y" %y)";
}

const Weights weights{{"kernel_list.0", random_numbers(4, 0)},
                      {"kernel_list.1", random_numbers(4, 1)},
                      {"kernel_list.2", random_numbers(4, 2)},
                      {"kernel_norm", {0.5, 3}},
                      {"multiplier", {2, 1.5}},
                      {"decay", {0.3, 0.7}},
                      {"D", {1, -1}}};

Graph materialised(const std::string &mode, int resolution) {
    const Graph graph = graph_of(model(mode, resolution), weights);
    auto made = compiler::materialise_kernels(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    CHECK(verify(*made));
    const Array x = rows_of(2, random_numbers(40, 7));
    check_close(run(*made, x).data, run(graph, x).data, 1e-14); // the same output
    return *std::move(made);
}

} // namespace

TEST_CASE("materialise_kernels: a long cat kernel keeps its parameters, growth and norm folded in") {
    const Graph made = materialised("cat_randn", 8);
    CHECK(print(made) == R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "block.kernel_list" : [3,1,2,2]
%2 = expand_scales(%1) {init_scale=0, nearest=0, taps=8} : f32[1,2,8] @0/1 causal   ; layer block
%3 = const "D" : [1,2]
%4 = long_conv(%0, %2, %3) {channels=1, two_sided=0} : f32[2] @1/1 causal   ; layer block
output "y" %4
)");
    // scale 0 of head 1: w · 1.5² / 3
    CHECK(made.constants[0].data[2] == doctest::Approx(weights.at("kernel_list.0")[2] * 2.25 / 3));
    CHECK(materialised("cat_randn_nearest", 7).nodes[0].integer("nearest") == 1);
}

TEST_CASE("materialise_kernels: a kernel no longer than its parameters becomes taps") {
    const Graph made = materialised("cat_randn", 6);
    CHECK(print(made) == R"(graph "g"
%0 = input "x" features : f32[2] @1/1 causal
%1 = const "block.k" : [1,2,6]
%2 = const "D" : [1,2]
%3 = long_conv(%0, %1, %2) {channels=1, two_sided=0} : f32[2] @1/1 causal   ; layer block
output "y" %3
)");
}

TEST_CASE("materialise_kernels: sums, learnable decays and resized kernels become taps") {
    for (const char *mode : {"sum_randn", "cat_randn_learnable", "cat_randn_trunc", "cat_randn_expand"}) {
        CAPTURE(mode);
        const Graph made = materialised(mode, 8);
        CHECK(made.nodes.size() == 1);
        CHECK(made.constants[0].key == "block.k");
    }
}

TEST_CASE("materialise_kernels: a norm that cannot divide is refused with its layer") {
    for (const double norm : {0.0, -1.0, std::nan("")}) {
        Weights wrong = weights;
        wrong["kernel_norm"] = {1, norm};
        const auto made = compiler::materialise_kernels(graph_of(model("cat_randn", 8), wrong));
        REQUIRE(!made);
        CHECK(made.status().fault() == Fault::input);
        CHECK(made.status().message() ==
              "layer block: sgconv_kernel: kernel_norm expected positive numbers, found zero or less");
    }
}

TEST_CASE("materialise_kernels: taps that are not finite are refused") {
    Weights wrong = weights;
    wrong["multiplier"] = {1e200, 1};
    for (const int resolution : {6, 8}) {
        const auto made = compiler::materialise_kernels(graph_of(model("cat_randn", resolution), wrong));
        REQUIRE(!made);
        CHECK(made.status().fault() == Fault::input);
        CHECK(made.status().message().find("its taps are not finite") != std::string::npos);
    }
}

TEST_CASE("materialise_kernels: parameters that are computed are refused") {
    std::string text = model("cat_randn", 8);
    const std::string before = "%n = const \"kernel_norm\" : [1,2]";
    text.replace(text.find(before), before.size(), "%m = const \"kernel_norm\" : [1,2]\n%n = relu(%m)");
    const auto made = compiler::materialise_kernels(graph_of(text, weights));
    REQUIRE(!made);
    CHECK(made.status().message().find("expected constant parameters") != std::string::npos);
}

} // namespace materialise_kernels_test
