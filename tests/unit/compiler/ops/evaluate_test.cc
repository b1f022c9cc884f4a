// Graphs run in float64: rows follow clocks, and a length ends pooling.
#include "tests/unit/compiler/ir/graphs.h"

namespace evaluate_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

const char *const pooled = R"(
    %x = input "x" features : f32[1] @1/1
    %k = const "k" : [1,1,2,1]
    %h = conv2d(%x, %k) {stride_t=2, stride_f=1, groups=1, bias=0, frequency=0}
    %y = mean(%h) {mode="mean"}
    output "h" %h
    output "y" %y)";

std::string refusal(const Graph &graph, const std::map<std::string, Array> &inputs, size_t length = 0) {
    const auto out = evaluate(graph, inputs, length);
    REQUIRE(!out);
    CHECK(out.status().fault() == Fault::input);
    return out.status().message();
}

} // namespace

TEST_CASE("evaluate: a slower clock has floor(ticks / den) rows") {
    const Graph graph = graph_of(pooled, {{"k", {1, 1}}});
    for (const auto &[ticks, rows] : std::map<size_t, size_t>{{0, 0}, {1, 0}, {2, 1}, {5, 2}, {6, 3}}) {
        const auto out = evaluate(graph, {{"x", rows_of(1, std::vector<double>(ticks, 1.0))}});
        REQUIRE(out);
        CHECK(out->at(0).rows == rows);
        CHECK(out->at(1).rows == 1);
        CHECK(out->at(1).data[0] == (rows ? 2 : 0));
    }
}

TEST_CASE("evaluate: length counts input ticks and ends the mean there") {
    const Graph graph = graph_of(pooled, {{"k", {1, 1}}});
    const auto out =
        evaluate(graph, {{"x", rows_of(1, {1, 2, 3, 4, 100, 100})}}, 5); // two whole rows: 3 and 7
    REQUIRE(out);
    check_close(out->at(1).data, {5});
}

TEST_CASE("evaluate: last and first answer with a row inside the length") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %l = mean(%x) {mode="last"}
        %f = mean(%x) {mode="first"}
        output "last" %l
        output "first" %f)");
    const auto out = evaluate(graph, {{"x", rows_of(1, {1, 2, 3, 4})}}, 3);
    REQUIRE(out);
    CHECK(out->at(0).data[0] == 3);
    CHECK(out->at(1).data[0] == 1);
}

TEST_CASE("evaluate: length ends the mean, and every other op runs on all rows") {
    const char *const heads[] = {
        "%y = long_conv(%x, %k, %D) {channels=1, two_sided=1}",
        "%y = centred_conv(%x, %c) {bias=0}",
        "%y = linear_attention_offline(%x, %x, %x) {heads=1}",
        "%y = sequence_softmax(%x)",
    };
    for (const char *head : heads) {
        INFO(head);
        const Graph graph =
            graph_of(std::string(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [2,2,5]
        %D = const "D" : [1,2]
        %c = const "c" : [2,5]
)") + head + R"(
        %m = mean(%y) {mode="sum"}
        output "y" %y
        output "m" %m)",
                     {{"k", random_numbers(20, 1)}, {"D", {1, 2}}, {"c", random_numbers(10, 3)}});
        const std::map<std::string, Array> inputs{{"x", rows_of(2, random_numbers(24, 2))}};
        const auto all = evaluate(graph, inputs), cut = evaluate(graph, inputs, 7);
        REQUIRE(all);
        REQUIRE(cut);
        check_close(cut->at(0).data, all->at(0).data, 0);
        std::vector<double> sum(2);
        for (size_t t = 0; t < 7; t++)
            for (size_t i = 0; i < 2; i++) sum[i] += all->at(0).row(t)[i];
        check_close(cut->at(1).data, sum, 1e-15);
    }
}

TEST_CASE("evaluate_all: every value by its id, constants with one row") {
    const Graph graph = graph_of(pooled, {{"k", {3, 4}}});
    const auto all = evaluate_all(graph, {{"x", rows_of(1, {1, 1, 1})}});
    REQUIRE(all);
    REQUIRE(all->size() == 4);
    CHECK(all->at(1).data == std::vector<double>{3, 4});
    CHECK(all->at(2).data == std::vector<double>{7});
}

TEST_CASE("evaluate: one value may be two outputs, and an input one") {
    const Graph graph = graph_of("%x = input \"x\" features : f32[1] @1/1\n%y = relu(%x)\noutput \"a\" "
                                 "%y\noutput \"b\" %y\noutput \"x\" %x");
    const auto out = evaluate(graph, {{"x", rows_of(1, {2})}});
    REQUIRE(out);
    for (const Array &array : *out) CHECK(array.data == std::vector<double>{2});
}

TEST_CASE("evaluate: inputs that do not fit are refused") {
    const Graph graph = graph_of(pooled);
    CHECK(refusal(graph, {}) == "input \"x\" is missing");
    CHECK(refusal(graph, {{"x", rows_of(1, {1})}, {"z", rows_of(1, {1})}}) == "there is no input \"z\"");
    CHECK(refusal(graph, {{"x", rows_of(2, {1, 2})}}) == "input \"x\" expected rows of 1, found 2");
    CHECK(refusal(graph, {{"x", Array{3, 1, {1, 2}}}}) == "input \"x\" expected 3 elements, found 2");
    CHECK(refusal(graph, {{"x", rows_of(1, {1, 2})}}, 3) == "length 3 is beyond the 2 ticks of \"x\"");
}

TEST_CASE("evaluate: ids outside the vocabulary are refused") {
    const Graph graph = graph_of("%x = input \"ids\" tokens vocabulary=3 : i32[1] @1/1\n%w = const \"w\" : "
                                 "[3,2]\n%y = embedding(%x, %w)\noutput \"y\" %y");
    CHECK(refusal(graph, {{"ids", rows_of(1, {3})}}) == "input \"ids\" expected ids below 3, found 3");
    CHECK(refusal(graph, {{"ids", rows_of(1, {-1})}}).find("found -1") != std::string::npos);
    CHECK(refusal(graph, {{"ids", rows_of(1, {0.5})}}).find("found 0.5") != std::string::npos);
    CHECK(refusal(graph, {{"ids", rows_of(1, {std::nan("")})}}).find("found nan") != std::string::npos);
}

TEST_CASE("evaluate: sequences of different length do not meet") {
    const Graph graph = graph_of(R"(
        %a = input "a" features : f32[1] @1/1
        %b = input "b" features : f32[1] @1/1
        %y = add(%a, %b) ; layer sum
        output "y" %y)");
    CHECK(refusal(graph, {{"a", rows_of(1, {1, 2})}, {"b", rows_of(1, {1})}}) ==
          "layer sum: expected inputs of one length, found 2 and 1 ticks");
}

} // namespace evaluate_test
