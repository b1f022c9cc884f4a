// Kernels that look at a whole sequence: centred convolutions, linear attention of all rows; and
// norms of parts of a row.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include <algorithm>

namespace offline_test {

using namespace longwave::test;

namespace {

Case centred_conv(int channels, int taps, int rows, bool bias, const std::string &epilogue = "",
                  const std::vector<int> &channel_major = {}, int ahead = -1) {
    std::string params =
        fmt::format(R"("channels":{},"taps":{},"rows":{},"bias":{:d})", channels, taps, rows, bias);
    if (ahead >= 0) params += fmt::format(R"(,"ahead":{})", ahead);
    const int back = taps - 1 - (ahead >= 0 ? ahead : taps / 2);
    return {with_channel_major(spec("centred_conv", params, epilogue), channel_major),
            [=](Kernel &k) {
                for (const char *name : {"x", "weight"}) zero_padding(k[name], channels, padded(channels));
                if (bias) zero_padding(k["bias"], channels, padded(channels));
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = bias ? k["bias"].get({at[0]}) : 0;
                        for (int i = 0; i < taps; i++) {
                            const int from = at[1] + i - back;
                            if (from >= 0 && from < rows)
                                sum += k["weight"].get({at[0], i}) * k["x"].get({at[0], from});
                        }
                        return epilogue.empty() ? sum : sum * logistic(sum);
                    },
                    limit(taps, epilogue.empty() ? 0 : 1));
            },
            !channel_major.empty()};
}

// Rows behind the length hold infinities: they must not count.
Case linear_attention_offline(int heads, int dk, int dv, int rows, int length) {
    return {spec("linear_attention_offline",
                 fmt::format(R"("heads":{},"dk":{},"dv":{},"rows":{})", heads, dk, dv, rows)),
            [=](Kernel &k) {
                k.scalar("length") = length;
                Tensor &v = k["v"], &key = k["k"];
                const int tile = static_cast<int>(v.arg().dims[0].extent),
                          tiles = static_cast<int>(v.arg().dims[2].extent);
                const auto lane = [=](const std::vector<int> &at) {
                    return at[0] + tile * (at[2] + tiles * at[3]);
                };
                std::vector<double> values(static_cast<size_t>(rows * heads * dv)),
                    state(static_cast<size_t>(heads * dk * dv));
                v.for_each([&](const std::vector<int> &at) {
                    if (lane(at) >= heads * dv) return v.set(at, 0);
                    if (at[1] >= length) return v.set(at, INFINITY);
                    values[static_cast<size_t>(at[1] * heads * dv + lane(at))] = v.get(at);
                });
                key.for_each([&](const std::vector<int> &at) {
                    if (at[1] >= length) return key.set(at, INFINITY);
                    for (int c = 0; c < dv; c++)
                        state[static_cast<size_t>((at[2] * dk + at[0]) * dv + c)] +=
                            key.get(at) * values[static_cast<size_t>((at[1] * heads + at[2]) * dv + c)];
                });
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (lane(at) >= heads * dv) return 0.0;
                        const int head = lane(at) / dv;
                        double sum = 0;
                        for (int i = 0; i < dk; i++)
                            sum += k["q"].get({i, at[1], head}) *
                                   state[static_cast<size_t>((head * dk + i) * dv + lane(at) % dv)];
                        return sum;
                    },
                    limit(rows) + limit(dk));
            }};
}

Case grouped_norm(const std::string &kind, int channels, int groups, int rows) {
    const int size = channels / groups;
    return {spec("norm", fmt::format(R"("kind":"{}","channels":{},"groups":{},"rows":{},"eps":1e-6)", kind,
                                     channels, groups, rows)),
            [=](Kernel &k) {
                const bool centred = kind == "layer";
                for (const char *name : {"x", "weight"}) zero_padding(k[name], channels, padded(channels));
                if (centred) zero_padding(k["bias"], channels, padded(channels));
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] >= channels) return 0.0;
                        const int first = at[0] / size * size;
                        double mean = 0, square = 0;
                        for (int c = first; c < first + size; c++)
                            mean += centred ? k["x"].get({c, at[1]}) / size : 0;
                        for (int c = first; c < first + size; c++)
                            square += std::pow(k["x"].get({c, at[1]}) - mean, 2) / size;
                        return (k["x"].get(at) - mean) / std::sqrt(square + 1e-6) * k["weight"].get({at[0]}) +
                               (centred ? k["bias"].get({at[0]}) : 0);
                    },
                    limit(size, 2));
            }};
}

} // namespace

TEST_CASE("centred_conv: zeros on both sides, sequences shorter than the taps, blocks that do not divide the "
          "rows") {
    run_everywhere({centred_conv(16, 7, 100, false), centred_conv(97, 3, 33, true),
                    centred_conv(1, 5, 64, true), centred_conv(6, 9, 3, false), centred_conv(20, 1, 1, true),
                    centred_conv(3, 101, 250, false), centred_conv(40, 5, 71, true, R"({"op":"silu"})"),
                    centred_conv(20, 3, 50, true, "", {}, 0), centred_conv(8, 4, 30, false, "", {}, 3)});
}

TEST_CASE("centred_conv: rows that lie channel by channel") {
    if (!gpu_under_test()) return;
    run_everywhere({centred_conv(20, 7, 100, false, "", {0, 2}),
                    centred_conv(48, 3, 130, true, R"({"op":"silu"})", {0, 3})});
}

TEST_CASE("linear_attention_offline: every row sees the rows before the length, and no other") {
    run_everywhere({linear_attention_offline(1, 16, 16, 100, 100),
                    linear_attention_offline(2, 32, 64, 70, 51),
                    linear_attention_offline(1, 12, 12, 200, 199), linear_attention_offline(3, 5, 7, 33, 20),
                    linear_attention_offline(1, 1, 1, 5, 3), linear_attention_offline(4, 20, 80, 130, 130),
                    linear_attention_offline(1, 64, 208, 65, 64), linear_attention_offline(17, 3, 1, 9, 9),
                    linear_attention_offline(4, 48, 24, 50, 47), linear_attention_offline(2, 6, 8, 20, 20),
                    linear_attention_offline(6, 10, 40, 33, 30)});
}

TEST_CASE("norm: each group of a row has its own mean and square") {
    run_everywhere({grouped_norm("rms", 64, 4, 3), grouped_norm("layer", 64, 4, 2),
                    grouped_norm("rms", 12, 3, 2), grouped_norm("layer", 35, 5, 1),
                    grouped_norm("rms", 97, 97, 2), grouped_norm("rms", 96, 2, 1)});
}

TEST_CASE("random: centred_conv") {
    Random("centred_conv").run([](Random &r) {
        return centred_conv(r.size(120), 2 * r.size(30) - 1, r.size(200), r.flip(),
                            r.one_of({"", R"({"op":"silu"})"}));
    });
}

TEST_CASE("random: linear_attention_offline") {
    Random("linear_attention_offline").run([](Random &r) {
        const int rows = r.size(120);
        return linear_attention_offline(r.size(6), r.size(48), r.size(64), rows, r.between(1, rows));
    });
}

} // namespace offline_test
