// Graphs run in float64: rows follow clocks, lengths stop pooling and hide what lies behind the end.
#include "tests/unit/compiler/ir/graphs.h"

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

TEST_CASE("evaluate: a run of length n equals the first n ticks alone, two-sided layers included") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2] @1/1
        %k = const "k" : [2,2,5]
        %D = const "D" : [1,2]
        %s = const "s" : [2]
        %a = long_conv(%x, %k, %D) {channels=1, two_sided=1}
        %b = affine(%a, %s, %s)
        %c = long_conv(%b, %k, %D) {channels=1, two_sided=1}
        %y = mean(%c) {mode="mean"}
        output "c" %c
        output "y" %y)",
                                 {{"k", random_numbers(20, 1)}, {"D", {1, 2}}, {"s", {0.5, 3}}});
    const auto x = random_numbers(24, 2);
    const auto whole = evaluate(graph, {{"x", rows_of(2, x)}}, 7),
               cut = evaluate(graph, {{"x", rows_of(2, {x.begin(), x.begin() + 14})}});
    REQUIRE(whole);
    REQUIRE(cut);
    check_close({whole->at(0).data.begin(), whole->at(0).data.begin() + 14}, cut->at(0).data, 0);
    check_close(whole->at(1).data, cut->at(1).data, 0);
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
