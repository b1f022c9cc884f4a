// Streams without end: what remembers for ever (matrix states, sums of exponentials, running means,
// positions) and what remembers a while (rings) must give after millions of rows what float64
// recurrences give, no worse than after a thousand, in the same memory. LONGWAVE_ROWS says how many
// rows; 300,000 without.
#include "tests/conformance/endless/endless_model.h"
#include <cstdlib>
#include <doctest/doctest.h>
#include <fstream>
#include <unistd.h>

namespace endless_test {

using namespace longwave;
using namespace longwave::test;

namespace {

constexpr size_t compared = 512, piece = 10'000; // rows of each window, and of a push
constexpr double limit = 1e-4;
#ifdef __SANITIZE_ADDRESS__
constexpr bool keeps_what_is_freed = true;
#else
constexpr bool keeps_what_is_freed = false;
#endif

struct Window {
    size_t first;
    std::vector<float> y, pool;
    std::vector<double> expected_y, expected_pool;
};

// A thousand rows in, each power of ten, and the end.
std::vector<Window> windows_of(size_t rows) {
    std::vector<Window> windows;
    for (size_t end = 1000; end < rows; end *= 10) windows.push_back({.first = end - compared});
    windows.push_back({.first = rows - compared});
    return windows;
}

template <class Values>
void keep(std::vector<Window> &windows, std::vector<Values> Window::*to, size_t row, const Values *values) {
    for (Window &window : windows)
        if (row >= window.first && row < window.first + compared)
            (window.*to).insert((window.*to).end(), values, values + endless::width);
}

size_t resident_bytes() {
    size_t pages = 0, resident = 0;
    std::ifstream("/proc/self/statm") >> pages >> resident;
    return resident * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

size_t saved_bytes(const cli::Stream &stream) {
    size_t bytes = 0;
    REQUIRE(lw_stream_save(stream.get(), nullptr, 0, &bytes) == LW_OK);
    return bytes;
}

// Both see the same rows: uniform in ±1, made as they go.
void follow(const endless::Model &model, cli::Stream &stream, size_t rows, std::vector<Window> &windows,
            const std::vector<size_t> &outputs) {
    const cli::OnRow out = [&](const cli::StreamRow &row) {
        keep(windows, row.index == outputs[0] ? &Window::y : &Window::pool, row.row, row.data);
    };
    endless::Row pool{};
    size_t resident = 0, saved = saved_bytes(stream);
    for (size_t at = 0; at < rows; at += piece) {
        const size_t n = std::min(piece, rows - at);
        const std::vector<float> x = random_numbers(n * endless::width, static_cast<uint32_t>(at + 1));
        REQUIRE(stream.push(x.data(), n, out));
        for (size_t t = 0; t < n; ++t) {
            endless::Row row;
            std::copy_n(&x[t * endless::width], endless::width, row.begin());
            row = model.step(row);
            for (size_t c = 0; c < endless::width; ++c)
                pool[c] += (row[c] - pool[c]) / static_cast<double>(at + t + 1);
            keep(windows, &Window::expected_y, at + t, row.data());
            keep(windows, &Window::expected_pool, at + t, pool.data());
        }
        if (at == 5 * piece) resident = resident_bytes(); // behind everything's first time
    }
    REQUIRE(stream.finish(out));
    CHECK(saved_bytes(stream) == saved);
    if (!keeps_what_is_freed) CHECK(resident_bytes() <= resident + (size_t{1} << 20));
}

void check(endless::Model model, const std::vector<uint32_t> &blocks, const std::string &convolution = "") {
    const char *given = std::getenv("LONGWAVE_ROWS");
    const size_t rows = given ? static_cast<size_t>(std::atoll(given)) : 300'000;
    compiler::Options options = options_here();
    options.stream = compiler::StreamMode::required;
    options.blocks = blocks;
    options.offline = false;
    options.convolution = convolution;
    const cli::Model compiled_model = opened(compiled(model.json, std::move(model.weights), options));
    auto stream = cli::Stream::create(compiled_model);
    REQUIRE_MESSAGE(stream, stream.status().message());
    std::vector<Window> windows = windows_of(rows);
    follow(model, *stream, rows, windows,
           {static_cast<size_t>(compiled_model.stream_output("y")),
            static_cast<size_t>(compiled_model.stream_output("pool"))});
    double early = 0;
    for (const Window &window : windows) {
        const double y = distance(window.y, window.expected_y),
                     pool = distance(window.pool, window.expected_pool);
        MESSAGE(std::string(model.name) << " " << convolution << ", block " << blocks[0] << ", rows to "
                                        << window.first + compared << ": " << y << ", pooled " << pool);
        CHECK(y <= limit);
        CHECK(pool <= limit);
        // No drift: float32 rounding of a window is what it was near the start, give or take its
        // rows.
        if (window.first < 100'000) early = std::max(early, y);
        else CHECK(y <= 4 * early);
    }
}

} // namespace

TEST_CASE("endless: an SGConv stream, with spectra and with running filters") {
    check(endless::sgconv(), {64});
    check(endless::sgconv(), {64}, "dyadic");
}
TEST_CASE("endless: a CHELA stream") { check(endless::chela(), {64}); }
TEST_CASE("endless: a LightNet stream with cosine positions") { check(endless::lightnet(), {64}); }

} // namespace endless_test
