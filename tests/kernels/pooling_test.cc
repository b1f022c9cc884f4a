// Means of a sequence, of all rows so far and of a window, and the count of rows that they read.
#include "tests/kernels/check.h"
#include "tests/kernels/random.h"

namespace pooling_test {

using namespace longwave::test;

namespace {

int modulo(int a, int n) { return (a % n + n) % n; }

Case mean_run(const std::string &mode, int channels, int rows, int length) {
    return {spec("mean_run", fmt::format(R"("mode":"{}","channels":{},"rows":{})", mode, channels, rows)),
            [=](Kernel &k) {
                k.scalar("length") = length;
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0;
                        for (int r = 0; r < length; r++) {
                            const bool counts =
                                mode == "mean" || mode == "sum" || r == (mode == "last" ? length - 1 : 0);
                            sum += counts ? k["x"].get({at[0], r}) : 0;
                        }
                        return mode == "mean" && length ? sum / length : sum;
                    },
                    limit(1));
            }};
}

// Three blocks: what a block leaves in place, the next one takes up.
Case mean_stream(const std::string &mode, int channels, int rows, const std::string &epilogue = "") {
    const std::string params = fmt::format(R"("mode":"{}","channels":{},"rows":{})", mode, channels, rows);
    return {spec("mean_stream", params + counts_param(), epilogue), [=](Kernel &k) {
                zero_padding(k["x"], channels, padded(channels));
                std::vector<double> sums(padded(channels));
                for (int block = 0; block < 3; block++) {
                    rows_before(k, block * rows, rows);
                    std::vector<std::vector<double>> rows_of;
                    for (int r = 0; r < rows; r++) {
                        for (size_t c = 0; c < sums.size(); c++)
                            sums[c] += k["x"].get({static_cast<int>(c), r});
                        rows_of.push_back(sums);
                    }
                    compare(
                        k, "y",
                        [&](const std::vector<int> &at) {
                            const double sum = rows_of[at[1]][at[0]],
                                         y = mode == "sum" ? sum : sum / (block * rows + at[1] + 1);
                            return epilogue.empty() ? y : y * logistic(y);
                        },
                        limit(1, epilogue.empty() ? 0 : 1));
                    for (size_t c = 0; c < sums.size(); c++)
                        CHECK(std::abs(k["sums"].get({static_cast<int>(c), 0}) - sums[c]) < 1e-12);
                    CHECK(k[count_argument()].get({0}) == (block + 1) * rows);
                }
            }};
}

Case mean_window(int channels, int rows, int ring, int frames, int position, int before) {
    return {spec("mean_window", fmt::format(R"("channels":{},"rows":{},"ring":{},"frames":{})", channels,
                                            rows, ring, frames) +
                                    counts_param()),
            [=](Kernel &k) {
                rows_before(k, before, rows);
                k.scalar("position") = position;
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0;
                        for (int i = 0; i < frames; i++)
                            sum += k["x"].get({at[0], modulo(position + at[1] - i, ring)});
                        return sum / std::min(frames, before + at[1] + 1);
                    },
                    limit(frames, 1));
                CHECK(k[count_argument()].get({0}) == before + rows);
            }};
}

Case count_rows(int rows) {
    return {spec("count_rows", fmt::format(R"("rows":{})", rows)), [=](Kernel &k) {
                for (const double before : {0.0, 1.0, 2097151.0, 4294967295.0, 0x1p33, 9007199254740000.0}) {
                    k["count"].set({0}, before);
                    REQUIRE(k.call() == 0);
                    REQUIRE(k.call() == 0);
                    CHECK(k["count"].get({0}) == before + 2 * rows);
                }
            }};
}

// What another kernel has counted.
Case mean_window_counted(int channels, int rows, int frames, int now) {
    return {spec("mean_window", fmt::format(R"("channels":{},"rows":{},"ring":{},"frames":{},"counts":0)",
                                            channels, rows, rows + frames, frames)),
            [=](Kernel &k) {
                k["count_so_far"].set({0}, now);
                k.scalar("position") = frames;
                compare(
                    k, "y",
                    [&](const std::vector<int> &at) {
                        double sum = 0;
                        for (int i = 0; i < frames; i++) sum += k["x"].get({at[0], frames + at[1] - i});
                        return sum / std::min(frames, now + at[1] + 1 - rows);
                    },
                    limit(frames, 1));
            }};
}

} // namespace

TEST_CASE("count_rows: moves a count on that other kernels only read") {
    run_everywhere(
        {count_rows(1), count_rows(160), mean_window_counted(20, 3, 7, 5), mean_window_counted(1, 2, 4, 90)});
}

TEST_CASE("mean_run: mean, sum, last and first of the valid rows; of none, zero") {
    run_everywhere({mean_run("mean", 97, 100, 73), mean_run("sum", 6, 5, 5), mean_run("last", 16, 33, 20),
                    mean_run("first", 3, 2, 1), mean_run("mean", 1, 33, 33), mean_run("mean", 16, 4, 0),
                    mean_run("last", 16, 4, 0)});
}

TEST_CASE("mean_stream: sums go on in float64") {
    run_everywhere({mean_stream("mean", 97, 2), mean_stream("sum", 1, 5), mean_stream("mean", 16, 1),
                    mean_stream("mean", 6, 3)});
}

TEST_CASE("mean_stream: an epilogue works on the mean, not on sums that were already updated") {
    run_everywhere(
        {mean_stream("mean", 20, 3, R"({"op":"silu"})"), mean_stream("sum", 1, 2, R"({"op":"silu"})")});
}

TEST_CASE("mean_window: divides by the rows there were, at most by the window") {
    run_everywhere({mean_window(97, 1, 16, 15, 3, 2), mean_window(16, 5, 20, 6, 15, 100),
                    mean_window(1, 2, 8, 3, 0, 0)});
}

TEST_CASE("random: mean_run") {
    Random("mean_run").run([](Random &r) {
        const int rows = r.size(200);
        return mean_run(r.one_of({"mean", "sum", "last", "first"}), r.size(200), rows, r.between(0, rows));
    });
}

TEST_CASE("random: mean_stream") {
    Random("mean_stream").run([](Random &r) {
        return mean_stream(r.one_of({"mean", "sum"}), r.size(200), r.size(20),
                           r.one_of({"", R"({"op":"silu"})"}));
    });
}

} // namespace pooling_test
