// Kernels that work row by row: pointwise, norm, softmax, image_patches, pair_features.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"
#include "tests/kernels/vulkan.h"

namespace rows_test {

using namespace longwave::test;

namespace {

Case pointwise(int width, int channels, int rows, const std::string &op, double scale, double tolerance,
               double (*f)(double)) {
    const bool padding = channels != width; // zeros after the channels of each group stay zeros
    return {
        spec("pointwise", fmt::format(R"("width":{},"channels":{},"rows":{})", width, channels, rows), op),
        [=](Kernel &k) {
            Tensor &x = k["x"];
            x.for_each([&](const std::vector<int> &at) {
                x.set(at, at[0] < channels || !padding ? scale * x.get(at) : 0);
            });
            compare(
                k, "y",
                [&](const std::vector<int> &at) { return padding && at[0] >= channels ? 0.0 : f(x.get(at)); },
                tolerance);
        }};
}

Case norm(const std::string &kind, int channels, int copies, int rows, double eps,
          const std::vector<int> &channel_major = {}) {
    const int group = padded(channels);
    return {with_channel_major(
                spec("norm", fmt::format(R"("kind":"{}","channels":{},"copies":{},"rows":{},"eps":{})", kind,
                                         channels, copies, rows, eps)),
                channel_major),
            [=](Kernel &k) {
                Tensor &x = k["x"];
                zero_padding(x, channels, group);
                const bool scalars = kind == "transposed", rms = kind == "rms";
                const std::string scale = scalars ? "m" : "weight", shift = scalars ? "s" : "bias";
                if (!scalars) zero_padding(k[scale], channels, group);
                if (!scalars && !rms) zero_padding(k[shift], channels, group);
                const auto valid = [&](int c) { return c % group < channels; };
                double mean = 0, square = 0; // of the row that was looked at last
                const auto look_at = [&](int row) {
                    const int count = channels * copies;
                    mean = square = 0;
                    for (int c = 0; c < group * copies; c++) mean += rms ? 0 : x.get({c, row}) / count;
                    for (int c = 0; c < group * copies; c++)
                        square += valid(c) ? std::pow(x.get({c, row}) - mean, 2) / count : 0;
                };
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] == 0) look_at(at[1]);
                        const double value = (x.get(at) - mean) / std::sqrt(square + eps);
                        if (!valid(at[0])) return 0.0;
                        if (rms) return value * k["weight"].get({at[0]});
                        return scalars ? k["s"].get({0}) * (x.get(at) - mean + k["m"].get({0})) /
                                             std::sqrt(square + eps)
                                       : value * k["weight"].get({at[0]}) + k["bias"].get({at[0]});
                    },
                    limit(channels * copies, 1));
            }};
}

Case softmax(int channels, int rows) {
    return {spec("softmax", fmt::format(R"("channels":{},"rows":{})", channels, rows)), [=](Kernel &k) {
                Tensor &x = k["x"];
                x.for_each([&](const std::vector<int> &at) { x.set(at, 20 * x.get(at)); });
                double sum = 0; // of the row that was looked at last
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        if (at[0] == 0) {
                            sum = 0;
                            for (int c = 0; c < channels; c++) sum += std::exp(x.get({c, at[1]}));
                        }
                        return at[0] < channels ? std::exp(x.get(at)) / sum : 0;
                    },
                    limit(channels, 8)); // an error of 1e-7 in an exponent of 40 is one of 4e-6 in its power
            }};
}

// Three blocks: the number stays, changes, and stays. Each begins with what the last one ended with.
Case scalar_rows(int row, int channels, int rows, bool smoothed) {
    return {spec("scalar_rows", fmt::format(R"("row":{},"rows":{},"smoothed":{})", row, rows, int{smoothed})),
            [=](Kernel &k) {
                k["lanes"].for_each(
                    [&](const std::vector<int> &at) { k["lanes"].set(at, at[0] < channels); });
                const double blocks[][2] = {{0.75, 0.75}, {0.75, -3.5}, {-3.5, -3.5}};
                k["numbers"].set({0}, 0.75);
                for (const auto &[from, to] : blocks) {
                    k["numbers"].set({1}, to);
                    compare(
                        k, "y",
                        [&, from = from, to = to](const std::vector<int> &at) {
                            if (at[0] >= channels) return 0.0;
                            return smoothed ? from + (to - from) * (at[1] + 1) / rows : to;
                        },
                        from == to ? 0 : 3e-7); // a product, a quotient and a sum of numbers up to 4.25
                    CHECK(k["y"].get({0, rows - 1}) == to);
                    const double after[] = {to, to, from};
                    for (int i = 0; i < 3; i++) CHECK(k["numbers"].get({i}) == after[i]);
                }
            }};
}

} // namespace

TEST_CASE("pointwise: activations keep float32 accuracy, and padding lanes stay zero") {
    const double unit = 1.2e-7;
    run_everywhere({
        pointwise(32, 10, 300, R"({"op":"gelu"})", 8, 2 * unit,
                  [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); }),
        pointwise(32, 10, 300, R"({"op":"silu"})", 30, 2 * unit, [](double x) { return x * logistic(x); }),
        pointwise(32, 10, 300, R"({"op":"sigmoid"})", 100, 2 * unit, logistic),
        pointwise(32, 10, 300, R"({"op":"tanh"})", 100, 2 * unit, [](double x) { return std::tanh(x); }),
        pointwise(32, 10, 301, R"({"op":"tanh"})", 1, 2 * unit, [](double x) { return std::tanh(x); }),
        pointwise(32, 10, 300, R"({"op":"softplus"})", 100, 2 * unit, softplus),
        pointwise(1, 1, 97, R"({"op":"softplus"})", 4, 2 * unit, softplus),
        pointwise(32, 10, 300, R"({"op":"gelu_tanh"})", 3, 4 * unit,
                  [](double x) {
                      return 0.5 * x * (1 + std::tanh(0.79788456080286536 * (x + 0.044715 * x * x * x)));
                  }),
        pointwise(32, 10, 300, R"({"op":"hardswish"})", 8, unit,
                  [](double x) { return x * std::clamp(x / 6 + 0.5, 0.0, 1.0); }),
        pointwise(32, 10, 300, R"({"op":"leaky_relu","slope":0.3})", 8, unit,
                  [](double x) { return x > 0 ? x : 0.3 * x; }),
        pointwise(32, 10, 300, R"({"op":"elu","alpha":1.5})", 90, 2 * unit,
                  [](double x) { return x > 0 ? x : 1.5 * std::expm1(x); }),
        pointwise(32, 10, 301, R"({"op":"elu","alpha":1})", 1e-3, 2 * unit,
                  [](double x) { return x > 0 ? x : std::expm1(x); }),
        pointwise(32, 10, 300, R"({"op":"clamp","low":0.5,"high":2})", 8, 0,
                  [](double x) { return std::clamp(x, 0.5, 2.0); }),
        pointwise(32, 10, 300, R"({"op":"abs"})", 8, 0, [](double x) { return std::fabs(x); }),
        pointwise(32, 10, 300, R"({"op":"square"})", 8, unit, [](double x) { return x * x; }),
        pointwise(32, 10, 300, R"({"op":"square"},{"op":"sqrt"})", 8, unit,
                  [](double x) { return std::fabs(x); }),
        pointwise(32, 10, 300, R"({"op":"exp"})", 20, 4 * unit, [](double x) { return std::exp(x); }),
        pointwise(32, 10, 300, R"({"op":"exp"},{"op":"reciprocal"})", 20, 6 * unit,
                  [](double x) { return std::exp(-x); }),
        pointwise(97, 97, 5, R"({"op":"relu"})", 1, 0, [](double x) { return std::max(x, 0.0); }),
        pointwise(1, 1, 97, R"({"op":"sigmoid"})", 4, 2 * unit, logistic),
        pointwise(6, 6, 2, R"({"op":"relu"})", 1, 0, [](double x) { return std::max(x, 0.0); }),
        {spec("pointwise", R"("width":16,"channels":3,"rows":33)",
              R"({"op":"mul"},{"op":"log","offset":1e-6})"),
         [](Kernel &k) {
             Tensor &x = k["x"];
             x.for_each([&](const std::vector<int> &at) { k["mul_0"].set(at, x.get(at)); });
             compare(
                 k, "y",
                 [&](const std::vector<int> &at) {
                     return at[0] < 3
                                ? std::log(static_cast<double>(static_cast<float>(x.get(at) * x.get(at))) +
                                           1e-6)
                                : 0;
                 },
                 4e-7);
         }},
    });
}

TEST_CASE("norm: layer, transposed and rms over the valid lanes of each row") {
    run_everywhere({norm("layer", 97, 1, 2, 1e-5), norm("layer", 6, 3, 5, 1e-5),
                    norm("layer", 96, 1, 1, 1e-5), norm("rms", 97, 1, 2, 1e-5), norm("rms", 16, 2, 33, 1e-6),
                    norm("transposed", 97, 1, 2, 0), norm("transposed", 3, 2, 2, 0)});
}

TEST_CASE("pointwise and norm: many values, in every variant of a GPU") {
    run_everywhere(
        {pointwise(97, 97, 701, R"({"op":"relu"})", 1, 0, [](double x) { return std::max(x, 0.0); }),
         norm("layer", 97, 1, 701, 1e-5), norm("rms", 270, 1, 303, 1e-5), norm("transposed", 70, 2, 457, 0)});
    if (gpu_under_test())
        for (
            const char *kernel :
            {R"({"kernel":"pointwise","params":{"width":112,"channels":97,"rows":701},"epilogue":[{"op":"relu"}]})",
             R"({"kernel":"norm","params":{"kind":"rms","channels":270,"copies":1,"rows":303,"eps":1e-5}})"}) {
            const auto variants = load_gpu_kernels(kernel, *gpu_under_test(), find_kgen());
            REQUIRE_MESSAGE(variants, variants.status().message());
            CHECK(variants->size() == 3);
        }
}

TEST_CASE("norm and softmax: more rows than a dimension of a GPU's grid has workgroups") {
    if (!gpu_under_test()) return;
    run_everywhere({norm("rms", 40, 1, 65601, 1e-5), softmax(33, 65600)});
}

TEST_CASE("norm: an epilogue keeps the padding of every copy zero") {
    run_everywhere(
        {{spec("norm", R"("kind":"layer","channels":6,"copies":2,"rows":2,"eps":1e-5)",
               R"({"op":"sigmoid"})"),
          [](Kernel &k) {
              for (const char *name : {"weight", "bias"})
                  k[name].for_each([&](const std::vector<int> &at) { k[name].set(at, 0); });
              compare(k, "y", [](const std::vector<int> &at) { return at[0] % 16 < 6 ? 0.5 : 0; }, 1e-7);
          }}});
}

TEST_CASE("norm: a row of equal values does not divide by zero") {
    run_everywhere({{spec("norm", R"("kind":"transposed","channels":16,"rows":1,"eps":0)"), [](Kernel &k) {
                         k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, 0.5); });
                         k["m"].set({0}, 0);
                         compare(k, "y", [](const std::vector<int> &) { return 0.0; }, 0);
                     }}});
}

TEST_CASE("pointwise and norm: rows that lie channel by channel") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases{norm("layer", 40, 1, 70, 1e-5, {0, 3}),
                            norm("transposed", 5, 2, 33, 1e-5, {0, 3}),
                            norm("rms", 200, 1, 64, 1e-5, {0, 2})};
    for (Case &one : cases) one.gpu_only = true;
    for (const char *sizes : {R"("width":48,"rows":130)", R"("width":64,"channels":20,"rows":33)"})
        cases.push_back(
            {with_channel_major(spec("pointwise", sizes, R"({"op":"square"},{"op":"add"})"), {0, 1, 2}),
             [](Kernel &k) {
                 if (k["x"].extent(1) == 2) {
                     zero_padding(k["x"], 20, 32);
                     zero_padding(k["add_1"], 20, 32);
                 }
                 compare(
                     k, "y",
                     [&](const std::vector<int> &at) {
                         return std::pow(k["x"].get(at), 2) + k["add_1"].get(at);
                     },
                     1.2e-7);
             },
             true});
    run_everywhere(cases);
}

TEST_CASE("clear_channels: rows behind the end, channel by channel") {
    if (!gpu_under_test()) return;
    std::vector<Case> cases;
    for (const int used : {0, 1, 77, 130})
        cases.push_back(
            {spec("clear_channels", R"("width":48,"rows":130)"),
             [used](Kernel &k) {
                 Tensor &x = k["x"];
                 x.for_each([&](const std::vector<int> &at) { x.set(at, 3); });
                 k.scalar("first") = used;
                 REQUIRE(k.call() == 0);
                 x.for_each([&](const std::vector<int> &at) { CHECK(x.get(at) == (at[0] < used ? 3 : 0)); });
             },
             true});
    run_everywhere(cases);
}

TEST_CASE("kernels: a layout that they do not have is refused") {
    const auto refused = [](const std::string &spec, const std::vector<int> &channel_major) {
        const auto answer = query_kernels({{with_channel_major(spec, channel_major), "vulkan-32k"}}).at(0);
        return answer.at("supported").get<bool>() ? "" : answer.at("reason").get<std::string>();
    };
    const std::string rows = spec("pointwise", R"("width":48,"rows":37)", R"({"op":"add"})");
    CHECK(refused(rows, {0, 1, 2}) == "");
    CHECK(refused(rows, {0, 2}).find("all arguments of a layout group or none") != std::string::npos);
    CHECK(refused(rows, {7}).find("row by row only") != std::string::npos);
    const std::string product = spec("linear", R"("in":36,"out":50,"rows":200,"bias":1)");
    for (const std::vector<int> &one : {std::vector{0}, {3}, {0, 3}}) CHECK(refused(product, one) == "");
    CHECK(refused(product, {1}).find("row by row only") != std::string::npos); // weights
    // Few rows, and inputs that are not fours, have kernels that read rows only.
    CHECK(refused(spec("linear", R"("in":36,"out":50,"rows":4)"), {0}) != "");
    CHECK(refused(spec("linear", R"("in":35,"out":50,"rows":200)"), {0}) != "");
    CHECK(refused(spec("long_conv_registers", R"("length":2048,"rows":2048,"channels":16)"), {0, 3}) == "");
    CHECK(refused(spec("softmax", R"("channels":12,"rows":64)"), {0, 1}) != "");
}

TEST_CASE("softmax: over the valid lanes, padding is zero") {
    run_everywhere({softmax(12, 1), softmax(16, 2), softmax(97, 5), softmax(1, 2)});
}

TEST_CASE("image_patches: the pixels of each patch") {
    run_everywhere({{spec("image_patches", R"("channels":20,"line":12,"side":2,"rows":18)"), [](Kernel &k) {
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const int y = at[2] / 6 * 2 + at[1] / 2, x = at[2] % 6 * 2 + at[1] % 2;
                                 return k["x"].get({at[0], y * 12 + x});
                             },
                             0);
                     }}});
}

TEST_CASE("pair_features: both, their difference and their product") {
    run_everywhere({{spec("pair_features", R"("channels":20)"), [](Kernel &k) {
                         compare(
                             k, "y",
                             [&](const std::vector<int> &at) {
                                 const double u = k["u"].get({at[0]}), v = k["v"].get({at[0]});
                                 return at[1] == 0 ? u : at[1] == 1 ? v : at[1] == 2 ? u - v : u * v;
                             },
                             limit(1));
                     }}});
}

TEST_CASE("random: pointwise") {
    Random("pointwise").run([](Random &r) {
        const Activation &a = activations[r.between(1, std::size(activations) - 1)];
        const int channels = r.size(400), width = r.flip() ? channels : padded(channels);
        return pointwise(width, channels, r.size(300), a.epilogue, r.between(1, 10), 4e-7, a.value);
    });
}

TEST_CASE("random: norm") {
    Random("norm").run([](Random &r) {
        const char *kind = r.one_of({"layer", "rms", "transposed"});
        return norm(kind, r.between(2, 300), r.size(4), r.size(40), 1e-5);
    });
}

TEST_CASE("random: softmax") {
    Random("softmax").run([](Random &r) { return softmax(r.size(500), r.size(30)); });
}

TEST_CASE("scalar_rows: a number of the host, and the steps to a new one") {
    std::vector<Case> cases;
    for (const bool smoothed : {false, true})
        for (const int rows : {1, 2, 7, 160, 441})
            for (const int channels : {1, 16, 20})
                cases.push_back(scalar_rows(padded(channels), channels, rows, smoothed));
    run_everywhere(cases);
}

} // namespace rows_test
