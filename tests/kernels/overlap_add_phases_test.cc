// Long convolutions in blocks with lanes over the phases of a block, against their definition.
#include "tests/kernels/phases.h"
#include "tests/support/every_case.h"

namespace overlap_add_phases_test {

using namespace longwave::test;

namespace {

struct Problem {
    int length, rows, taps, copies = 1;
    bool relu = false;
    int channels = 1;
};

// Relative L2 against sums in float64: the rows at both sides of every block's end, and others.
double error_of(const Problem &p, Kernel &k, Tensor &taps) {
    double difference = 0, size = 0;
    const Tensor &u = k["u"];
    const int blocks = (p.rows + p.length - 1) / p.length, stride = std::max(1, blocks / 20);
    std::vector<int> rows = {0, p.rows - 1};
    for (int t = 0; t < p.rows; t += std::max(1, p.rows / 97)) rows.push_back(t);
    for (int q = 1; q < blocks; q += stride) rows.insert(rows.end(), {q * p.length - 1, q * p.length});
    for (int c = 0; c < p.channels; c += p.channels > 4 ? 3 : 1)
        for (int m = 0; m < p.copies; m++)
            for (int t : rows) {
                double sum = 0;
                for (int j = 0; j <= t && j < p.taps; j++) sum += taps.get({c, m, j}) * u.get({c, t - j});
                if (p.relu) sum = std::max(sum, 0.0);
                const double y = p.channels == 1 ? k["y"].get({m, t}) : k["y"].get({c, m, t});
                difference += std::pow(sum - y, 2), size += sum * sum;
            }
    return std::sqrt(difference / size);
}

// Lanes without a signal are zero.
int nonzero_lanes(const Problem &p, Kernel &k) {
    const int signals = p.channels == 1 ? p.copies : p.channels;
    int found = 0;
    const Tensor &y = k["y"];
    y.for_each([&](const std::vector<int> &at) { found += at[0] >= signals && y.get(at) != 0; });
    return found;
}

void add(std::vector<Case> &cases, const Problem &p) {
    const std::string params =
        fmt::format(R"("length":{},"copies":{},"channels":{})", p.length, p.copies, p.channels);
    add_phases(cases, p.length, spec("spectrum_of_phases", fmt::format(R"({},"taps":{})", params, p.taps)),
               spec("long_conv_overlap_add_phases", fmt::format(R"({},"rows":{})", params, p.rows),
                    p.relu ? R"({"op":"relu"})" : ""),
               [p](Kernel &k, Tensor &taps) {
                   const double error = error_of(p, k, taps);
                   INFO("error ", error);
                   CHECK(error <= 3e-7); // as long_conv_right_angle
                   CHECK(nonzero_lanes(p, k) == 0);
               });
}

void run(const std::vector<Problem> &problems) {
    std::vector<Case> cases;
    for (const Problem &p : problems) add(cases, p);
    run_everywhere(cases, {.together = 2});
}

} // namespace

TEST_CASE(
    "long_conv_overlap_add_phases: one channel, taps as long as the block and far shorter, every radix") {
    run({{256, 512, 256}, {256, 2560, 3}, {768, 768 * 3, 768}, {1280, 1280 * 2, 1}, {4096, 4096 * 4, 4096}});
}

TEST_CASE("long_conv_overlap_add_phases: sequences that end anywhere in a block") {
    run({{256, 257, 256},
         {256, 1000, 200},
         {256, 767, 255},
         {512, 1041, 512},
         {4096, 10001, 4096},
         {256, 100, 100}});
}

// A million with every case; the code goes round its blocks alike.
static const int many_rows = every_case() ? 1 << 20 : 1 << 16;

TEST_CASE("long_conv_overlap_add_phases: very many rows of one channel") {
    run({{4096, many_rows, 4096}, {8192, many_rows - 48573, 4096}});
}

TEST_CASE("long_conv_overlap_add_phases: several copies share the way there") {
    run({{256, 1024, 256, 2}, {256, 1001, 256, 17}, {4096, 9000, 4096, 3}});
}

TEST_CASE("long_conv_overlap_add_phases: what follows the convolution in the same call") {
    run({{256, 1024, 256, 1, true}, {512, 1537, 512, 3, true}});
}

TEST_CASE("long_conv_overlap_add_phases: several channels beside each other, up to sixteen") {
    run({{.length = 256, .rows = 1024, .taps = 256, .channels = 2},
         {.length = 768, .rows = 2000, .taps = 700, .channels = 3},
         {.length = 256, .rows = 1001, .taps = 200, .channels = 5},
         {.length = 1280, .rows = 2579, .taps = 1, .channels = 8},
         {.length = 512, .rows = 1537, .taps = 512, .relu = true, .channels = 9},
         {.length = 4096, .rows = 10002, .taps = 4096, .channels = 16}});
    run({{.length = 256, .rows = 1001, .taps = 256, .copies = 2, .channels = 2},
         {.length = 512, .rows = 1543, .taps = 300, .copies = 3, .relu = true, .channels = 7}});
}

TEST_CASE("long_conv_overlap_add_phases: very many rows of two channels") {
    run({{.length = 4096, .rows = many_rows - 48573, .taps = 4000, .channels = 2}});
}

} // namespace overlap_add_phases_test
