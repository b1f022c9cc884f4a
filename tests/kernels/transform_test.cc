// Long convolutions by transforms, with spectra made by the spectrum kernel, against their
// definition.
#include "schedules/contract/twiddles.h"
#include "tests/kernels/check.h"
#include <cstring>

namespace transform_test {

using namespace longwave::test;

namespace {

void set_twiddles(Kernel &k, int length) {
    const std::vector<double> table =
        longwave::schedules::right_angle_twiddles(static_cast<uint32_t>(length));
    for (size_t i = 0; i < table.size(); i++) k["twiddles"].set({static_cast<int>(i)}, table[i]);
}

std::string spectrum_spec(int length, int partitions, int taps, int copies, int channels, bool two_sided) {
    return spec(
        "spectrum",
        fmt::format(R"("length":{},"partitions":{},"taps":{},"copies":{},"channels":{},"two_sided":{})",
                    length, partitions, taps, copies, channels, int(two_sided)));
}

// The kernel that was loaded before makes the spectrum of the one that is checked.
struct Pair {
    Case spectrum, conv;
};

Pair right_angle(int length, int rows, int taps, int copies, int channels, bool two_sided = false) {
    auto kernels = std::make_shared<Tensor>();
    auto made = std::make_shared<Tensor>();
    Case first{spectrum_spec(length, 1, taps, copies, channels, two_sided), [=](Kernel &k) {
                   set_twiddles(k, length);
                   REQUIRE(k.call() == 0);
                   *kernels = k["k"], *made = k["spectrum"];
               }};
    Case second{
        spec("long_conv_right_angle", fmt::format(R"("length":{},"rows":{},"copies":{},"channels":{})",
                                                  length, rows, copies, channels)),
        [=](Kernel &k) {
            set_twiddles(k, length);
            k["spectrum"].for_each([&](const std::vector<int> &at) {
                k["spectrum"].set(at, made->get({at[0], at[1], 0, at[2], at[3]}));
            });
            const int stride = std::max(1, rows / 97); // of a long output, some rows
            uint64_t left = 1;
            REQUIRE(k.call(&left) == 0);
            CHECK(left == 0);
            double difference = 0, size = 0;
            const Tensor &u = k["u"];
            for (int lane = 0; lane < u.extent(0); lane += 5)
                for (int m = 0; m < copies; m++)
                    for (int t = rows - 1; t >= 0; t -= stride) {
                        double sum = 0;
                        for (int j = 0; j <= t && j < taps; j++)
                            sum += kernels->get({lane, m, j}) * u.get({lane, t - j});
                        for (int j = 0; two_sided && t + 1 + j < rows; j++)
                            sum += kernels->get({lane, copies + m, j}) * u.get({lane, t + 1 + j});
                        difference += std::pow(sum - k["y"].get({lane, m, t}), 2), size += sum * sum;
                    }
            const double error = std::sqrt(difference / size);
            INFO("error ", error);
            CHECK(error <= 3e-7);
        }};
    return {first, second};
}

// `length`: of the transform, which may be longer than the block; 0: that of the block.
Pair partitioned(int block, int partitions, int taps, int copies, int channels,
                 const std::string &epilogue = "", int length = 0) {
    auto kernels = std::make_shared<Tensor>();
    auto made = std::make_shared<Tensor>();
    if (length == 0) length = block;
    Case first{
        spec("spectrum",
             fmt::format(R"("length":{},"rows":{},"partitions":{},"taps":{},"copies":{},"channels":{})",
                         length, block, partitions, taps, copies, channels)),
        [=](Kernel &k) {
            set_twiddles(k, length);
            REQUIRE(k.call() == 0);
            *kernels = k["k"], *made = k["spectrum"];
        },
        false, true};
    Case second{
        spec("long_conv_partitioned",
             fmt::format(R"("block":{},"partitions":{},"copies":{},"channels":{}{})", block, partitions,
                         copies, channels, length == block ? "" : fmt::format(R"(,"length":{})", length)),
             epilogue),
        [=](Kernel &k) {
            set_twiddles(k, length);
            k["spectrum"].for_each([&](const std::vector<int> &at) { k["spectrum"].set(at, made->get(at)); });
            for (const char *zero : {"past", "tail"})
                k[zero].for_each([&](const std::vector<int> &at) { k[zero].set(at, 0); });
            const int lanes = k["u"].extent(0), blocks = 2 * partitions + 1;
            std::vector<std::vector<double>> u(lanes);
            double difference = 0, size = 0;
            for (int b = 0; b < blocks; b++) {
                k["u"].for_each([&](const std::vector<int> &at) {
                    const double value = std::sin(0.7 * (b + 1) * (at[1] + 3) + 1.3 * at[0]);
                    k["u"].set(at, value);
                    u[at[0]].resize(b * block + at[1] + 1, k["u"].get(at));
                });
                const int slot = b % partitions;
                k.scalar("slot") = slot;
                if (gpu_under_test()) { // whose buffers are copies here
                    REQUIRE(k.call() == 0);
                    k["newest"].for_each([&](const std::vector<int> &at) {
                        k["past"].set({at[0], at[1], slot, at[2]}, k["newest"].get(at));
                    });
                } else { // `newest` is that slot of `past`, as in the runtime's memory
                    k.prepare({{"newest", k["past"].data() + size_t{4} * 2 * lanes * slot}});
                    REQUIRE(k.call_prepared() == 0);
                }
                k["tail"].for_each(
                    [&](const std::vector<int> &at) { k["tail"].set(at, k["tail_out"].get(at)); });
                k["y"].for_each([&](const std::vector<int> &at) {
                    if (at[0] % 5 || at[2] % 7) return;
                    const int t = b * block + at[2];
                    double sum = 0;
                    for (int j = 0; j <= t && j < taps; j++)
                        sum += kernels->get({at[0], at[1], j}) * u[at[0]][t - j];
                    if (!epilogue.empty()) sum = std::max(sum, 0.0);
                    difference += std::pow(sum - k["y"].get(at), 2), size += sum * sum;
                });
            }
            const double error = std::sqrt(difference / size);
            INFO("error ", error);
            CHECK(error <= 3e-7);
        }};
    return {first, second};
}

void run_pairs(const std::vector<Pair> &pairs) {
    std::vector<Case> cases;
    for (const Pair &pair : pairs) cases.insert(cases.end(), {pair.spectrum, pair.conv});
    run_everywhere(cases, {.together = 2});
}

} // namespace

TEST_CASE("right_angle_length: possible, long enough, and never far above") {
    for (uint32_t rows : {1u, 4u, 7u, 97u, 1000u, 4001u, 16000u, 16384u}) {
        const uint32_t length = longwave::schedules::right_angle_length(rows);
        CHECK(length >= rows);
        CHECK(length <= std::max(4u, rows + rows / 4 + 8));
        CHECK(!longwave::schedules::right_angle_radices(length).empty());
    }
    CHECK(longwave::schedules::right_angle_radices(97).empty());
    CHECK(longwave::schedules::right_angle_radices(3).empty());
}

TEST_CASE("long_conv_right_angle: every radix, kernels shorter and as long as the sequence, sequences "
          "shorter than the transform") {
    run_pairs({
        right_angle(4, 4, 4, 1, 16),
        right_angle(5, 3, 5, 1, 16),
        right_angle(8, 8, 3, 1, 97),
        right_angle(12, 12, 12, 2, 16),
        right_angle(16, 16, 16, 1, 1),
        right_angle(30, 29, 30, 1, 6),
        right_angle(64, 50, 64, 1, 16),
        right_angle(160, 160, 160, 3, 16),
        right_angle(256, 256, 256, 1, 16),
        right_angle(1000, 1000, 333, 1, 16),
        right_angle(1024, 777, 1024, 1, 16),
        right_angle(4096, 4096, 4096, 1, 16),
    });
}

TEST_CASE("long_conv_right_angle: long enough for columns and rows, of all radices, with sequences that end "
          "anywhere and several copies") {
    run_pairs({
        right_angle(320, 320, 320, 1, 16),
        right_angle(512, 512, 512, 2, 16),
        right_angle(625, 625, 100, 1, 16),
        right_angle(729, 700, 729, 1, 16),
        right_angle(960, 941, 960, 2, 40),
        right_angle(1024, 1024, 1024, 1, 1),
        right_angle(1024, 1023, 700, 3, 16),
        right_angle(2048, 2048, 2048, 1, 16),
        right_angle(3000, 2501, 3000, 2, 16),
        right_angle(4096, 4001, 4096, 2, 16),
        right_angle(8192, 6144, 8192, 1, 16),
        right_angle(16384, 16384, 16384, 1, 16),
    });
}

TEST_CASE(
    "long_conv_right_angle: holds one complex matrix of a tile at a time, a second for several copies") {
    for (const int copies : {1, 2}) {
        Case held{right_angle(16384, 16384, 16384, copies, 32).conv.spec, [copies](Kernel &k) {
                      const double matrix = 16384.0 * 16 * 2 * sizeof(float);
                      CHECK(static_cast<double>(k.signature().scratch_bytes) < 1.1 * matrix * copies);
                  }};
        run_everywhere({held});
    }
}

TEST_CASE("long_conv_right_angle: a sequence that ends before the first step has zeros from there on") {
    run_pairs({right_angle(64, 7, 64, 1, 16), right_angle(1024, 60, 1024, 2, 16)});
}

TEST_CASE(
    "long_conv_right_angle: the two-sided kernel has no double lag 0 and looks one sample ahead first") {
    run_pairs({right_angle(64, 64, 64, 1, 16, true), right_angle(160, 140, 160, 2, 16, true),
               right_angle(1280, 1270, 1280, 2, 16, true)});
}

TEST_CASE(
    "long_conv_partitioned: a stream of blocks equals the convolution, kernels below and above one block") {
    run_pairs({
        partitioned(4, 1, 3, 1, 16),
        partitioned(5, 4, 20, 2, 1),
        partitioned(16, 4, 50, 1, 3, R"({"op":"relu"})"),
        partitioned(64, 3, 192, 1, 97),
        partitioned(160, 4, 500, 2, 16),
    });
}

TEST_CASE("long_conv_partitioned: blocks of any length, by a transform that is longer") {
    if (gpu_under_test()) {
        MESSAGE("left out: a GPU has no transform that is longer than the block");
        return;
    }
    run_pairs({
        partitioned(1, 5, 5, 1, 3, "", 4),
        partitioned(3, 4, 12, 2, 1, "", 4),
        partitioned(7, 3, 20, 1, 16, R"({"op":"relu"})", 8),
        partitioned(63, 3, 180, 2, 20, "", 64),
        partitioned(441, 2, 882, 1, 16, "", 480),
        partitioned(17, 3, 51, 1, 16, "", 48), // more than twice as long
    });
}

TEST_CASE("expand_scales: stretched kernels laid end to end") {
    const int channels = 20, dim = 4, taps = 40;
    auto reference = [=](Kernel &k, bool nearest, int init_scale) {
        return [=, &k](const std::vector<int> &at) {
            int start = 0, t = at[2];
            double value = t < k["d"].extent(2) ? k["d"].get({at[0], at[1], t}) : 0;
            for (int i = 0; i < 4; i++) {
                const int s = 1 << (std::max(0, i - 1) + init_scale), m = t - start;
                start += dim * s;
                if (m < 0 || m >= dim * s) continue;
                auto w = [&](int j) { return k["w"].get({at[0], std::min(j, dim - 1), at[1], i}); };
                if (nearest) return value + w(m / s);
                const double src = std::max(0.0, (m + 0.5) / s - 0.5);
                const int j = static_cast<int>(src);
                value += (1 - (src - j)) * w(j) + (src - j) * w(j + 1);
            }
            return value;
        };
    };
    const std::string params =
        fmt::format(R"("channels":{},"copies":2,"kernel_dim":{},"scales":4,"taps":{})", channels, dim, taps);
    run_everywhere({
        {spec("expand_scales", params),
         [=](Kernel &k) { compare(k, "k", reference(k, false, 0), limit(2)); }},
        {spec("expand_scales", params + R"(,"direct":9)"),
         [=](Kernel &k) { compare(k, "k", reference(k, false, 0), limit(2)); }},
        {spec("expand_scales", params + R"(,"nearest":1,"init_scale":1)"),
         [=](Kernel &k) { compare(k, "k", reference(k, true, 1), limit(2)); }},
    });
}

} // namespace transform_test
