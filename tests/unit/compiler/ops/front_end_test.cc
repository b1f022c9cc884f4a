// frame, power_spectrum, conv2d, linear: what stands before the sequence layers. Expected numbers
// are worked out by hand.
#include "tests/unit/compiler/ir/graphs.h"
#include <cmath>
#include <numbers>

namespace front_end_test {

using namespace longwave::ir;

TEST_CASE("frame: each window ends with its hop, zeros before the start") {
    const Graph graph = graph_of(R"(
        %x = input "x" audio : f32[1] @1/1
        %w = const "w" : [4]
        %y = frame(%x, %w) {window=4, hop=2}
        output "y" %y)",
                                 {{"w", {1, 10, 100, 1000}}});
    CHECK(graph.type(2) == Type{.dims = {4}, .clock = {1, 2}});
    const Array y = run(graph, rows_of(1, {1, 2, 3, 4, 5, 6, 7})); // the seventh sample completes no hop
    CHECK(y.rows == 3);
    check_close(y.data, {0, 0, 100, 2000, 1, 20, 300, 4000, 3, 40, 500, 6000});
}

TEST_CASE("frame: a hop longer than its window leaves samples out") {
    const Graph graph = graph_of("%x = input \"x\" audio : f32[1] @1/1\n%w = const \"w\" : [2]\n%y = "
                                 "frame(%x, %w) {window=2, hop=3}\noutput \"y\" %y",
                                 {{"w", {1, 1}}});
    check_close(run(graph, rows_of(1, {1, 2, 3, 4, 5, 6})).data, {2, 3, 5, 6});
}

TEST_CASE("power_spectrum: a cosine of bin 1 over 8 points has the power (8/2)² there and nowhere else") {
    const Graph graph = graph_of(
        "%x = input \"x\" features : f32[8] @1/1\n%y = power_spectrum(%x) {n_fft=8}\noutput \"y\" %y");
    std::vector<double> x(8);
    for (size_t i = 0; i < 8; ++i) x[i] = std::cos(2 * std::numbers::pi * static_cast<double>(i) / 8 + 0.3);
    check_close(run(graph, rows_of(8, x)).data, {0, 16, 0, 0, 0});
}

TEST_CASE("power_spectrum: a short window is padded with zeros") {
    const Graph graph = graph_of(
        "%x = input \"x\" features : f32[2] @1/1\n%y = power_spectrum(%x) {n_fft=4}\noutput \"y\" %y");
    // DFT of [1, 2, 0, 0]: 3, 1 − 2i, −1
    check_close(run(graph, rows_of(2, {1, 2})).data, {9, 5, 1});
}

TEST_CASE("power_spectrum: energy in the spectrum is energy in the signal (Parseval), odd sizes too") {
    for (const size_t n : {7u, 12u}) {
        const Graph graph =
            graph_of("%x = input \"x\" features : f32[" + std::to_string(n) +
                     "] @1/1\n%y = power_spectrum(%x) {n_fft=" + std::to_string(n) + "}\noutput \"y\" %y");
        const auto x = random_numbers(n, 1);
        const Array y = run(graph, rows_of(n, x));
        double signal = 0, spectrum = 0;
        for (const double v : x) signal += v * v;
        for (size_t f = 0; f < y.width; ++f)
            spectrum += y.data[f] * (f == 0 || 2 * f == n ? 1 : 2); // the other half mirrors it
        CHECK(spectrum / static_cast<double>(n) == doctest::Approx(signal));
    }
}

TEST_CASE("linear: weight rows times features, plus bias") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2,2] @1/1
        %w = const "w" : [2,4]
        %b = const "b" : [2]
        %y = linear(%x, %w, %b) {bias=1}
        output "y" %y)",
                                 {{"w", {1, 10, 100, 1000, 0, 0, 0, 1}}, {"b", {0.5, -1}}});
    check_close(run(graph, rows_of(4, {1, 2, 3, 4, 5, 6, 7, 8})).data, {4321.5, 3, 8765.5, 7});
}

TEST_CASE("conv2d: time is causal, output m reads up to stride·m + stride − 1") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[1] @1/1
        %k = const "k" : [1,1,3,1]
        %y = conv2d(%x, %k) {stride_t=2, stride_f=1, groups=1, bias=0, frequency=0}
        output "y" %y)",
                                 {{"k", {1, 10, 100}}});
    CHECK(graph.type(2).clock == Clock{1, 2});
    // rows of kernel: oldest first. m = 0 reads samples −1, 0, 1; m = 1 reads 1, 2, 3.
    check_close(run(graph, rows_of(1, {1, 2, 3, 4, 5})).data, {210, 432});
}

TEST_CASE("conv2d: frequency is centred, with (kf − 1)/2 zeros on both sides") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[4] @1/1
        %k = const "k" : [2,1,1,3]
        %b = const "b" : [2]
        %y = conv2d(%x, %k, %b) {stride_t=1, stride_f=1, groups=1, bias=1, frequency=1}
        output "y" %y)",
                                 {{"k", {1, 10, 100, 0, 1, 0}}, {"b", {0, 0.5}}});
    CHECK(graph.type(3).dims == std::vector<uint32_t>{4, 2});
    // (frequency, channel), channels innermost
    check_close(run(graph, rows_of(4, {1, 2, 3, 4})).data, {210, 1.5, 321, 2.5, 432, 3.5, 43, 4.5});
}

TEST_CASE("conv2d: strides in frequency shorten it, a single frequency leaves plain channels") {
    const std::string attributes = "{stride_t=1, stride_f=2, groups=1, bias=0, frequency=1}";
    const Graph five = graph_of(
        "%x = input \"x\" features : f32[5] @1/1\n%k = const \"k\" : [1,1,1,3]\n%y = conv2d(%x, %k) " +
            attributes + "\noutput \"y\" %y",
        {{"k", {1, 10, 100}}});
    CHECK(five.type(2).dims == std::vector<uint32_t>{3, 1}); // floor((5 + 2 − 3)/2) + 1
    check_close(run(five, rows_of(5, {1, 2, 3, 4, 5})).data, {210, 432, 54});
    const Graph two = graph_of(
        "%x = input \"x\" features : f32[2] @1/1\n%k = const \"k\" : [7,1,1,3]\n%y = conv2d(%x, %k) " +
        attributes + "\noutput \"y\" %y");
    CHECK(two.type(2).dims == std::vector<uint32_t>{7});
}

TEST_CASE("conv2d: groups keep channels apart") {
    const Graph graph = graph_of(R"(
        %x = input "x" features : f32[2,4] @1/1
        %k = const "k" : [2,2,1,1]
        %y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=2, bias=0, frequency=0}
        output "y" %y)",
                                 {{"k", {1, 10, 100, 1000}}});
    // (f, c): channels 0, 1 go to output 0; channels 2, 3 to output 1
    check_close(run(graph, rows_of(8, {1, 2, 3, 4, 5, 6, 7, 8})).data, {21, 4300, 65, 8700});
}

TEST_CASE("conv2d: a width counts as frequencies or as channels") {
    const auto dims = [](const char *frequency) {
        const std::string shape = std::string(frequency) == "1" ? "[3,1,1,1]" : "[3,6,1,1]";
        return graph_of(std::string("%x = input \"x\" features : f32[6] @1/1\n%k = const \"k\" : ") + shape +
                        "\n%y = conv2d(%x, %k) {stride_t=1, stride_f=1, groups=1, bias=0, frequency=" +
                        frequency + "}\noutput \"y\" %y")
            .type(2)
            .dims;
    };
    CHECK(dims("1") == std::vector<uint32_t>{6, 3});
    CHECK(dims("0") == std::vector<uint32_t>{3});
}

} // namespace front_end_test
