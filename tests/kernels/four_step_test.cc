// long_conv_columns, long_conv_rows, long_conv_columns_back: three dispatches of a gpu, one after
// the other, against convolution by its definition in float64.
#include "tests/kernels/gpu_chain.h"
#include "tests/kernels/long_conv_check.h"

namespace four_step_test {

using namespace longwave::test;
namespace targets = longwave::targets;

namespace {

void four_step(const LongConv &s, int points, const std::string &epilogue = "", const Finish &finish = {}) {
    const targets::Target *gpu = gpu_under_test();
    if (!gpu) return;
    INFO(gpu->name, ": ", s.rows, " rows as ", points, " x ", s.length / points, ", ", s.channels,
         " channels, ", s.copies, " copies", s.two_sided ? ", two-sided" : "");
    const std::string sizes = fmt::format(R"("length":{},"points":{},"channels":{})", s.length, points,
                                          s.channels),
                      rows = fmt::format(R"(,"rows":{})", s.rows),
                      copies = fmt::format(R"(,"copies":{})", s.copies);
    Kernel columns = loaded(*gpu, spec("long_conv_columns", sizes + rows)),
           middle = loaded(*gpu, spec("long_conv_rows", sizes + copies + R"(,"scale":0)")),
           back = loaded(*gpu, spec("long_conv_columns_back", sizes + rows + copies, epilogue));
    const Filters filters(s);
    columns.fill_inputs(1);
    back.fill_inputs(2); // operands of the epilogue
    zero_padding(columns["u"], s.channels, padded(s.channels));
    for (Kernel *kernel : {&columns, &middle, &back}) set_twiddles((*kernel)["twiddles"], s.length);
    set_spectrum(middle["spectrum"], s, filters);
    REQUIRE(columns.call() == 0);
    hand_over(columns, "points_out", middle, "points");
    REQUIRE(middle.call() == 0);
    hand_over(middle, "points_out", back, "points");
    REQUIRE(back.call() == 0);
    const double error = error_of(columns["u"], back, s, filters, finish);
    MESSAGE(s.rows, " rows, ", s.channels, " channels: relative L2 error ", error);
    CHECK(error <= 5e-7);
}

// Around the sequence, with a kernel made in the run beside the static one: four dispatches.
void circular_four_step(int length, int channels, int points) {
    const targets::Target *gpu = gpu_under_test();
    if (!gpu) return;
    const LongConv s{length, length, channels};
    const double made_scale = 0.25;
    const std::string sizes =
                          fmt::format(R"("length":{},"points":{},"channels":{})", length, points, channels),
                      rows = fmt::format(R"(,"rows":{})", length);
    Kernel columns = loaded(*gpu, spec("long_conv_columns", sizes + rows)),
           made = loaded(*gpu, spec("long_conv_columns", sizes + rows)),
           middle = loaded(*gpu, spec("long_conv_rows", sizes + fmt::format(R"(,"adaptive":1,"scale":{})",
                                                                            made_scale / length))),
           back = loaded(*gpu, spec("long_conv_columns_back", sizes + rows + R"(,"circular":1)"));
    const Filters filters(s);
    columns.fill_inputs(1);
    made.fill_inputs(2);
    for (Kernel *kernel : {&columns, &made}) zero_padding((*kernel)["u"], channels, padded(channels));
    for (Kernel *kernel : {&columns, &made, &middle, &back}) set_twiddles((*kernel)["twiddles"], length);
    set_spectrum(middle["spectrum"], s, filters);
    REQUIRE(columns.call() == 0);
    hand_over(columns, "points_out", middle, "points");
    REQUIRE(made.call() == 0);
    hand_over(made, "points_out", middle, "made");
    REQUIRE(middle.call() == 0);
    hand_over(middle, "points_out", back, "points");
    REQUIRE(back.call() == 0);
    double difference = 0, size = 0;
    for (int c = 0; c < channels; c++)
        for (int t = 0; t < length; t += std::max(1, length / 97)) {
            double sum = 0;
            for (int j = 0; j < length; j++)
                sum += (filters.taps(c, 0, 0)[j] + made_scale * made["u"].get({c, j})) *
                       columns["u"].get({c, (t - j + length) % length});
            difference += std::pow(back["y"].get({c, 0, t}) - sum, 2), size += sum * sum;
        }
    const double error = std::sqrt(difference / size);
    MESSAGE(length, " rows around, ", channels, " channels: relative L2 error ", error);
    CHECK(error <= 5e-7);
}

} // namespace

TEST_CASE("four_step: every radix, channels that are no whole tiles, copies, one- and two-sided") {
    four_step({64, 64, 16}, 16);
    four_step({450, 401, 1}, 50); // 2, 5, 5, 3, 3
    four_step({480, 480, 2}, 30); // 2, 5, 3, 4, 4
    four_step({600, 577, 3}, 50); // 2, 5, 5, 3, 4
    four_step({1024, 1000, 17, 2}, 16);
    four_step({1024, 1024, 3, 2, true}, 64);
    four_step({1280, 1201, 1, 16, true}, 20);
}

TEST_CASE("four_step: bias, gate, sum and activation in the last dispatch; padding stays zero") {
    const Finish finish = [](Kernel &k, double sum, int c, int m, int t) {
        const double moved = sum * k["scale_0"].get({c, m}) + k["shift_0"].get({c, m});
        return logistic(moved) * k["mul_2"].get({c, m, t}) + k["add_3"].get({c, m, t});
    };
    const std::string epilogue = R"({"op":"affine"},{"op":"sigmoid"},{"op":"mul"},{"op":"add"})";
    four_step({512, 500, 20, 2}, 32, epilogue,
              [&](Kernel &k, double sum, int c, int m, int t) { return finish(k, sum, c, m, t); });
    four_step({512, 512, 1, 1, true}, 8, epilogue, finish);
}

TEST_CASE("four_step: convolutions around a sequence, with a kernel made in the run") {
    circular_four_step(480, 17, 30);
    circular_four_step(4096, 2, 64);
}

TEST_CASE("four_step: just beyond shared memory and 16,384 rows") {
    four_step({2160, 2049, 2}, 45);
    four_step({4320, 4097, 1, 1, true}, 90);
    four_step({16384, 16384, 3}, 64);
}

TEST_CASE("four_step: 2^16 rows" * doctest::skip()) {
    four_step({65536, 65536, 17}, 256);
    four_step({65536, 65535, 1, 1, true}, 256);
    four_step({65536, 60000, 2, 2, true}, 256);
}

} // namespace four_step_test
