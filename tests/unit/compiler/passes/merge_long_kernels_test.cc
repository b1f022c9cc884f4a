// Branches next to a long kernel go into it: given tap by tap, expanded later, with two sides or
// with copies of each channel.
#include "tests/unit/compiler/passes/merged_branches.h"

namespace merge_long_kernels_test {

using namespace longwave;
using namespace longwave::ir;

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

namespace {

// The same numbers before and after, also at lags further back than the rows of `merged`.
Graph merged_over(size_t rows, const Graph &graph) {
    Graph made = merged(graph);
    const size_t width = graph.type(0).width();
    const Array x = rows_of(width, random_numbers(rows * width, 7));
    check_close(run(made, x).data, run(graph, x).data, 1e-13);
    return made;
}

} // namespace

TEST_CASE(
    "merge_branches: a convolution per channel of 64 taps and more is a long one, so that the planner may "
    "choose a transform") {
    const auto graph_with = [](size_t taps) {
        return graph_of(
            "%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [2,1," + std::to_string(taps) +
                ",1]\n%b = const \"b\" : [2]\n%y = conv2d(%x, %k, %b) {stride_t=1, stride_f=1, groups=2, "
                "bias=1, frequency=0} ; layer fir\noutput \"y\" %y",
            {{"k", random_numbers(2 * taps, 3)}, {"b", {1, -2}}});
    };
    CHECK(count(merged(graph_with(63)), "conv2d") == 1);
    const Graph made = merged_over(200, graph_with(64));
    CHECK(count(made, "conv2d") == 0);
    CHECK(count(made, "long_conv") == 1);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].what == "long convolution of 64 taps");
    CHECK(count(merged_over(5000, graph_with(4000)), "long_conv") == 1); // by transforms on both sides
}

TEST_CASE(
    "merge_branches: a norm behind such a convolution becomes a part of it, and so does a short branch") {
    const Graph made = merged_over(150, graph_of(std::string(head) + R"(
        %k = const "k" : [2,1,90,1]
        %s = const "s" : [2,1,3,1]
        %y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer long
        %n = batch_norm(%y, %w, %b, %m, %v) {eps=1e-5} ; layer norm
        %z = conv2d(%x, %s) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer short
        %t = add(%n, %z) ; layer sum
        output "t" %t)",
                                                 [] {
                                                     Weights all = weights;
                                                     all["k"] = random_numbers(180, 3),
                                                     all["s"] = random_numbers(6, 4);
                                                     return all;
                                                 }()));
    CHECK(count(made, "long_conv") == 1);
    CHECK(count(made, "conv2d") + count(made, "batch_norm") + count(made, "add") == 0);
    CHECK(made.certificates[0].what == "branches {90, 3} → 90 taps and a bias");
}

TEST_CASE(
    "merge_branches: a centred convolution of many taps is a long one with two sides, for which a stream "
    "waits") {
    const Graph made = merged_over(400, graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [2,129]
        %y = centred_conv(%x, %k) {bias=0} ; layer fir
        output "y" %y)",
                                                 {{"k", random_numbers(258, 3)}}));
    REQUIRE(count(made, "long_conv") == 1);
    CHECK(made.nodes[0].integer("two_sided") == 1);
    CHECK(made.nodes[0].integer("ahead") == 64);
}

TEST_CASE("merge_branches: a bank of filters on one channel stays as it is until its filters are very long") {
    for (const auto &[filters, taps, is_long] :
         {std::tuple(80u, 251u, false), std::tuple(16u, 1023u, false), std::tuple(16u, 1024u, true),
          std::tuple(80u, 6000u, false)}) {
        const Graph graph =
            graph_of("%x = input \"x\" features : f32[1] @1/1\n%k = const \"k\" : [" +
                         std::to_string(filters) + ",1," + std::to_string(taps) +
                         ",1]\n%y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=1, bias=0, "
                         "frequency=0} ; layer bank\noutput \"y\" %y",
                     {{"k", random_numbers(size_t{filters} * taps, 3)}});
        CHECK(count(merged(graph), "long_conv") == (is_long ? 1 : 0));
    }
}

TEST_CASE("merge_branches: a dilated convolution of few taps stays as it is, however far it reaches") {
    std::vector<double> k(2 * 129, 0.0);
    for (const size_t tap : {0u, 64u, 128u}) k[tap] = k[129 + tap] = 1.0 + static_cast<double>(tap);
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [2,1,129,1]
        %y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0} ; layer dilated
        output "y" %y)",
                                 {{"k", k}});
    CHECK(count(merged_over(300, graph), "conv2d") == 1);
}

TEST_CASE("merge_branches: a dilated convolution of many taps is a long one, with zeros between its taps") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [2,1,65,1]
        %y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0, dilation=2} ; layer dilated
        output "y" %y)",
                                 {{"k", random_numbers(2 * 65, 3)}});
    CHECK(count(merged_over(300, graph), "long_conv") == 1);
}

TEST_CASE(
    "merge_branches: a convolution that mixes channels or skips rows stays as it is, however long it is") {
    for (const char *attributes : {"stride_t=2, stride_f=1, groups=2", "stride_t=1, stride_f=1, groups=1"}) {
        const bool mixes = std::string(attributes).find("groups=1") != std::string::npos;
        const Graph graph =
            graph_of("%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [2," +
                         std::string(mixes ? "2" : "1") + ",100,1]\n%y = conv2d(%x, %k) {" + attributes +
                         ", bias=0, frequency=0} ; layer c\n" + "output \"y\" %y",
                     {{"k", random_numbers(mixes ? 400 : 200, 3)}});
        CHECK(count(merged(graph), "conv2d") == 1);
    }
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

} // namespace merge_long_kernels_test
