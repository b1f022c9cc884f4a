// A matrix and the one behind it become one, only where that is exact and smaller.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace merge_products_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

const Weights weights{{"a", random_numbers(12, 1)},
                      {"b", random_numbers(8, 2)},
                      {"c", random_numbers(4, 3)},
                      {"ab", {1, 2, 3, 4}},
                      {"bb", {5, 6}},
                      {"n", random_numbers(3, 4)},
                      {"wide", random_numbers(6, 5)},
                      {"k", random_numbers(8, 6)}};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[3] @1/1
    %a = const "a" : [4,3]
    %ab = const "ab" : [4]
    %b = const "b" : [2,4]
    %bb = const "bb" : [2]
    %c = const "c" : [2,2]
    %n = const "n" : [1,3]
    %wide = const "wide" : [6,1]
    %k = const "k" : [2,4,1,1]
)";

Graph merged(const std::string &rest) {
    const Graph graph = graph_of(head + rest, weights);
    auto made = compiler::merge_products(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    for (const size_t rows : {1u, 2u, 7u}) {
        const Array x = rows_of(3, random_numbers(rows * 3, 9));
        check_close(run(*made, x).data, run(graph, x).data, 1e-13);
    }
    for (const Certificate &certificate : made->certificates) CHECK(certificate.error <= 1e-14);
    return *std::move(made);
}

void stays(const std::string &rest) {
    const Graph made = merged(rest);
    CHECK(made.certificates.empty());
    CHECK(made.nodes.size() == drop_unused(graph_of(head + rest, weights)).nodes.size());
}

} // namespace

TEST_CASE("merge_products: numbers by hand: W, then V, is V W, with the bias of both") {
    const Graph graph =
        graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %w = const "w" : [3,2]
        %wb = const "wb" : [3]
        %v = const "v" : [1,3]
        %vb = const "vb" : [1]
        %y = linear(%x, %w, %wb) {bias=1} ; layer first
        %z = linear(%y, %v, %vb) {bias=1} ; layer second
        output "z" %z)",
                 {{"w", {1, 2, 3, 4, 5, 6}}, {"wb", {1, 0, -1}}, {"v", {10, 20, 30}}, {"vb", {0.5}}});
    auto made = compiler::merge_products(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    REQUIRE(made->nodes.size() == 1);
    CHECK(made->nodes[0].layer == "second");
    CHECK(made->constant(made->nodes[0].inputs[1])->data == std::vector<double>{220, 280});
    CHECK(made->constant(made->nodes[0].inputs[2])->data == std::vector<double>{-19.5});
    REQUIRE(made->certificates.size() == 1);
    CHECK(made->certificates[0].pass == "merge_products");
    CHECK(made->certificates[0].what == "linear behind linear of first → one matrix");
}

TEST_CASE("merge_products: three in a row are one, and a convolution of one row is a matrix as well") {
    CHECK(merged("%0 = linear(%x, %a, %ab) {bias=1}\n%1 = linear(%0, %b) {bias=0}\n%2 = linear(%1, %c, %bb) "
                 "{bias=1}\n"
                 "output \"y\" %2")
              .nodes.size() == 1);
    CHECK(merged("%0 = linear(%x, %a, %ab) {bias=1}\n%1 = conv2d(%0, %k, %bb) {stride_t=1, stride_f=1, "
                 "groups=1, bias=1, "
                 "frequency=0}\noutput \"y\" %1")
              .nodes.size() == 1);
}

TEST_CASE("merge_products: a bottleneck, a nonlinearity, another reader and chosen weights keep them apart") {
    stays("%0 = linear(%x, %n) {bias=0}\n%1 = linear(%0, %wide) {bias=0}\noutput \"y\" %1");
    stays("%0 = linear(%x, %a) {bias=0}\n%1 = relu(%0)\n%2 = linear(%1, %b) {bias=0}\noutput \"y\" %2");
    stays(
        "%0 = linear(%x, %a) {bias=0}\n%1 = linear(%0, %b) {bias=0}\noutput \"y\" %1\noutput \"between\" %0");
    stays("%0 = linear(%x, %a) {bias=0, weights=\"int8\"}\n%1 = linear(%0, %b) {bias=0}\noutput \"y\" %1");
}

TEST_CASE("merge_products: a matrix that two layers share stays in the file once") {
    stays("%0 = linear(%x, %a) {bias=0}\n%1 = linear(%0, %b) {bias=0}\n%2 = relu(%0)\n%3 = linear(%2, %b) "
          "{bias=0}\n"
          "%4 = add(%1, %3)\noutput \"y\" %4");
}

} // namespace merge_products_test
