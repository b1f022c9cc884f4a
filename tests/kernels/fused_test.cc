// long_conv_fused: one dispatch of a gpu against convolution by its definition in float64.
#include "tests/kernels/long_conv_check.h"
#include "tests/kernels/random.h"

namespace fused_test {

using namespace longwave::test;

namespace {

Case fused(const LongConv &s, const std::string &epilogue = "", const Finish &finish = {},
           const std::vector<int> &channel_major = {}) {
    return {long_conv_spec("long_conv_fused", s, epilogue, channel_major),
            [=](Kernel &k) {
                const Filters filters(s);
                if (channel_major.empty()) {
                    set_twiddles(k["twiddles"], s.length);
                    set_spectrum(k["spectrum"], s, filters);
                } else {
                    set_twiddles(k["twiddles"], s.length, longwave::schedules::TwiddleOrder::by_factor);
                    set_spectrum_by_channel(k["spectrum"], s, filters);
                }
                zero_padding(k["u"], s.channels, padded(s.channels));
                REQUIRE(k.call() == 0);
                const double error = error_of(k["u"], k, s, filters, finish);
                INFO("relative L2 error ", error);
                CHECK(error <= 5e-7);
            },
            true};
}

double moved_and_gated(Kernel &k, double sum, int c, int m, int t) {
    const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
    return logistic(moved) * k["mul_2"].get({c, m, t});
}

} // namespace

TEST_CASE("long_conv_fused: every radix, sequences as long as the transform and shorter, odd channels") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({4, 3, 1}), fused({64, 64, 16}), fused({60, 57, 5}), fused({100, 100, 1}),
                    fused({256, 200, 24}), fused({512, 512, 3})});
}

TEST_CASE("long_conv_fused: as long as 16 KiB hold in place") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({1024, 1000, 3}), fused({2048, 2048, 3})});
}

TEST_CASE("long_conv_fused: two-sided and in copies") {
    if (!gpu_under_test()) return;
    run_everywhere({fused({128, 128, 17, 1, true}), fused({256, 250, 6, 2, true}), fused({320, 300, 20, 3})});
}

TEST_CASE("long_conv_fused: bias, gate and activation in the same dispatch; padding stays zero") {
    if (!gpu_under_test()) return;
    run_everywhere(
        {fused({256, 256, 20}, R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"})", moved_and_gated)});
}

TEST_CASE("long_conv_fused: as long as 32 KiB hold in place") {
    const auto *gpu = gpu_under_test();
    if (!gpu || gpu->shared_bytes < 32 << 10) return;
    run_everywhere({fused({4096, 4096, 2})});
}

TEST_CASE("long_conv_fused: channel by channel, where fewer than 8 channels fit beside each other") {
    const auto *gpu = gpu_under_test();
    if (!gpu) return;
    const int length = gpu->shared_bytes / 32; // 4 channels fit
    const std::string steps = R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"})";
    run_everywhere({fused({length, length, 3}, "", {}, {0, 3}),
                    fused({length, length - 8, 20, 2, true}, "", {}, {0, 3}),
                    fused({2 * length, 2 * length, 20}, steps, moved_and_gated, {0, 5, 6})});
}

TEST_CASE("random: long_conv_fused") {
    if (!gpu_under_test()) return;
    Random("long_conv_fused").run([](Random &r) {
        const int length = 4 * r.one_of({2, 9, 25, 30, 64, 81, 100, 128, 200, 243});
        return fused({length, r.between(1, length), r.size(40), r.size(3), r.flip()});
    });
}

} // namespace fused_test
