// The inputs of a matrix get one range before it is rounded. No result changes, and int8 weights lose less.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <cmath>

namespace balance_inputs_test {

using namespace longwave;
using namespace longwave::ir;
using schedules::WeightFormat;

namespace {

// Four channels: small weights read large activations.
const Weights weights{{"w", {100, 50, 1, 2, 0.5, -0.25, 0.1, 0.3}},
                      {"b", {10, -1, 0.5, 0.1}},
                      {"v", {0.01, 0.5, 3, -7, 0.02, -1, 5, 4}},
                      {"k", random_numbers(24, 3)},
                      {"bk", {1, 2, 3, 4}}};

const char *const head = R"(graph "g"
    %x = input "x" features : f32[2] @1/1
    %w = const "w" : [4,2]
    %b = const "b" : [4]
    %v = const "v" : [2,4]
    %k = const "k" : [4,2,3,1]
    %bk = const "bk" : [4]
)";

Graph balanced(const std::string &rest, WeightFormat format = WeightFormat::int8) {
    const Graph graph = graph_of(head + rest, weights);
    auto made = compiler::balance_inputs(graph, format);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    const Array x = rows_of(2, random_numbers(14, 9));
    CHECK(run(*made, x).data == run(graph, x).data); // powers of two change no bit
    for (const Certificate &certificate : made->certificates) CHECK(certificate.error == 0);
    return *std::move(made);
}

double error_of_int8(const Graph &rounded_from, const Graph &exact) {
    std::vector<compiler::StoredWeights> stored;
    auto rounded = compiler::store_weights(rounded_from, WeightFormat::int8, false, stored);
    REQUIRE_MESSAGE(rounded, rounded.status().message());
    const Array x = rows_of(2, random_numbers(200, 8)), y = run(exact, x), z = run(*rounded, x);
    double worst = 0;
    for (size_t i = 0; i < y.data.size(); ++i) worst = std::max(worst, std::fabs(y.data[i] - z.data[i]));
    return worst;
}

const char *const pair =
    "%0 = linear(%x, %w, %b) {bias=1, weights=\"float32\"} ; layer first\n%1 = relu(%0)\n"
    "%2 = linear(%1, %v) {bias=0} ; layer second\noutput \"y\" %2";

} // namespace

TEST_CASE("balance_inputs: weights of all inputs have one range, within a factor of two") {
    const Graph made = balanced(pair);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].pass == "balance_inputs");
    CHECK(made.certificates[0].what == "one range for the inputs from first");
    const std::vector<double> v = made.constant(made.nodes.back().inputs[1])->data.to_vector();
    for (size_t i = 0; i < 4; ++i) {
        const double largest = std::max(std::fabs(v[i]), std::fabs(v[4 + i]));
        CHECK(largest > 7 / 1.5);
        CHECK(largest < 7 * 1.5);
    }
}

TEST_CASE("balance_inputs: int8 weights lose less where small weights read large activations") {
    const Graph exact = graph_of(head + std::string(pair), weights);
    CHECK(error_of_int8(balanced(pair), exact) < 0.2 * error_of_int8(exact, exact));
}

TEST_CASE("balance_inputs: convolutions before a matrix, and what lies between, take the factors") {
    const std::string conv =
        "%0 = conv2d(%x, %k, %bk) {stride_t=2, stride_f=1, groups=1, bias=1, frequency=0}\n";
    CHECK(balanced(
              conv +
              "%1 = leaky_relu(%0) {slope=0.1}\n%2 = abs(%1)\n%3 = linear(%2, %v) {bias=0}\noutput \"y\" %3")
              .certificates.size() == 1);
    CHECK(balanced(conv + "%1 = linear(%0, %v) {bias=0}\noutput \"y\" %1").certificates.size() == 1);
}

TEST_CASE("balance_inputs: other ops between, other readers and other formats leave all as it is") {
    const std::string first = "%0 = linear(%x, %w, %b) {bias=1}\n";
    CHECK(balanced(first + "%1 = gelu(%0)\n%2 = linear(%1, %v) {bias=0}\noutput \"y\" %2")
              .certificates.empty());
    CHECK(balanced(first + "%1 = relu(%0)\n%2 = linear(%1, %v) {bias=0}\noutput \"y\" %2\noutput \"also\" %1")
              .certificates.empty());
    CHECK(balanced(pair, WeightFormat::float32).certificates.empty());
    CHECK(balanced(pair, WeightFormat::bf16).certificates.empty());
}

} // namespace balance_inputs_test
