// A long convolution that mixes channels becomes filters per channel and a sum.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/passes/passes.h"
#include "tests/unit/compiler/ir/graphs.h"
#include <fmt/format.h>

namespace separate_channels_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

struct Mixer {
    size_t in, out, taps;
    const char *more = "stride_t=1, groups=1";
    bool bias = false;

    Graph graph() const {
        const std::string text = fmt::format(R"(graph "g"
            %x = input "x" features : f32[{}] @1/1
            %w = const "w" : [{},{},{},1]
            %b = const "b" : [{}]
            %y = conv2d(%x, %w{}) {{{}, stride_f=1, bias={}, frequency=0}} ; layer mixer
            output "y" %y)",
                                             in, out, in, taps, out, bias ? ", %b" : "", more, int{bias});
        return graph_of(text, {{"w", random_numbers(in * out * taps, 1)}, {"b", random_numbers(out, 2)}});
    }

    // By the definition, newest tap `ahead` rows ahead.
    std::vector<double> expected(const Graph &graph, const Array &x, size_t ahead) const {
        const Node &node = graph.nodes[0];
        const std::vector<double> w = graph.constant(node.inputs[1])->data.to_vector();
        std::vector<double> y;
        for (size_t t = 0; t < x.rows; ++t)
            for (size_t o = 0; o < out; ++o) {
                double sum = bias ? graph.constant(node.inputs[2])->data[o] : 0;
                for (size_t i = 0; i < in; ++i)
                    for (size_t a = 0; a < taps; ++a) {
                        const size_t row = t + ahead + a + 1;
                        if (row >= taps && row - taps < x.rows)
                            sum += w[(o * in + i) * taps + a] * x.row(row - taps)[i];
                    }
                y.push_back(sum);
            }
        return y;
    }
};

Graph separated(const Graph &graph) {
    auto made = compiler::separate_channels(graph);
    REQUIRE_MESSAGE(made, made.status().message());
    const Status status = verify(*made);
    REQUIRE_MESSAGE(status, status.message());
    return *std::move(made);
}

void computes_the_same(const Mixer &mixer, size_t ahead = 0) {
    CAPTURE(mixer.in);
    CAPTURE(mixer.out);
    const Graph graph = mixer.graph(), made = separated(graph);
    REQUIRE(made.certificates.size() == 1);
    CHECK(made.certificates[0].pass == "separate_channels");
    CHECK(made.certificates[0].what ==
          fmt::format("{} filters of {} taps", mixer.in * mixer.out, mixer.taps));
    for (const size_t rows : {size_t{1}, mixer.taps / 2, mixer.taps + 9}) {
        const Array x = rows_of(mixer.in, random_numbers(rows * mixer.in, 3));
        check_close(run(made, x).data, mixer.expected(graph, x, ahead), 1e-12);
    }
}

} // namespace

TEST_CASE("separate_channels: the sums of the definition") {
    computes_the_same({.in = 2, .out = 2, .taps = 64, .bias = true});
    computes_the_same({.in = 2, .out = 1, .taps = 100});
    computes_the_same({.in = 3, .out = 5, .taps = 70});
    computes_the_same({.in = 4, .out = 4, .taps = 70});
    computes_the_same({.in = 16, .out = 16, .taps = 192, .bias = true});
    computes_the_same({.in = 2, .out = 2, .taps = 65, .more = "stride_t=1, groups=1, ahead=32"}, 32);
}

TEST_CASE("separate_channels: few taps, strides, many channels and a single input stay") {
    for (const Mixer &mixer : {Mixer{2, 2, 63}, Mixer{2, 2, 64, "stride_t=2, groups=1"}, Mixer{17, 16, 400},
                               Mixer{16, 16, 191}, Mixer{1, 4, 400}})
        CHECK(separated(mixer.graph()).certificates.empty());
}

// Three taps, 64 rows apart: their op computes no zeros between them, and a transform would.
TEST_CASE("separate_channels: dilated convolutions of few taps stay") {
    std::vector<double> w(2 * 2 * 129);
    for (size_t n = 0; n < w.size(); ++n) w[n] = n % 129 % 64 == 0;
    const Graph graph = graph_of(R"(graph "g"
        %x = input "x" features : f32[2] @1/1
        %w = const "w" : [2,2,129,1]
        %y = conv2d(%x, %w) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=0} ; layer dilated
        output "y" %y)",
                                 {{"w", w}});
    CHECK(separated(graph).certificates.empty());
}

} // namespace separate_channels_test
