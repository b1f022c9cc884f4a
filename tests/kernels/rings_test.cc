// Kernels that read a ring of rows at any position: short and direct convolutions, frames.
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <complex>
#include <numeric>

namespace rings_test {

using namespace longwave::test;

namespace {

constexpr double pi = 3.14159265358979323846;

int modulo(int a, int n) { return (a % n + n) % n; }

struct Conv2d {
    int time, frequency, in_f, in_c, out_f, out_c, rows, ring;
    int groups = 1, stride_t = 1, stride_f = 1, dilation_t = 1, pad_f = 0, phase = -1, in_row = 0;
};

// `tolerance`: 0 for the limit of a sum in any order.
Case conv2d(Conv2d d, const std::vector<int> &positions, double tolerance = 0) {
    const int phase = d.phase < 0 ? d.stride_t - 1 : d.phase;
    std::string params = fmt::format(
        R"("time":{},"frequency":{},"in_f":{},"in_c":{},"out_f":{},"out_c":{},"rows":{},"ring":{},"groups":{},"stride_t":{},"stride_f":{},"dilation_t":{},"pad_f":{},"phase":{},"bias":1)",
        d.time, d.frequency, d.in_f, d.in_c, d.out_f, d.out_c, d.rows, d.ring, d.groups, d.stride_t,
        d.stride_f, d.dilation_t, d.pad_f, phase);
    if (d.in_row) params += fmt::format(R"(,"in_row":{})", d.in_row);
    return {spec("conv2d", params), [=](Kernel &k) {
                Tensor &x = k["x"], &w = k["w"];
                zero_padding(w, d.out_c, padded(d.out_c));
                zero_padding(k["bias"], d.out_c, padded(d.out_c));
                for (int position : positions) {
                    k.scalar("position") = position;
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            const int c = at[0], inputs = d.groups > 1 ? 1 : d.in_c;
                            double sum = k["bias"].get({c});
                            for (int t = 0; t < d.time; t++)
                                for (int f = 0; f < d.frequency; f++)
                                    for (int i = 0; i < inputs; i++) {
                                        const int row = modulo(position + at[2] * d.stride_t + phase -
                                                                   (d.time - 1 - t) * d.dilation_t,
                                                               d.ring);
                                        const int from = at[1] * d.stride_f + f - d.pad_f;
                                        if (from < 0 || from >= d.in_f) continue;
                                        sum += d.groups > 1 ? w.get({c, f, t}) * x.get({c, from, row})
                                                            : w.get({c, i, f, t}) * x.get({i, from, row});
                                    }
                            return c < d.out_c ? sum : 0;
                        },
                        tolerance ? tolerance : limit(d.time * d.frequency * d.in_c));
                }
            }};
}

Case long_conv_direct(int channels, int copies, int taps, int rows, int ring,
                      const std::vector<int> &positions) {
    return {spec("long_conv_direct", fmt::format(R"("channels":{},"copies":{},"taps":{},"rows":{},"ring":{})",
                                                 channels, copies, taps, rows, ring)),
            [=](Kernel &k) {
                const Tensor &of_taps = k["k"], &u = k["u"];
                for (int position : positions) {
                    k.scalar("position") = position;
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            double sum = 0;
                            for (int t = 0; t < taps; t++)
                                sum += of_taps.get({at[0], at[1], t}) *
                                       u.get({at[0], modulo(position + at[2] - t, ring)});
                            return sum;
                        },
                        limit(taps));
                }
            }};
}

Case frame_power(int window, int hop, int n_fft, int rows, int ring, const std::vector<int> &positions) {
    return {spec("frame_power", fmt::format(R"("window":{},"hop":{},"n_fft":{},"rows":{},"ring":{})", window,
                                            hop, n_fft, rows, ring)),
            [=](Kernel &k) {
                const std::vector<float> table =
                    longwave::schedules::frame_twiddles(static_cast<uint32_t>(n_fft));
                for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
                std::vector<std::complex<double>> roots;
                for (int n = 0; n < n_fft; n++) roots.push_back(std::polar(1.0, -2 * pi * n / n_fft));
                const Tensor &samples = k["samples"], &weights = k["window"];
                for (int position : positions) {
                    k.scalar("position") = position;
                    compare(
                        k, "power",
                        [&](const std::vector<int> &at) {
                            if (at[0] > n_fft / 2) return 0.0;
                            std::complex<double> sum = 0;
                            for (int i = 0; i < window; i++) {
                                const double sample =
                                    samples.get({modulo(position + (at[1] + 1) * hop - window + i, ring)});
                                sum += sample * weights.get({i}) *
                                       roots[static_cast<size_t>(int64_t{i} * at[0] % n_fft)];
                            }
                            return std::norm(sum);
                        },
                        limit(n_fft));
                }
            }};
}

struct Frame {
    int window, hop, chunk, rows, ring;
    bool weighted;
};

Case frame(Frame f, const std::vector<int> &positions) {
    return {spec("frame", fmt::format(R"("window":{},"hop":{},"chunk":{},"rows":{},"ring":{},"weighted":{})",
                                      f.window, f.hop, f.chunk, f.rows, f.ring, int{f.weighted})),
            [=](Kernel &k) {
                for (int position : positions) {
                    k.scalar("position") = position;
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            if (at[0] >= f.window) return 0.0;
                            const double sample = k["samples"].get(
                                {modulo(position + (at[1] + 1) * f.hop - f.window + at[0], f.ring)});
                            return f.weighted ? sample * k["window"].get({at[0]}) : sample;
                        },
                        f.weighted ? limit(1) : 0);
                }
            }};
}

} // namespace

TEST_CASE(
    "conv2d: regular, pointwise, depthwise and 1-D, with strides, dilation, padding and a wrapped ring") {
    run_everywhere({
        conv2d({.time = 3,
                .frequency = 3,
                .in_f = 40,
                .in_c = 1,
                .out_f = 20,
                .out_c = 16,
                .rows = 1,
                .ring = 4,
                .stride_f = 2,
                .pad_f = 1,
                .in_row = 48},
               {0, 3}),
        conv2d({.time = 1,
                .frequency = 1,
                .in_f = 20,
                .in_c = 16,
                .out_f = 20,
                .out_c = 24,
                .rows = 3,
                .ring = 3},
               {0}),
        conv2d({.time = 3,
                .frequency = 3,
                .in_f = 20,
                .in_c = 16,
                .out_f = 18,
                .out_c = 16,
                .rows = 2,
                .ring = 8,
                .groups = 16,
                .stride_t = 2},
               {0, 4}),
        conv2d({.time = 5,
                .frequency = 1,
                .in_f = 1,
                .in_c = 97,
                .out_f = 1,
                .out_c = 97,
                .rows = 33,
                .ring = 66,
                .groups = 97,
                .dilation_t = 2},
               {0, 33}),
        conv2d({.time = 3,
                .frequency = 1,
                .in_f = 1,
                .in_c = 40,
                .out_f = 1,
                .out_c = 97,
                .rows = 5,
                .ring = 20,
                .stride_t = 2,
                .phase = 0},
               {0, 10}),
        conv2d({.time = 2,
                .frequency = 3,
                .in_f = 7,
                .in_c = 3,
                .out_f = 7,
                .out_c = 1,
                .rows = 1,
                .ring = 2,
                .pad_f = 1},
               {1}),
        // Each tap has products of its own: those with zeros around the frequencies are left out.
        conv2d({.time = 2,
                .frequency = 3,
                .in_f = 4,
                .in_c = 70,
                .out_f = 4,
                .out_c = 40,
                .rows = 2,
                .ring = 6,
                .pad_f = 1},
               {0, 4}),
        conv2d({.time = 1,
                .frequency = 5,
                .in_f = 6,
                .in_c = 33,
                .out_f = 3,
                .out_c = 24,
                .rows = 1,
                .ring = 1,
                .stride_f = 2,
                .pad_f = 2},
               {0}),
        conv2d(
            {.time = 3, .frequency = 1, .in_f = 1, .in_c = 1, .out_f = 1, .out_c = 6, .rows = 2, .ring = 6},
            {0, 4}),
    });
}

TEST_CASE("long_conv_direct: any ring position, one row or many, several copies") {
    run_everywhere({
        long_conv_direct(1, 1, 7, 3, 16, {0, 5, 13}),
        long_conv_direct(1, 2, 300, 1, 320, {0, 250, 319}),
        long_conv_direct(1, 7, 40, 3, 48, {0, 5, 45}), // lanes over copies that fill no vector
        long_conv_direct(1, 16, 1100, 1, 1200, {0, 700, 1199}),
        long_conv_direct(1, 35, 64, 2, 66, {0, 64}),
        long_conv_direct(3, 2, 5, 1, 8, {0, 3, 7}),
        long_conv_direct(97, 1, 64, 1, 80, {0, 63, 79}),
        long_conv_direct(5, 2, 1021, 1, 1024, {0, 512, 1023}), // chunks, and taps that fill none
        long_conv_direct(5, 2, 1021, 7, 1100, {0, 512, 1093}),
        long_conv_direct(20, 1, 768, 16, 800, {0, 784}),
        long_conv_direct(16, 1, 33, 5, 40, {0, 20, 35}),
        long_conv_direct(96, 1, 9, 33, 41, {8}),
        long_conv_direct(6, 1, 1, 2, 2, {0}),
    });
}

TEST_CASE("conv2d: on a CPU many products are added in parts of at most 64") {
    if (gpu_under_test()) return;
    // In one chain, 387 roundings of sums that grow have 3.5e-7.
    run_everywhere({
        conv2d({.time = 1,
                .frequency = 3,
                .in_f = 4,
                .in_c = 129,
                .out_f = 4,
                .out_c = 128,
                .rows = 1,
                .ring = 1,
                .pad_f = 1},
               {0}, 2e-7),
        conv2d({.time = 3,
                .frequency = 1,
                .in_f = 1,
                .in_c = 131,
                .out_f = 1,
                .out_c = 33,
                .rows = 2,
                .ring = 7},
               {3}, 2e-7),
        conv2d({.time = 387,
                .frequency = 1,
                .in_f = 1,
                .in_c = 1,
                .out_f = 1,
                .out_c = 258,
                .rows = 1,
                .ring = 1024,
                .stride_t = 512},
               {0, 512}, 2e-7),
        conv2d({.time = 5,
                .frequency = 80,
                .in_f = 90,
                .in_c = 1,
                .out_f = 11,
                .out_c = 17,
                .rows = 1,
                .ring = 5},
               {2}, 2e-7),
    });
}

TEST_CASE("conv2d: parts of unequal length, and the taps of the last one reach to the newest row") {
    // 15 taps of 8 channels are parts of 8 and 7 taps.
    run_everywhere({
        conv2d({.time = 15,
                .frequency = 1,
                .in_f = 1,
                .in_c = 8,
                .out_f = 1,
                .out_c = 8,
                .rows = 64,
                .ring = 256,
                .dilation_t = 13},
               {0, 64, 192}),
    });
}

TEST_CASE("conv2d: one tap of few channels, in tiles of rows that divide them or not") {
    const auto rows_of = [](int rows, int in_c, int out_c) {
        return conv2d({.time = 1,
                       .frequency = 1,
                       .in_f = 1,
                       .in_c = in_c,
                       .out_f = 1,
                       .out_c = out_c,
                       .rows = rows,
                       .ring = rows},
                      {0});
    };
    run_everywhere({rows_of(64, 3, 3), rows_of(9, 2, 4), rows_of(13, 16, 2)});
}

TEST_CASE("frame_power: the power spectrum of windows over a ring") {
    run_everywhere({
        frame_power(400, 160, 512, 1, 480, {0, 320}),
        frame_power(400, 160, 512, 5, 1200, {240}),
        frame_power(64, 64, 64, 2, 128, {0}),
        frame_power(101, 50, 128, 1, 200, {0, 149}),
        frame_power(320, 80, 1024, 1, 400, {80}),
        frame_power(256, 128, 256, 1, 256, {128}),
        frame_power(1500, 500, 2048, 1, 1500, {500}),
        frame_power(2048, 512, 4096, 1, 2048, {1024}),
    });
}

TEST_CASE("frame_power: more frames than a dimension of a GPU's grid has workgroups") {
    if (!gpu_under_test()) return;
    run_everywhere({frame_power(8, 4, 64, 65601, 4 * 65601 + 8, {0})});
}

TEST_CASE("frame: windows over a ring, whole vectors and single samples") {
    run_everywhere({
        frame({576, 512, 64, 1, 1024, false}, {0, 512}),
        frame({400, 160, 80, 2, 640, true}, {0, 320}),
        frame({400, 160, 400, 5, 1200, true}, {240}), // offline: in one piece
        frame({3, 1, 1, 5, 9, true}, {0, 2, 4}),
        frame({1, 1, 1, 3, 7, false}, {0, 3}),
        frame({7, 9, 1, 2, 36, false}, {0, 18}), // samples between the windows are left out
        frame({101, 50, 1, 1, 200, true}, {0, 150}),
    });
}

TEST_CASE("conv2d: places of a stack frame are used again, so 16 streams of 10 frequencies fit each level") {
    if (gpu_under_test()) return;
    const std::string params = R"("time":1,"frequency":3,"in_f":10,"in_c":48,"out_f":10,"out_c":40,"rows":1,)"
                               R"("ring":1,"pad_f":1,"bias":1,"streams":16)";
    std::vector<Request> requests;
    for (const char *level : {"x86-64-v2", "x86-64-v3", "x86-64-v4"})
        requests.push_back({spec("conv2d", params), level});
    for (const nlohmann::json &answer : query_kernels(requests))
        CHECK_MESSAGE(answer.at("supported") == true, answer.dump());
}

TEST_CASE("random: conv2d") {
    Random("conv2d").run([](Random &r) {
        Conv2d d{.time = r.between(1, 4), .frequency = r.between(1, 3)};
        d.in_c = r.size(40);
        d.pad_f = r.between(0, d.frequency / 2);
        d.in_f = r.between(d.frequency, 24);
        d.stride_f = r.between(1, 2);
        d.out_f = (d.in_f + 2 * d.pad_f - d.frequency) / d.stride_f + 1;
        const bool depthwise = r.flip();
        d.out_c = depthwise ? d.in_c : r.size(60);
        d.groups = depthwise ? d.in_c : 1;
        d.stride_t = r.between(1, 2), d.dilation_t = r.between(1, 2);
        d.rows = r.size(12);
        // The ring is a whole number of firings and holds the history.
        const int firing = d.rows * d.stride_t, history = (d.time - 1) * d.dilation_t;
        d.ring = firing * (1 + (history + firing - 1) / firing + r.between(0, 1));
        return conv2d(d, {0, d.ring - firing});
    });
}

TEST_CASE("random: long_conv_direct") {
    Random("long_conv_direct").run([](Random &r) {
        const int taps = r.size(300), rows = r.size(40), ring = taps - 1 + rows + r.between(0, 9);
        return long_conv_direct(r.size(100), r.size(3), taps, rows, ring, {0, r.between(0, ring - rows)});
    });
}

} // namespace rings_test
