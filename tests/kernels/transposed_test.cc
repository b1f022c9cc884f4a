// Kernels of a gpu that change the order of rows and channels: the values stay those of the other order.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"

namespace transposed_test {

using namespace longwave::test;

namespace {

Case transposed(const std::string &spec, const std::vector<int> &channel_major,
                const std::function<void(Kernel &)> &check) {
    return {with_channel_major(spec, channel_major), check, true};
}

// Nothing but the change: every element, padding included.
Case reordered(int width, int rows, bool to_channels) {
    return transposed(
        spec("pointwise", fmt::format(R"("width":{},"rows":{})", width, rows)), {to_channels ? 1 : 0},
        [](Kernel &k) { compare(k, "y", [&](const std::vector<int> &at) { return k["x"].get(at); }, 0); });
}

// An operand of a channel and one of an element, which lies as the result does; padding lanes become zero.
Case with_operands(int channels, int rows, bool to_channels) {
    return transposed(
        spec("pointwise",
             fmt::format(R"("width":{},"channels":{},"rows":{})", padded(channels), channels, rows),
             R"({"op":"affine"},{"op":"mul"},{"op":"sigmoid"})"),
        to_channels ? std::vector{3, 4} : std::vector{0}, [=](Kernel &k) {
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    if (at[0] >= channels) return 0.0;
                    const double x = k["x"].get(at) * k["scale_0"].get({at[0]}) + k["shift_0"].get({at[0]});
                    return logistic(x * k["mul_1"].get(at));
                },
                limit(1, 1));
        });
}

Case embedding(int width, int rows) {
    return transposed(spec("embedding", fmt::format(R"("vocabulary":97,"width":{},"rows":{})", width, rows),
                           R"({"op":"square"})"),
                      {2}, [=](Kernel &k) {
                          const auto id = [](int r) { return (r * 31 + r / 7) % 97; };
                          zero_padding(k["table"], width, padded(width));
                          for (int r = 0; r < rows; r++) k["ids"].set({r}, id(r));
                          compare(
                              k, "y",
                              [&](const std::vector<int> &at) {
                                  return at[0] < width ? std::pow(k["table"].get({at[0], id(at[1])}), 2)
                                                       : 0.0;
                              },
                              limit(1));
                      });
}

// A filter of each channel on a ring.
Case filter(int channels, int taps, int rows, int position) {
    const int ring = rows + taps - 1;
    return transposed(
        spec(
            "conv2d",
            fmt::format(
                R"("time":{},"frequency":1,"in_f":1,"in_c":{},"out_f":1,"out_c":{},"rows":{},"ring":{},"groups":{},"bias":1)",
                taps, channels, channels, rows, ring, channels)),
        {4}, [=](Kernel &k) {
            zero_padding(k["w"], channels, padded(channels));
            zero_padding(k["bias"], channels, padded(channels));
            k.scalar("position") = position;
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    double sum = at[0] < channels ? k["bias"].get({at[0]}) : 0;
                    for (int t = 0; t < taps; t++)
                        sum += k["w"].get({at[0], 0, t}) *
                               k["x"].get({at[0], 0, (position + at[2] - (taps - 1 - t) + ring) % ring});
                    return at[0] < channels ? sum : 0;
                },
                limit(taps));
        });
}

} // namespace

TEST_CASE("pointwise: from one order to the other") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases;
    for (const bool to_channels : {false, true}) {
        for (const auto &[width, rows] : {std::pair{16, 1}, {16, 32}, {48, 130}, {64, 33}, {160, 1000}})
            cases.push_back(reordered(width, rows, to_channels));
        cases.push_back(with_operands(5, 70, to_channels));
        cases.push_back(with_operands(160, 64, to_channels));
    }
    run_everywhere(cases);
}

TEST_CASE("embedding and conv2d: results channel by channel") {
    if (!gpu_under_test()) return;
    run_everywhere({embedding(20, 70), embedding(4, 64), embedding(160, 33), filter(160, 7, 64, 0),
                    filter(20, 3, 37, 2), filter(5, 1, 32, 0)});
}

TEST_CASE("kernels: what they say of requests for rows") {
    const auto sectors = [](const std::string &spec, const char *target) {
        const auto answer = query_kernels({{spec, target}}).at(0);
        REQUIRE_MESSAGE(answer.at("supported").get<bool>(), answer.dump());
        return answer.at("signature").value("sectors_by_row", 4);
    };
    for (const auto &[rows, expected] : {std::pair{1024, 4}, {2048, 8}, {4096, 16}, {8192, 32}})
        CHECK(sectors(
                  spec("long_conv_registers", fmt::format(R"("length":{0},"rows":{0},"channels":16)", rows)),
                  "vulkan-32k") == expected);
    for (const auto &[rows, expected] : {std::pair{256, 4}, {512, 8}, {1024, 16}, {2048, 32}})
        CHECK(sectors(spec("long_conv_fused", fmt::format(R"("length":{0},"rows":{0},"channels":16)", rows)),
                      "vulkan-16k") == expected);
    CHECK(sectors(spec("pointwise", R"("width":16,"rows":2048)"), "vulkan-16k") == 4);
}

TEST_CASE("random: changes of order") {
    if (!gpu_under_test()) return;
    Random("transposed").run([](Random &r) {
        const int channels = r.between(2, 200), rows = r.size(300);
        const bool to_channels = r.flip();
        return r.flip() ? reordered(padded(channels), rows, to_channels)
                        : with_operands(channels, rows, to_channels);
    });
}

} // namespace transposed_test
