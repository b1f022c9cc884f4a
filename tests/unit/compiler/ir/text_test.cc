#include "compiler/ir/op.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace text_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

std::string refusal(const std::string &text, const Weights &weights = {}) {
    const auto graph = parse(text, weights);
    REQUIRE(!graph);
    CHECK(graph.status().fault() == Fault::input);
    return graph.status().message();
}

} // namespace

TEST_CASE("text: printing what was parsed gives the same bytes") {
    const std::string text = R"(graph "kws \"12\""
%0 = input "audio" audio rate=16000 : f32[1] @1/1 causal
%1 = input "ids" tokens vocabulary=18 : i32[1] @1/1 causal delay=3
%2 = const "frontend.window" : [400]
%3 = frame(%0, %2) {hop=160, window=400} : f32[400] @1/160 causal   ; layer frontend
%4 = power_spectrum(%3) {n_fft=512} : f32[257] @1/160 causal   ; layer frontend
%5 = log(%4) {offset=1e-05} : f32[257] @1/160 causal   ; layer "a layer; with \x0a signs"
%6 = mean(%5) {mode="mean"} : f32[257] @0/1 causal
%7 = const "table" : [18,4]
%8 = embedding(%1, %7) : f32[4] @1/1 causal delay=3   ; layer encoder[0]
%9 = const "k" : [2,4,3]
%10 = const "D" : [1,4]
%11 = long_conv(%8, %9, %10) {channels=1, two_sided=1} : f32[4] @1/1 noncausal delay=3   ; layer model.layers.0.layer
%12 = const "scalar" : []
%13 = transposed_layer_norm(%11, %12, %12) : f32[4] @1/1 noncausal delay=3
output "pooled" %6
output "y" %13
certificate "merge_branches" "stem" "branches {3, 5, identity} → 5 taps" 1.1102230246251565e-16
certificate "fold_norms" "stem" "batch_norm → affine" 0.0
)";
    CHECK(print(graph_of(text)) == text);
}

TEST_CASE("text: every kind of attribute reads back as it was") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[4] @1/1
        %y = log(%x) {offset=-2.5}
        %z = log(%y) {offset=1.0}
        %m = mean(%z) {mode="last"}
        output "m" %m)");
    CHECK(graph.nodes[0].number("offset") == -2.5);
    CHECK(graph.nodes[1].number("offset") == 1.0);
    CHECK(graph.nodes[2].text("mode") == "last");
    CHECK(print(graph).find("offset=1.0") != std::string::npos);
}

TEST_CASE("text: weights come from the table, others are zeros") {
    const std::string text = "%x = input \"x\" features : f32[2] @1/1\n%w = const \"w\" : [2]\n%b = const "
                             "\"b\" : [2]\n%y = affine(%x, %w, %b)\noutput \"y\" %y";
    const Graph graph = graph_of(text, {{"w", {3, 4}}});
    CHECK(graph.constants[0].data == std::vector<double>{3, 4});
    CHECK(graph.constants[1].data == std::vector<double>{0, 0});
}

TEST_CASE("text: comments and blank lines say nothing") {
    const Graph graph = graph_of("; a graph\n\n%x = input \"x\" features : f32[2] @1/1 ; the input\n  ; "
                                 "more\n%y = relu(%x) ; layered?\noutput \"y\" %y ; done");
    CHECK(graph.nodes[0].layer == "");
}

TEST_CASE("text: errors name line and column") {
    CHECK(refusal("graph \"g\"\n  %0 = input \"x\" sounds : f32[1] @1/1") ==
          "line 2, column 18: expected audio, features or tokens, found sounds");
    CHECK(refusal("nodes") ==
          "line 1, column 1: expected graph, output, certificate or a value, found nodes");
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1/1 %") ==
          "line 1, column 36: expected the end of the line");
    CHECK(refusal("output \"y\" %7") == "line 1, column 13: %7 is not known here");
}

TEST_CASE("text: a written type must be the inferred one") {
    const std::string message =
        refusal("%x = input \"x\" features : f32[4] @1/1\n%y = relu(%x) : f32[5] @1/1 causal");
    CHECK(message == "line 2, column 6: expected f32[4] @1/1 causal, found f32[5] @1/1 causal");
    CHECK(refusal("%x = input \"x\" features : f32[4] @1/1\n%y = relu(%x) : f32[4] @1/1 noncausal")
              .find("found f32[4] @1/1 noncausal") != std::string::npos);
    CHECK(refusal("%x = input \"x\" features : f32[4] @1/1\n%y = relu(%x) : f32[4] @1/2")
              .find("found f32[4] @1/2 causal") != std::string::npos);
}

TEST_CASE("text: an op's refusal is the parser's, with the place") {
    const std::string message = refusal("%x = input \"x\" features : f32[3] @1/1\n%y = glu(%x) ; layer head");
    CHECK(message == "line 2, column 6: layer head: glu: expected two halves, found [3]");
}

TEST_CASE("text: malformed pieces are refused") {
    CHECK(refusal("graph g").find("expected \"") != std::string::npos);
    CHECK(refusal("graph \"g").find("the text has no end") != std::string::npos);
    CHECK(refusal("graph \"\\q\"").find("hexadecimal") != std::string::npos);
    CHECK(refusal("graph \"\\xZZ\"").find("hexadecimal") != std::string::npos);
    CHECK(refusal("graph \"a\"\ngraph \"b\"").find("comes first, once") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [4,0]").find("an extent of zero") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [4").find("expected ]") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [-4]").find("expected an extent") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [99999999999]").find("expected an extent") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [4000000000,4000000000]").find("too large") != std::string::npos);
    CHECK(refusal("%0 = const \"k\" : [4]\n%0 = const \"k\" : [4]").find("is there already") !=
          std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f64[1] @1/1").find("expected f32") != std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1/0").find("a clock over zero") != std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1").find("expected /") != std::string::npos);
    CHECK(refusal("%0 = relu(%0)").find("%0 is not known here") != std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1/1\n%1 = log(%0) {offset=1.0, offset=2.0}")
              .find("is there already") != std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1/1\n%1 = log(%0) {offset}").find("expected =") !=
          std::string::npos);
    CHECK(refusal("%0 = input \"x\" audio : f32[1] @1/1\n%1 = log(%0) {offset=}")
              .find("expected an integer, a number or a text") != std::string::npos);
    CHECK(refusal("certificate \"a\" \"b\" \"c\"").find("expected an error") != std::string::npos);
}

TEST_CASE("text: a weight of another size is refused") {
    CHECK(refusal("%0 = const \"k\" : [4]", {{"k", {1, 2, 3}}}).find("\"k\" expected 4 elements, found 3") !=
          std::string::npos);
}

TEST_CASE("text: a cut text never reads past its end") {
    const std::string text = "graph \"g\\x41\"\n%0 = input \"x\" audio rate=16000 : f32[1] @1/1 causal "
                             "delay=2\n%1 = log(%0) {offset=1.5} : f32[1] "
                             "@1/1 causal delay=2   ; layer \"a\"\n"
                             "output \"y\" %1\ncertificate \"a\" \"b\" \"c\" 1e-5\n";
    for (size_t n = 0; n < text.size(); ++n) (void)parse(text.substr(0, n));
    CHECK(parse(text));
}

TEST_CASE("text: a line of text does not make gigabytes of zeros") {
    CHECK(refusal("%0 = const \"k\" : [65536,4096]").find("\"k\" is too large to be made of zeros") !=
          std::string::npos);
    std::string many;
    for (int i = 0; i < 20; ++i)
        many += "%" + std::to_string(i) + " = const \"k" + std::to_string(i) + "\" : [1048576]\n";
    CHECK(refusal(many).find("\"k16\" is too large to be made of zeros") !=
          std::string::npos); // they count together
}

} // namespace text_test
