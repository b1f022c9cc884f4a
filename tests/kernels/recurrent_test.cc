// Recurrences and what moves rows: state_space, exponential_taps, lstm, gru, take, take_runs, concat, shift,
// repeat, pool, group_norm.
#include "tests/kernels/check.h"
#include <complex>

namespace recurrent_test {

using namespace longwave::test;

namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

// Two calls: the second takes up the state that the first left.
Case state_space(int channels, int copies, int poles, int rows, bool two, int state) {
    return {
        spec("state_space",
             fmt::format(R"("channels":{},"copies":{},"poles":{},"rows":{},"complex":{},"state":{})",
                         channels, copies, poles, rows, int{two}, state)),
        [=](Kernel &k) {
            const char *names[] = {"x", "pole_real", "pole_imaginary", "c_real", "c_imaginary", "D"};
            for (const char *name : names) zero_padding(k[name], channels, padded(channels));
            if (two) zero_padding(k["x_imaginary"], channels, padded(channels));
            for (const char *part : {"pole_real", "pole_imaginary"})
                k[part].for_each([&](const std::vector<int> &at) { k[part].set(at, 0.7 * k[part].get(at)); });
            for (const char *part : {"real", "imaginary"})
                k[part].for_each([&](const std::vector<int> &at) { k[part].set(at, 0); });
            std::vector<std::complex<double>> s(size_t(channels) * poles);
            for (int call = 0; call < 2; call++) {
                std::vector<double> y(size_t(rows) * copies * channels);
                for (int t = 0; t < rows; t++)
                    for (int c = 0; c < channels; c++) {
                        const std::complex<double> x(k["x"].get({c, t}),
                                                     two ? k["x_imaginary"].get({c, t}) : 0);
                        for (int n = 0; n < poles; n++) {
                            auto &one = s[size_t(c) * poles + n];
                            one = std::complex(k["pole_real"].get({c, n}), k["pole_imaginary"].get({c, n})) *
                                      one +
                                  x;
                        }
                        for (int q = 0; q < copies; q++) {
                            double &sum = y[(size_t(t) * copies + q) * channels + c];
                            sum = k["D"].get({c, q}) * x.real();
                            for (int n = 0; n < poles; n++) {
                                const auto one = s[size_t(c) * poles + n];
                                sum += k["c_real"].get({c, n, q}) * one.real() -
                                       k["c_imaginary"].get({c, n, q}) * one.imag();
                            }
                        }
                    }
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        return at[0] < channels ? y[(size_t(at[2]) * copies + at[1]) * channels + at[0]] : 0;
                    },
                    limit(poles, 2));
            }
        }};
}

Case exponential_taps(int channels, int copies, int poles, int taps) {
    return {
        spec("exponential_taps",
             fmt::format(R"("channels":{},"copies":{},"poles":{},"taps":{})", channels, copies, poles, taps)),
        [=](Kernel &k) {
            for (const char *name : {"pole_real", "pole_imaginary", "c_real", "c_imaginary", "D"})
                zero_padding(k[name], channels, padded(channels));
            for (const char *part : {"pole_real", "pole_imaginary"})
                k[part].for_each([&](const std::vector<int> &at) { k[part].set(at, 0.7 * k[part].get(at)); });
            compare(
                k, "k",
                [&](const std::vector<int> &at) {
                    if (at[0] >= channels) return 0.0;
                    double sum = at[2] == 0 ? k["D"].get({at[0], at[1]}) : 0;
                    for (int n = 0; n < poles; n++) {
                        const std::complex<double> pole(k["pole_real"].get({at[0], n}),
                                                        k["pole_imaginary"].get({at[0], n})),
                            c(k["c_real"].get({at[0], n, at[1]}), k["c_imaginary"].get({at[0], n, at[1]}));
                        sum += (c * std::pow(pole, at[2])).real();
                    }
                    return sum;
                },
                limit(poles, 2));
        },
        false, true};
}

// Three calls in turn. `bands`: sequences side by side. `restart`: the state is zero before every call of
// that number.
Case gated(const std::string &kernel, int units, bool after = true, int bands = 1, int restart = 0) {
    const int gates = kernel == "lstm" ? 4 : 3;
    std::string params = fmt::format(R"("units":{})", units);
    if (!after) params += R"(,"reset_after":0)";
    if (bands > 1) params += fmt::format(R"(,"bands":{})", bands);
    if (restart) params += fmt::format(R"(,"restart":{})", restart);
    return {spec(kernel, params), [=](Kernel &k) {
                const int panel = std::min(padded(units), 16);
                k["w"].for_each([&](const std::vector<int> &at) {
                    if (at[3] * panel + at[0] >= units) k["w"].set(at, 0);
                });
                const auto w = [&](int i, int g, int j) { return k["w"].get({i % panel, g, j, i / panel}); };
                if (gates == 3) zero_padding(k["bias"], units, padded(units));
                std::vector<std::vector<double>> h(bands, std::vector<double>(units)), c = h;
                for (const char *state : {"h", "c"})
                    if ((gates == 4 || *state == 'h') && !restart)
                        k[state].for_each([&](const std::vector<int> &at) { k[state].set(at, 0); });
                for (int call = 0; call < 3; call++) {
                    if (restart) k.scalar("place") = call;
                    for (int b = 0; b < bands; b++) {
                        if (restart && call % restart == 0) h[b].assign(units, 0), c[b].assign(units, 0);
                        const auto x = [&](int g, int i) { return k["x"].get({g * units + i, b}); };
                        std::vector<double> next(units), r(units), u_n(units);
                        for (int i = 0; !after && i < units; i++) {
                            double u = 0;
                            for (int j = 0; j < units; j++) u += w(i, 0, j) * h[b][j];
                            r[i] = logistic(x(0, i) + u);
                        }
                        for (int i = 0; !after && i < units; i++)
                            for (int j = 0; j < units; j++) u_n[i] += w(i, 2, j) * r[j] * h[b][j];
                        for (int i = 0; i < units; i++) {
                            double u[4] = {};
                            for (int g = 0; g < gates; g++)
                                for (int j = 0; j < units; j++) u[g] += w(i, g, j) * h[b][j];
                            if (gates == 4) {
                                c[b][i] = logistic(x(1, i) + u[1]) * c[b][i] +
                                          logistic(x(0, i) + u[0]) * std::tanh(x(2, i) + u[2]);
                                next[i] = logistic(x(3, i) + u[3]) * std::tanh(c[b][i]);
                            } else {
                                const double reset = logistic(x(0, i) + u[0]), z = logistic(x(1, i) + u[1]);
                                const double inside =
                                    after ? reset * (u[2] + k["bias"].get({i})) : u_n[i] + k["bias"].get({i});
                                next[i] = (1 - z) * std::tanh(x(2, i) + inside) + z * h[b][i];
                            }
                        }
                        h[b] = next;
                    }
                    // A gate is a sum over all units, and its derivative is at most 1.
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) { return at[0] < units ? h[at[1]][at[0]] : 0; },
                        4 * limit(units, 3) * std::sqrt(units));
                }
            }};
}

Case pool(const std::string &mode, int channels, int in_f, int out_f, int rows, int time, int stride,
          int bands, int stride_f, int pad_f, int lag, bool outside) {
    const int back = std::max(0, time + lag - stride), ring = rows * stride + back;
    return {
        spec(
            "pool",
            fmt::format(
                R"("mode":"{}","channels":{},"in_f":{},"out_f":{},"rows":{},"time":{},"frequency":{},"stride_t":{},)"
                R"("stride_f":{},"pad_f":{},"lag":{},"count_outside":{},"ring":{})",
                mode, channels, in_f, out_f, rows, time, bands, stride, stride_f, pad_f, lag, int{outside},
                ring) +
                (back ? counts_param() : "")),
        [=](Kernel &k) {
            zero_padding(k["x"], channels, padded(channels));
            for (const int before : {0, 7}) { // rows of earlier calls
                if (back) rows_before(k, before, rows);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0, top = -1e30;
                        int inside = 0;
                        for (int a = 0; a < time; a++)
                            for (int b = 0; b < bands; b++) {
                                const int row = (at[2] + 1) * stride - lag - time + a,
                                          f = at[1] * stride_f - pad_f + b;
                                if ((back && before * stride + row < 0) || f < 0 || f >= in_f) continue;
                                const double x = k["x"].get({at[0], f, modulo(row, ring)});
                                sum += x, top = std::max(top, x), inside++;
                            }
                        return mode == "max" ? top : sum / (outside ? time * bands : inside);
                    },
                    limit(time * bands, 1));
            }
        }};
}

Case group_norm(int channels, int bands, int groups, int rows, int length) {
    return {
        spec("group_norm", fmt::format(R"("channels":{},"frequencies":{},"groups":{},"rows":{},"eps":0.01)",
                                       channels, bands, groups, rows)),
        [=](Kernel &k) {
            k.scalar("length") = length;
            for (const char *name : {"x", "weight", "bias"})
                zero_padding(k[name], channels, padded(channels));
            const int of_group = channels / groups, n = of_group * bands * length;
            std::vector<double> mean(groups), var(groups);
            for (int pass = 0; pass < 2; pass++)
                for (int t = 0; t < length; t++)
                    for (int f = 0; f < bands; f++)
                        for (int c = 0; c < channels; c++) {
                            const double x = k["x"].get({c, f, t}), apart = x - mean[c / of_group];
                            (pass ? var : mean)[c / of_group] += (pass ? apart * apart : x) / n;
                        }
            compare(
                k, "y",
                [&](const std::vector<int> &at) {
                    const int c = at[0];
                    if (c >= channels || at[2] >= length) return 0.0;
                    return (k["x"].get(at) - mean[c / of_group]) /
                               std::sqrt(var[c / of_group] + double{0.01f}) * k["weight"].get({c}) +
                           k["bias"].get({c});
                },
                limit(3, 1));
        }};
}

} // namespace

TEST_CASE("exponential_taps: powers of the poles of each channel, with D at lag 0") {
    run_everywhere({exponential_taps(64, 1, 32, 300), exponential_taps(17, 2, 3, 65),
                    exponential_taps(1, 1, 4, 30), exponential_taps(1, 16, 2, 1),
                    exponential_taps(5, 1, 1, 64)});
}

TEST_CASE("state_space: complex states of each channel, in float32 and float64, from one call to the next") {
    run_everywhere({state_space(64, 1, 32, 5, false, 32), state_space(17, 1, 3, 9, false, 64),
                    state_space(1, 1, 4, 30, false, 32), state_space(1, 16, 2, 3, false, 32),
                    state_space(24, 2, 1, 8, true, 32), state_space(5, 7, 2, 4, true, 64)});
}

TEST_CASE("lstm and gru: rows of gates, one after the other") {
    std::vector<Case> cases;
    for (const char *kernel : {"lstm", "gru"})
        for (const int units : {1, 5, 16, 48, 129}) cases.push_back(gated(kernel, units));
    for (const int units : {1, 2, 3, 16, 128, 129}) cases.push_back(gated("gru", units, false));
    run_everywhere(cases);
}

TEST_CASE("lstm and gru: bands side by side, and bands one after the other from zeros") {
    std::vector<Case> cases;
    for (const char *kernel : {"lstm", "gru"})
        for (const int units : {2, 16, 33}) {
            for (const int bands : {2, 7, 33}) cases.push_back(gated(kernel, units, true, bands));
            for (const int restart : {1, 2, 5}) cases.push_back(gated(kernel, units, true, 1, restart));
        }
    cases.push_back(gated("gru", 5, false, 4));
    cases.push_back(gated("gru", 5, false, 1, 2));
    run_everywhere(cases);
}

// Lane by lane: zeros, then forward and backward pieces over them, and places outside of both rows.
static Case runs(int in_row, int row, int rows, const std::vector<int> &zeros,
                 const std::vector<std::pair<int, int>> &forward,
                 const std::vector<std::pair<int, int>> &backward) {
    return {spec("take_runs",
                 fmt::format(R"("in_row":{},"row":{},"rows":{},"zeros":{},"forward":{},"backward":{})",
                             in_row, row, rows, zeros.size(), forward.size(), backward.size())),
            [=](Kernel &k) {
                std::vector<int> lanes(static_cast<size_t>(row), -1);
                for (size_t n = 0; n < zeros.size(); n++) k["zeros_to"].set({int(n)}, zeros[n]);
                const auto set = [&](const std::string &name, const auto &pieces, int step) {
                    for (size_t n = 0; n < pieces.size(); n++) {
                        const auto [to, from] = pieces[n];
                        k[name + "_to"].set({int(n)}, to);
                        k[name + "_from"].set({int(n)}, from);
                        const int begin = std::clamp(to, 0, row - 16), least = step < 0 ? 15 : 0,
                                  first = std::clamp(from, least, in_row - 16 + least);
                        for (int i = 0; i < 16; i++) lanes[size_t(begin + i)] = first + step * i;
                    }
                };
                set("forward", forward, 1);
                set("backward", backward, -1);
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        const int from = lanes[size_t(at[0])];
                        return from < 0 ? 0 : k["x"].get({from, at[1]});
                    },
                    0);
            }};
}

TEST_CASE("take_runs: pieces of 16 lanes that overlap, zeros below them, places that are moved inside") {
    run_everywhere({runs(16, 16, 1, {}, {{0, 0}}, {}), runs(16, 16, 3, {}, {}, {{0, 15}}),
                    runs(576, 64, 2, {0, 16, 32, 48}, {{1, 3}, {14, 16}}, {{33, 575}}),
                    runs(48, 32, 2, {0, 16}, {{1 << 30, -(1 << 30)}}, {{-7, 1 << 30}})});
}

static void same_in_every_row(Kernel &k) {
    compare(k, "y", [&](const std::vector<int> &at) { return k["x"].get({at[0]}); }, 0);
}

TEST_CASE("take, concat, shift, repeat: lanes and rows that move") {
    run_everywhere({{spec("take", R"("in_row":32,"row":48,"rows":5)"),
                     [](Kernel &k) {
                         k["index"].for_each(
                             [&](const std::vector<int> &at) { k["index"].set(at, at[0] * 7 % 34 - 2); });
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const int from = at[0] * 7 % 34 - 2;
                                 return from < 0 ? 0 : k["x"].get({from, at[1]});
                             },
                             0);
                     }},
                    {spec("concat", R"("parts":[3,1,20,16],"rows":5)"),
                     [](Kernel &k) {
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 int lane = at[0], part = 0;
                                 for (const int width : {3, 1, 20, 16}) {
                                     if (lane < width)
                                         return k["part_" + std::to_string(part)].get({lane, at[1]});
                                     lane -= width, part++;
                                 }
                                 return 0.0;
                             },
                             0);
                     }},
                    {spec("repeat", R"("row":1,"rows":1)"), same_in_every_row},
                    {spec("repeat", R"("row":2,"rows":5)"), same_in_every_row},
                    {spec("repeat", R"("row":48,"rows":5)"), same_in_every_row},
                    {spec("repeat", R"("row":2048,"rows":3)"), same_in_every_row},
                    {spec("shift", R"("row":16,"rows":4,"by":9,"ring":13)"), [](Kernel &k) {
                         for (const int position : {0, 5, 9}) {
                             k.scalar("position") = position;
                             compare(
                                 k, "y",
                                 [&](const std::vector<int> &at) {
                                     return k["x"].get({at[0], modulo(position + at[1] - 9, 13)});
                                 },
                                 0);
                         }
                     }}});
}

TEST_CASE("pool: windows that begin before the first row, overlap, leave gaps, reach over the edges") {
    run_everywhere(
        {pool("max", 6, 1, 1, 5, 3, 2, 1, 1, 0, 0, false), pool("mean", 17, 1, 1, 4, 5, 2, 1, 1, 0, 1, false),
         pool("mean", 17, 1, 1, 4, 5, 2, 1, 1, 0, 1, true), pool("mean", 8, 9, 5, 3, 2, 2, 3, 2, 1, 0, false),
         pool("max", 8, 9, 4, 3, 2, 2, 2, 2, 0, 0, false), pool("mean", 32, 9, 5, 3, 2, 2, 3, 2, 1, 0, true),
         pool("max", 1, 1, 1, 5, 2, 3, 1, 1, 0, 1, false)});
}

TEST_CASE("group_norm: statistics over rows, frequencies and channels of a group") {
    run_everywhere({group_norm(6, 1, 2, 40, 40), group_norm(17, 1, 17, 40, 31), group_norm(12, 5, 3, 9, 9),
                    group_norm(1, 1, 1, 50, 50)});
}

} // namespace recurrent_test
