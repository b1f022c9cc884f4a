// sgconv_kernel and expand_scales against kernels written out by hand.
#include "compiler/ir/builder.h"
#include "compiler/ir/op.h"
#include "compiler/ops/long_conv/multi_scale.h"
#include "tests/unit/compiler/ir/graphs.h"

namespace multi_scale_test {

using namespace longwave;
using namespace longwave::ir;

namespace {

struct Kernel {
    std::string mode = "cat_randn";
    uint32_t kernel_dim = 2, init_scale = 0, l_max = 1 << 20, resolution = 1 << 20, channels = 1, heads = 1;
    std::vector<std::vector<double>> lists;
    std::vector<double> norm{1}, growth{1}, decay{0};

    Expected<Graph> graph() const {
        Builder builder("kernel");
        std::vector<ValueId> inputs;
        for (size_t i = 0; i < lists.size(); ++i)
            inputs.push_back(builder.constant("kernel_list." + std::to_string(i),
                                              {channels, heads, kernel_dim}, lists[i]));
        inputs.push_back(builder.constant("kernel_norm", {channels, heads}, norm));
        inputs.push_back(builder.constant("multiplier", {heads}, growth));
        inputs.push_back(builder.constant("decay", {heads}, decay));
        LW_ASSIGN(const ValueId k, builder.node("sgconv_kernel", inputs,
                                                {{"mode", mode},
                                                 {"kernel_dim", int64_t{kernel_dim}},
                                                 {"num_scales", static_cast<int64_t>(lists.size())},
                                                 {"init_scale", int64_t{init_scale}},
                                                 {"l_max", int64_t{l_max}},
                                                 {"resolution", int64_t{resolution}},
                                                 {"channels", int64_t{channels}},
                                                 {"heads", int64_t{heads}}},
                                                "layer"));
        builder.output("k", k);
        return std::move(builder).take();
    }
    std::vector<double> taps() const {
        const auto made = graph();
        REQUIRE_MESSAGE(made, made.status().message());
        return evaluate(*made, {})->at(0).data;
    }
    std::string refusal() const {
        const auto made = graph();
        REQUIRE(!made);
        CHECK(made.status().fault() == Fault::input);
        return made.status().message();
    }
};

const Kernel three{.lists = {{1, 2}, {3, 5}, {1, 3}}};

} // namespace

TEST_CASE(
    "sgconv_kernel: scales lie one after the other, each twice as long, stretched from half-pixel centres") {
    // scale 2 samples [1, 3] at −0.25 (clamped), 0.25, 0.75, 1.25 (clamped)
    check_close(three.taps(), {1, 2, 3, 5, 1, 1.5, 2.5, 3});
}

TEST_CASE("sgconv_kernel: growth weighs early scales, the norm divides all") {
    Kernel kernel = three;
    kernel.growth = {2};
    kernel.norm = {4};
    check_close(kernel.taps(), {1, 2, 1.5, 2.5, 0.25, 0.375, 0.625, 0.75}); // (4, 2, 1)/4 times the scales
}

TEST_CASE("sgconv_kernel: nearest repeats its weights") {
    Kernel kernel = three;
    kernel.mode = "cat_randn_nearest";
    check_close(kernel.taps(), {1, 2, 3, 5, 1, 1, 3, 3});
}

TEST_CASE("sgconv_kernel: init_scale stretches every scale further") {
    const Kernel kernel{.mode = "cat_cos", .kernel_dim = 1, .init_scale = 1, .lists = {{1}, {2}, {3}}};
    check_close(kernel.taps(), {1, 1, 2, 2, 3, 3, 3, 3});
}

TEST_CASE("sgconv_kernel: sum puts every scale at the start") {
    Kernel kernel{.mode = "sum_randn", .lists = {{1, 2}, {3, 5}}};
    check_close(kernel.taps(), {1 + 3, 2 + 3.5, 4.5, 5});
    kernel.growth = {2};
    check_close(kernel.taps(), {2 + 3, 4 + 3.5, 4.5, 5});
    kernel.mode = "sum_randn_nearest";
    check_close(kernel.taps(), {2 + 3, 4 + 3, 5, 5});
    const Kernel stretched{.mode = "sum_nearest", .kernel_dim = 1, .init_scale = 1, .lists = {{1}, {10}}};
    check_close(stretched.taps(), {11, 11, 10, 10});
}

TEST_CASE("sgconv_kernel: a learnable decay is a power of the position, fixed or not") {
    Kernel kernel{.mode = "cat_randn_learnable", .lists = {{1, 2}, {3, 5}}, .decay = {1}};
    check_close(kernel.taps(), {1, 1, 1, 1.25});
    kernel.mode = "cat_randn_learnable_fixed";
    check_close(kernel.taps(), {1, 1, 1, 1.25});
    kernel.mode = "cat_randn"; // not learnable: the decay is not read
    check_close(kernel.taps(), {1, 2, 3, 5});
}

TEST_CASE("sgconv_kernel: without a resize the resolution only truncates") {
    Kernel kernel = three;
    kernel.resolution = 5;
    check_close(kernel.taps(), {1, 2, 3, 5, 1});
    kernel.resolution = 100;
    CHECK(kernel.taps().size() == 8);
}

TEST_CASE("sgconv_kernel: trunc to half the resolution adds pairs") {
    Kernel kernel = three;
    kernel.mode = "cat_randn_trunc";
    kernel.l_max = 8;
    kernel.resolution = 4;
    check_close(kernel.taps(), {3, 8, 2.5, 5.5});
    kernel.l_max = 6; // the kernel is cut at l_max first
    kernel.resolution = 3;
    check_close(kernel.taps(), {3, 8, 2.5});
}

TEST_CASE("sgconv_kernel: trunc to a higher resolution interpolates and keeps the sum of the taps") {
    Kernel kernel{.mode = "cat_randn_trunc", .l_max = 4, .resolution = 8, .lists = {{1, 2}, {3, 5}}};
    check_close(kernel.taps(),
                {0.5, 0.625, 0.875, 1.125, 1.375, 1.75, 2.25, 2.5}); // samples at −0.25, 0.25, … 3.25, halved
    kernel.mode = "cat_nearest_trunc";
    check_close(kernel.taps(), {0.5, 0.5, 1, 1, 1.5, 1.5, 2.5, 2.5});
}

TEST_CASE("sgconv_kernel: expand stretches the kernel to l_max and does not rescale it") {
    Kernel kernel{.mode = "cat_nearest_expand", .l_max = 8, .resolution = 8, .lists = {{1, 2}, {3, 5}}};
    check_close(kernel.taps(), {1, 1, 2, 2, 3, 3, 5, 5});
    kernel.resolution = 3;
    check_close(kernel.taps(), {1, 1, 2});
    kernel.mode = "cat_nearest_expand_trunc"; // expand first, then trunc
    kernel.resolution = 4;
    check_close(kernel.taps(), {2, 4, 6, 10});
}

TEST_CASE("sgconv_kernel: copies and heads have their own weights, norms, and heads their own growth") {
    const Kernel kernel{.kernel_dim = 1,
                        .channels = 2,
                        .heads = 2,
                        .lists = {{1, 2, 3, 4}, {5, 6, 7, 8}},
                        .norm = {1, 2, 4, 8},
                        .growth = {1, 10},
                        .decay = {0, 0}};
    check_close(kernel.taps(), {1, 5, 10, 3, 0.75, 1.75, 5, 1}); // [c, h, tap]
}

TEST_CASE("sgconv_kernel: what it cannot be is refused") {
    Kernel kernel = three;
    kernel.mode = "mat_randn";
    CHECK(kernel.refusal().find("expected cat_… or sum_…") != std::string::npos);
    kernel.mode = "cat_hankel";
    CHECK(kernel.refusal().find("hankel is not supported") != std::string::npos);
    kernel = three;
    kernel.init_scale = 30;
    CHECK(kernel.refusal().find("init_scale expected 0 to 24") != std::string::npos);
    kernel = three;
    kernel.resolution = 0;
    CHECK(kernel.refusal().find("resolution expected 1") != std::string::npos);
    const Kernel huge{.kernel_dim = 1,
                      .init_scale = 24,
                      .resolution = 1 << 28,
                      .lists = std::vector<std::vector<double>>(24, {1})};
    CHECK(huge.refusal().find("more than") != std::string::npos);
}

TEST_CASE("first_forward_norm: the length of the full kernel, after the decay") {
    const MultiScale scales{.kernel_dim = 2, .num_scales = 2};
    const std::vector<std::vector<double>> lists{{1, 2}, {3, 5}};
    check_close(first_forward_norm(scales, false, lists, {2}, {7}), {std::sqrt(4.0 + 16 + 9 + 25)});
    check_close(first_forward_norm(scales, true, lists, {1}, {1}), {std::sqrt(3 + 1.25 * 1.25)});
}

TEST_CASE("expand_scales: the same taps as the kernel it stands for, cut anywhere") {
    for (const char *nearest : {"0", "1"})
        for (const char *init_scale : {"0", "2"}) {
            const uint32_t full = 3u << (4 - 1 + std::stoi(init_scale));
            Kernel kernel{.mode = std::string("cat_randn") + (*nearest == '1' ? "_nearest" : ""),
                          .kernel_dim = 3,
                          .init_scale = static_cast<uint32_t>(std::stoi(init_scale)),
                          .channels = 2,
                          .heads = 2,
                          .norm = {1, 1, 1, 1},
                          .growth = {1, 1},
                          .decay = {0, 0}};
            std::vector<double> parameters;
            for (unsigned i = 0; i < 4; ++i) {
                kernel.lists.push_back(random_numbers(12, i));
                parameters.insert(parameters.end(), kernel.lists.back().begin(), kernel.lists.back().end());
            }
            for (const uint32_t taps : {1u, 3u, 4u, full - 1, full}) {
                kernel.resolution = taps;
                const Graph graph =
                    graph_of(std::string("%p = const \"p\" : [4,2,2,3]\n%k = expand_scales(%p) {nearest=") +
                                 nearest + ", init_scale=" + init_scale + ", taps=" + std::to_string(taps) +
                                 "}\noutput \"k\" %k",
                             {{"p", parameters}});
                check_close(evaluate(graph, {})->at(0).data, kernel.taps(), 0);
            }
        }
}

TEST_CASE("expand_scales: more taps than its scales have are refused") {
    const auto graph =
        parse("%p = const \"p\" : [2,1,1,3]\n%k = expand_scales(%p) {nearest=0, init_scale=0, taps=7}");
    REQUIRE(!graph);
    CHECK(graph.status().message().find("taps expected 1 to 6, found 7") != std::string::npos);
}

} // namespace multi_scale_test
