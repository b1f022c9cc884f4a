// split_rows and unframe: rows that become more rows, and frames that overlap.
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

} // namespace faster_rows_test
