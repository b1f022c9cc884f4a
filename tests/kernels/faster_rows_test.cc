// split_rows, unframe and overlap_add: rows that become more rows, and frames that overlap.
#include "tests/kernels/check.h"
#include <algorithm>

namespace faster_rows_test {

using namespace longwave::test;

namespace {

Case split(int in_row, int row, int width, int parts, int rows) {
    return {spec("split_rows", fmt::format(R"("in_row":{},"row":{},"width":{},"parts":{},"rows":{})", in_row,
                                           row, width, parts, rows)),
            [=](Kernel &k) {
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        return at[0] < width ? k["x"].get({at[1] % parts * width + at[0], at[1] / parts}) : 0;
                    },
                    0);
            }};
}

Case unframe(int window, int hop, int rows, int later) {
    const int pieces = (window + hop - 1) / hop, ring = rows * ((rows + later + pieces - 2) / rows + 1);
    return {
        spec("unframe", fmt::format(R"("window":{},"hop":{},"rows":{},"later":{},"ring":{})", window, hop,
                                    rows, later, ring)),
        [=](Kernel &k) {
            // Sums of so many numbers stay below 1.
            if (pieces > 64)
                k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, k["x"].get(at) / pieces); });
            const int step = ring > 64 ? ring / 8 / rows * rows : rows;
            for (int position = 0; position < ring; position += std::max(step, rows)) {
                k.scalar("position") = position;
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0;
                        for (int j = 0; at[0] < hop && j * hop + at[0] < window; j++) {
                            const int row = position + at[1] - later - j;
                            sum += k["x"].get({j * hop + at[0], (row % ring + ring) % ring});
                        }
                        return sum;
                    },
                    // One chain of sums: as many roundings as pieces, of numbers that grow as a random walk.
                    limit(1) + 6e-8 * pieces);
            }
        }};
}

// Two calls, so that the second begins with the sums of the first.
Case overlap_add(int window, int hop, int rows) {
    const int pieces = (window + hop - 1) / hop - 1;
    return {
        spec("overlap_add", fmt::format(R"("window":{},"hop":{},"rows":{})", window, hop, rows)),
        [=](Kernel &k) {
            std::vector<double> all(static_cast<size_t>((2 * rows + pieces + 1) * hop)); // sample by sample
            k["sums"].for_each([&](const std::vector<int> &at) {
                const double before = at[0] < hop ? 0.125 * (at[0] % 5) - 0.25 * at[1] / pieces : 0;
                k["sums"].set(at, static_cast<float>(before));
                if (at[0] < hop && at[2] == 0)
                    all[static_cast<size_t>(at[1] * hop + at[0])] = static_cast<float>(before);
            });
            // Sums of so many numbers stay below 2.
            if (pieces > 64)
                k["x"].for_each([&](const std::vector<int> &at) { k["x"].set(at, k["x"].get(at) / pieces); });
            for (int first = 0; first < 2 * rows; first += rows) {
                for (int r = 0; r < rows; r++)
                    for (int i = 0; i < window; i++)
                        all[static_cast<size_t>((first + r) * hop + i)] += k["x"].get({i, r});
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        return at[0] < hop ? all[static_cast<size_t>((first + at[2]) * hop + at[0])] : 0;
                    },
                    limit(1) + 6e-8 * (pieces + 1));
                k["sums"].for_each([&](const std::vector<int> &at) {
                    const double sum =
                        at[0] < hop ? all[static_cast<size_t>((first + rows + at[1]) * hop + at[0])] : 0;
                    CHECK(std::abs(k["sums"].get(at) - sum) <= 2e-7 * (pieces + 1));
                });
            }
        }};
}

} // namespace

TEST_CASE("split_rows: parts of rows, at any lane and at whole vectors") {
    run_everywhere({split(16, 1, 1, 7, 3), split(128, 1, 1, 128, 2), split(16, 16, 3, 5, 1),
                    split(48, 16, 16, 3, 4), split(80, 48, 37, 2, 3), split(2048, 1024, 1024, 2, 1)});
}

TEST_CASE("unframe: frames that overlap, have no overlap, and begin late") {
    run_everywhere({unframe(512, 128, 1, 0), unframe(400, 160, 4, 0), unframe(1024, 256, 2, 1),
                    unframe(5, 2, 3, 2), unframe(1, 1, 4, 0), unframe(7, 7, 2, 0), unframe(16, 1, 1, 0),
                    unframe(1024, 1, 1, 0), unframe(1000, 3, 1, 0)});
}

TEST_CASE("overlap_add: the sums that a stream keeps, from call to call") {
    run_everywhere({overlap_add(512, 128, 1), overlap_add(400, 160, 4), overlap_add(1024, 256, 2),
                    overlap_add(5, 2, 3), overlap_add(7, 4, 9), overlap_add(2, 1, 1), overlap_add(1024, 1, 2),
                    overlap_add(1000, 3, 1)});
}

} // namespace faster_rows_test
