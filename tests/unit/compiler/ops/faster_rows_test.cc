// Rows that become more rows: split_rows and unframe, their clocks, and streams of clocks above one row for
// each tick.
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace faster_rows_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

Graph graph(const std::string &dims, const std::string &body, const Weights &weights = {}) {
    return graph_of("%x = input \"x\" features : f32" + dims + " @1/1\n" + body + "\noutput \"y\" %y",
                    weights);
}

std::string refusal(const std::string &dims, const std::string &body) {
    const auto made =
        parse("%x = input \"x\" features : f32" + dims + " @1/1\n" + body + "\noutput \"y\" %y", {});
    return made ? "" : made.status().message();
}

const Type &result(const Graph &graph) { return graph.type(graph.outputs[0].value); }

compiler::Pace pace(const Graph &graph, uint32_t block) {
    const auto found = compiler::pace_of(result(graph).clock, block);
    REQUIRE(found);
    return *found;
}

const std::string framed = "%w = const \"w\" : [{}]\n%f = frame(%x, %w) {{window={}, hop={}}}\n";

std::string frames(int window, int hop) { return fmt::format(fmt::runtime(framed), window, window, hop); }

} // namespace

TEST_CASE("split_rows: each row as several, features and bands") {
    const Graph plain = graph("[6]", "%y = split_rows(%x) {parts=3}");
    CHECK(result(plain).dims == std::vector<uint32_t>{2});
    CHECK(result(plain).clock == Clock{3, 1});
    CHECK(result(plain).whole == 1);
    CHECK(result(plain).causal);
    const Array y = run(plain, rows_of(6, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
    CHECK(y.rows == 6);
    check_close(y.data, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
    CHECK(result(graph("[6,4]", "%y = split_rows(%x) {parts=3}")).dims == std::vector<uint32_t>{2, 4});
    CHECK(result(graph("[3,4]", "%y = split_rows(%x) {parts=3}")).dims == std::vector<uint32_t>{4});
    CHECK(result(graph("[3]", "%y = split_rows(%x) {parts=1}")).clock == Clock{1, 1});
    CHECK(refusal("[5]", "%y = split_rows(%x) {parts=3}")
              .find("expected rows that divide into 3 parts, found [5]") != std::string::npos);
    CHECK(refusal("[65536]", "%a = split_rows(%x) {parts=16384}\n%y = split_rows(%a) {parts=4}") == "");
    CHECK(refusal("[131072]", "%a = split_rows(%x) {parts=65536}\n%y = split_rows(%a) {parts=2}")
              .find("131072 rows for each input tick: expected at most 65536") != std::string::npos);
}

TEST_CASE("split_rows: rows of a slower value come together, and only for whole rows") {
    const Graph back = graph("[1]", frames(4, 4) + "%y = split_rows(%f) {parts=4}", {{"w", {1, 1, 1, 1}}});
    CHECK(result(back).clock == Clock{1, 1});
    CHECK(result(back).whole == 4);
    CHECK(result(back).rows(11) == 8);
    CHECK(print(result(back)) == "f32[1] @1/1 causal whole=4");
    check_close(run(back, rows_of(1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})).data, {1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(result(graph("[1]", frames(6, 6) + "%y = split_rows(%f) {parts=2}")).clock == Clock{1, 3});
    // What joins them has rows where all of its inputs have.
    const Graph sum =
        graph("[1]", frames(4, 4) + "%s = split_rows(%f) {parts=4}\n%y = add(%x, %s)", {{"w", {1, 1, 1, 1}}});
    CHECK(result(sum).whole == 4);
    check_close(run(sum, rows_of(1, {1, 2, 3, 4, 5, 6, 7})).data, {2, 4, 6, 8});
    CHECK(refusal("[1]", frames(4, 4) + "%s = split_rows(%f) {parts=4}\n%y = mean(%s) {mode=\"mean\"}")
              .find("pool before the rows are split") != std::string::npos);
    const std::string far =
        frames(1021, 1021) +
        "%a = split_rows(%f) {parts=1021}\n%v = const \"v\" : [1031]\n"
        "%g = frame(%x, %v) {window=1031, hop=1031}\n%b = split_rows(%g) {parts=1031}\n%y = add(%a, %b)";
    CHECK(refusal("[1]", far).find("meet every 1052651 ticks: expected at most 1048576") !=
          std::string::npos);
}

TEST_CASE("split_rows: a block takes whole rows, however many rows a tick has") {
    CHECK(pace(graph("[6]", "%y = split_rows(%x) {parts=3}"), 7).rows == 21);
    const Graph back = graph("[1]", frames(4, 4) + "%y = split_rows(%f) {parts=4}");
    CHECK(compiler::natural_block(back) == 4);
    CHECK(compiler::check_blocks(back, {4, 12}));
    const Status cut = compiler::check_blocks(back, {2, 4});
    CHECK(cut.message().find("a block of 2 input ticks cuts rows of layer , which come for 4 ticks together: "
                             "take a multiple of 4") != std::string::npos);
}

TEST_CASE("unframe: frames are added where they overlap, with zeros around the sequence") {
    for (const auto &[window, hop] :
         {std::pair{6, 2}, std::pair{5, 2}, std::pair{3, 3}, std::pair{1, 1}, std::pair{400, 160}})
        for (int ahead = 0; ahead < (window + hop - 1) / hop; ahead++) {
            CAPTURE(window);
            CAPTURE(ahead);
            const size_t rows = 5, width = static_cast<size_t>(window);
            const Graph offline =
                graph(fmt::format("[{}]", window),
                      fmt::format("%y = unframe(%x) {{window={}, hop={}, ahead={}}}", window, hop, ahead));
            const std::vector<double> x = random_numbers(rows * width, 3);
            std::vector<double> all((rows + 9) * width); // sample by sample
            for (size_t t = 0; t < rows; t++)
                for (size_t i = 0; i < width; i++) all[t * static_cast<size_t>(hop) + i] += x[t * width + i];
            const auto first = all.begin() + ahead * hop;
            check_close(run(offline, rows_of(width, x)).data,
                        {first, first + static_cast<ptrdiff_t>(rows) * hop});
            CHECK(result(offline).causal == (ahead == 0));
            const auto stream = compiler::make_streaming(offline);
            REQUIRE(stream);
            CHECK(result(*stream).delay == static_cast<uint32_t>(ahead));
            CHECK(run(*stream, rows_of(width, x)).data == run(offline, rows_of(width, x)).data);
        }
    CHECK(refusal("[4]", "%y = unframe(%x) {window=5, hop=2, ahead=0}")
              .find("expected frames of 5 values, found [4]") != std::string::npos);
    CHECK(refusal("[4]", "%y = unframe(%x) {window=4, hop=5, ahead=0}")
              .find("attribute hop expected 1 to 4, found 5") != std::string::npos);
    CHECK(refusal("[4]", "%y = unframe(%x) {window=4, hop=2, ahead=2}")
              .find("attribute ahead expected 0 to 1, found 2") != std::string::npos);
}

TEST_CASE("streams of several rows a tick come whole ticks late, whatever their rows wait for") {
    const std::string head =
        "%s = split_rows(%x) {parts=4}\n%k = const \"k\" : [2,2,5,1]\n%c = const \"c\" : [2,3]\n"
        "%l = const \"l\" : [2,2,4]\n%d = const \"d\" : [1,2]\n";
    const std::vector<std::string> late{
        "%y = conv2d(%s, %k) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0, ahead=3}",
        "%a = centred_conv(%s, %c) {bias=0}\n%y = add(%a, %s)",
        "%y = long_conv(%s, %l, %d) {channels=1, two_sided=1, ahead=2}",
        "%y = unframe(%s) {window=2, hop=1, ahead=1}"};
    Weights weights{{"k", random_numbers(20, 1)},
                    {"c", random_numbers(6, 2)},
                    {"l", random_numbers(16, 3)},
                    {"d", random_numbers(2, 4)}};
    weights["l"][10] = weights["l"][11] = weights["l"][14] = weights["l"][15] = 0; // two taps ahead
    for (const std::string &op : late) {
        CAPTURE(op);
        const Graph offline = graph("[8]", head + op, weights);
        const auto stream = compiler::make_streaming(offline);
        REQUIRE_MESSAGE(stream, stream.status().message());
        CHECK(verify(*stream));
        CHECK(result(*stream).delay == 1); // 4 rows
        const Array x = rows_of(8, random_numbers(8 * 9, 5));
        CHECK(largest_difference(run(*stream, x).data, run(offline, x).data) < 1e-12);
    }
}

} // namespace faster_rows_test
