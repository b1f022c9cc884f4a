// Long convolutions with lanes over the phases of a sequence, against their definition.
#include "tests/kernels/phases.h"
#include <cstring>
#include <fstream>

namespace polyphase_test {

using namespace longwave::test;

namespace {

struct Problem {
    int length, rows, taps, channels = 1, copies = 1;
    bool two_sided = false, relu = false;
};

// Relative L2 of some rows of some lanes.
double error_of(const Problem &p, Kernel &k, Tensor &taps) {
    const int stride = std::max(1, p.rows / 97), signals = std::min(p.channels, k["u"].extent(0));
    double difference = 0, size = 0;
    const Tensor &u = k["u"];
    for (int c = 0; c < signals; c += signals > 4 ? 3 : 1)
        for (int m = 0; m < p.copies; m++)
            for (int t = p.rows - 1; t >= 0; t -= stride) {
                double sum = 0;
                for (int j = 0; j <= t && j < p.taps; j++) sum += taps.get({c, m, j}) * u.get({c, t - j});
                for (int j = 0; p.two_sided && j < p.taps && t + 1 + j < p.rows; j++)
                    sum += taps.get({c, p.copies + m, j}) * u.get({c, t + 1 + j});
                if (p.relu) sum = std::max(sum, 0.0);
                const double y = p.channels == 1 ? k["y"].get({m, t}) : k["y"].get({c, m, t});
                difference += std::pow(sum - y, 2), size += sum * sum;
            }
    return std::sqrt(difference / size);
}

void add(std::vector<Case> &cases, const Problem &p) {
    const std::string params =
        fmt::format(R"("length":{},"copies":{},"channels":{})", p.length, p.copies, p.channels);
    add_phases(cases, p.length,
               spec("spectrum_of_phases",
                    fmt::format(R"({},"taps":{},"two_sided":{})", params, p.taps, int(p.two_sided))),
               spec("long_conv_polyphase", fmt::format(R"({},"rows":{})", params, p.rows),
                    p.relu ? R"({"op":"relu"})" : ""),
               [p](Kernel &k, Tensor &taps) {
                   const double error = error_of(p, k, taps);
                   INFO("error ", error);
                   CHECK(error <= 3e-7); // as long_conv_right_angle
                   // Lanes without a signal are zero.
                   const int signals = p.channels == 1 ? p.copies : p.channels;
                   const Tensor &y = k["y"];
                   y.for_each([&](const std::vector<int> &at) {
                       if (at[0] >= signals && y.get(at) != 0) FAIL_CHECK("lane ", at[0], " is none");
                   });
               });
}

void run(const std::vector<Problem> &problems) {
    std::vector<Case> cases;
    for (const Problem &p : problems) add(cases, p);
    run_everywhere(cases, {.together = 2});
}

} // namespace

TEST_CASE("polyphase_length: possible, long enough, and never far above") {
    for (uint32_t rows : {1u, 256u, 257u, 1000u, 4001u, 16000u, 100000u}) {
        const uint32_t length = longwave::schedules::polyphase_length(rows);
        CHECK(length >= rows);
        CHECK(length <= std::max(256u, rows + rows / 4 + 256));
        CHECK(longwave::schedules::has_polyphase(length));
    }
    CHECK(!longwave::schedules::has_polyphase(128));
    CHECK(!longwave::schedules::has_polyphase(256 * 7));
}

// Of the level, kernels of phases know what their table says and nothing else: how wide vectors are,
// which always divide the sixteen phases, multiply-add, and into how many blocks the first stage goes.
// Where the tables have columns is the same everywhere, so a shape meets the same code on each level.
TEST_CASE("tables of phases: the same columns on every level of a CPU") {
    std::vector<nlohmann::json> columns;
    for (const char *level : {"v2", "v3", "v4"}) {
        std::ifstream file(fmt::format("schedules/long_conv/tables/x86-64-{}.json", level));
        columns.push_back(nlohmann::json::parse(file).at("phases"));
        for (nlohmann::json &row : columns.back()) {
            CHECK(16 % row.at("vec").get<int>() == 0);
            for (const char *of_the_level : {"vec", "outer", "fused"}) row.erase(of_the_level);
        }
        INFO("x86-64-", level, ": a shape does not meet the same code on each level (run_everywhere)");
        CHECK(columns.back() == columns.front());
    }
}

TEST_CASE("long_conv_polyphase: one channel, every radix, with and without columns, kernels shorter and as "
          "long as the sequence") {
    run({{256, 256, 256},
         {512, 512, 100},
         {768, 768, 768},
         {1280, 1280, 1280},
         {2048, 2048, 2048},
         {3840, 3840, 3840},
         {4096, 4096, 4096},
         {6400, 6400, 1},
         {16384, 16384, 16384}});
}

TEST_CASE("long_conv_polyphase: sequences that end anywhere") {
    run({{256, 1, 1},
         {256, 17, 17},
         {512, 500, 512},
         {1024, 777, 1024},
         {8192, 4099, 8192},
         {256, 3, 3, 2},
         {512, 509, 512, 5},
         {4096, 4001, 4096, 16}});
}

TEST_CASE("long_conv_polyphase: few channels and tiles of sixteen") {
    run({{256, 256, 256, 2},
         {512, 512, 512, 3},
         {1024, 1024, 1024, 15},
         {4096, 4096, 4096, 2},
         {1024, 1024, 500, 40}});
}

TEST_CASE("long_conv_polyphase: several copies share the way there") {
    run({{256, 256, 256, 1, 2},
         {1024, 1000, 1024, 1, 17},
         {4096, 4096, 4096, 1, 3},
         {512, 512, 512, 2, 2},
         {4096, 4096, 4096, 4, 3}});
}

TEST_CASE("long_conv_polyphase: two-sided kernels, and what follows the convolution in the same call") {
    run({{256, 256, 256, 1, 1, true},
         {1280, 1270, 1280, 1, 2, true},
         {4096, 4096, 4096, 3, 1, true},
         {1024, 1024, 1024, 1, 1, false, true},
         {1024, 1001, 1024, 1, 3, false, true},
         {512, 512, 512, 16, 2, false, true}});
}

} // namespace polyphase_test
