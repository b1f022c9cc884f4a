// Convolutions of few channels whose kernel keeps the older rows, and what runs between them with rows
// channel by channel.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"

namespace narrow_conv_test {

using namespace longwave::test;

namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

struct NarrowConv {
    int taps, dilation, in_c, out_c, rows, ring, again;
    bool x_by_channel = false, y_by_channel = false, adds = false; // `adds`: an operand with rows, then tanh
    bool bias = true;

    bool remembers() const { return ring > 0; }
    std::string text() const {
        std::string params =
            fmt::format(R"("taps":{},"dilation":{},"in_c":{},"out_c":{},"rows":{},"bias":{})", taps, dilation,
                        in_c, out_c, rows, int{bias});
        if (remembers()) params += fmt::format(R"(,"ring":{},"again":{})", ring, again);
        // x, w, [bias], [add_0], [position], y, [past]
        const int operand = bias ? 3 : 2, result = operand + adds + remembers();
        std::vector<int> by_channel;
        if (x_by_channel) by_channel.push_back(0);
        if (y_by_channel && adds) by_channel.push_back(operand);
        if (y_by_channel) by_channel.push_back(result);
        return with_channel_major(spec("narrow_conv", params, adds ? R"({"op":"add"},{"op":"tanh"})" : ""),
                                  by_channel);
    }
};

// At each position in turn: the result, and the rows that the kernel keeps.
Case narrow_conv(const NarrowConv &d, const std::vector<int> &positions) {
    return {d.text(), [=](Kernel &k) {
                const auto slots = [&](const auto &visit) {
                    for (int i = 0; d.remembers() && i < d.in_c; i++)
                        for (int n = 0; n < d.ring + d.again; n++) visit(n, i);
                };
                slots([&](int n, int i) { // as the calls before leave it
                    if (n >= d.ring) k["past"].set({n, i}, k["past"].get({n - d.ring, i}));
                });
                for (const int position : positions) {
                    if (d.remembers()) k.scalar("position") = position;
                    std::vector<double> past; // [channel][row of the ring], with the new rows
                    slots([&](int n, int i) {
                        const int row = n - position;
                        if (n < d.ring)
                            past.push_back(row >= 0 && row < d.rows ? k["x"].get({i, row})
                                                                    : k["past"].get({n, i}));
                    });
                    const auto value = [&](int i, int row) {
                        return d.remembers()
                                   ? past[static_cast<size_t>(i * d.ring + modulo(position + row, d.ring))]
                                   : k["x"].get({i, row});
                    };
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            if (at[0] >= d.out_c) return 0.0;
                            double sum = d.bias ? k["bias"].get({at[0]}) : 0;
                            for (int t = 0; t < d.taps; t++)
                                for (int i = 0; i < d.in_c; i++)
                                    sum += k["w"].get({at[0], i, t}) *
                                           value(i, at[1] - (d.taps - 1 - t) * d.dilation);
                            return d.adds ? std::tanh(sum + k["add_0"].get(at)) : sum;
                        },
                        limit(d.taps * d.in_c, d.adds ? 2 : 0));
                    // Slots that repeat a row hold it wherever a block of the ring lies in them as a whole.
                    slots([&](int n, int i) {
                        const int slot = n % d.ring, block = slot / d.rows * d.rows;
                        if (n >= d.ring && block + d.rows > d.again) return;
                        CHECK(k["past"].get({n, i}) == past[static_cast<size_t>(i * d.ring + slot)]);
                    });
                }
            }};
}

// Pointwise ops on real channels alone, whose rows lie side by side.
Case pointwise(int channels, int rows) {
    const std::string ops = R"({"op":"affine"},{"op":"mul"},{"op":"sigmoid"})";
    const std::string params =
        fmt::format(R"("width":{},"channels":{},"rows":{})", padded(channels), channels, rows);
    return {with_channel_major(spec("pointwise", params, ops), {0, 3, 4}), [=](Kernel &k) {
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        const double x =
                            k["x"].get(at) * k["scale_0"].get({at[0]}) + k["shift_0"].get({at[0]});
                        return logistic(x * k["mul_1"].get(at));
                    },
                    limit(1, 1));
            }};
}

} // namespace

TEST_CASE("narrow_conv: rows and channels on either side, blocks of any size, a ring that wraps") {
    run_everywhere({
        narrow_conv({6, 4, 3, 3, 64, 128, 64, true, true}, {0, 64, 0}),
        narrow_conv({6, 4, 3, 3, 64, 128, 64}, {64, 0, 64}),
        narrow_conv({6, 1, 8, 8, 32, 64, 64, true, true, true}, {0, 32, 0}),
        narrow_conv({3, 64, 8, 8, 64, 256, 128, true, false, true}, {192, 0, 64, 128}),
        narrow_conv({3, 128, 16, 16, 128, 384, 128, true, true}, {0, 128, 256}),
        narrow_conv({16, 1, 1, 16, 8, 24, 8, false, true}, {16, 0, 8}),
        narrow_conv({16, 1, 16, 1, 8, 24, 16, true, false}, {0, 8, 16}),
        narrow_conv({2, 1, 1, 1, 9, 18, 9}, {9, 0, 9}),
        narrow_conv({64, 3, 2, 5, 21, 210, 42, false, true, true, false}, {189, 0, 21}),
        narrow_conv({4, 100, 7, 13, 441, 882, 441, true, true, true}, {441, 0, 441}),
        narrow_conv({4, 100, 2, 3, 4096, 8192, 4096, true, true}, {4096, 0}),
    });
}

TEST_CASE("narrow_conv: blocks that fill no vector") {
    run_everywhere({
        narrow_conv({6, 4, 3, 3, 1, 21, 1, false, false, true}, {20, 0, 1}),
        narrow_conv({3, 1, 16, 8, 1, 64, 64}, {63, 0, 1}),
        narrow_conv({3, 2, 8, 12, 7, 14, 14, false, false, true}, {7, 0, 7}),
        narrow_conv({2, 5, 2, 1, 4, 12, 4}, {8, 0, 4}),
        narrow_conv({2, 5, 1, 2, 2, 8, 4}, {6, 0, 2}),
    });
}

TEST_CASE("narrow_conv: a small matrix, which remembers nothing") {
    run_everywhere({
        narrow_conv({1, 1, 3, 3, 64, 0, 0, true, true, true}, {0}),
        narrow_conv({1, 1, 3, 3, 64, 0, 0, false, true}, {0}),
        narrow_conv({1, 1, 1, 16, 64, 0, 0, false, true, false, false}, {0}),
        narrow_conv({1, 1, 16, 2, 37, 0, 0, true, false, true}, {0}),
        narrow_conv({1, 1, 16, 16, 4096, 0, 0, true, true}, {0}),
    });
}

TEST_CASE("pointwise: few channels, channel by channel") {
    run_everywhere({pointwise(3, 64), pointwise(16, 9), pointwise(2, 4096), pointwise(7, 441)});
}

} // namespace narrow_conv_test
