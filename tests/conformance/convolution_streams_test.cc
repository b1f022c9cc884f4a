// Streams of a long convolution, from package to rows, against sums in float64: few channels and
// several tiles of them, one entry and several, straight through and with saved and copied states.
// Compiled for this CPU; with every case also for the levels that it does not load, and further shapes
// whose partitions, tiles and entries are of the same kinds.
#include "compiler/driver/compile.h"
#include "tests/kernels/kernel_call.h"
#include "tests/support/convolution_package.h"
#include "tests/support/every_case.h"
#include "tests/support/session.h"
#include "tools/cli/model/artifact_file.h"
#include <cmath>
#include <doctest/doctest.h>
#include <random>

namespace convolution_streams_test {

using namespace longwave;
using namespace longwave::test;

namespace {

struct Shape {
    uint32_t channels, taps;
    std::vector<uint32_t> blocks;
    const char *algorithm;
};

// The model, its taps and some input.
struct Subject {
    Shape shape;
    std::vector<float> kernel, x;
    std::string report;
    std::vector<uint8_t> artifact;
    size_t rows;

    explicit Subject(const Shape &of)
        : shape(of), kernel(noise(size_t{of.channels} * of.taps, 3)),
          x(noise(size_t{of.channels} * (5 * of.taps + 700), 4)), rows(x.size() / of.channels) {
        auto package = convolution_package(of.channels, of.taps, kernel);
        REQUIRE_MESSAGE(package, package.status().message());
        compiler::Options options;
        if (!every_case()) options.targets = {cli::host_target()};
        options.stream = compiler::StreamMode::required;
        options.blocks = of.blocks;
        options.offline = false;
        options.convolution = of.algorithm;
        options.kgen = find_kgen();
        auto compiled = compiler::compile(std::move(*package), options);
        REQUIRE_MESSAGE(compiled, compiled.status().message());
        artifact = std::move(compiled->artifact);
        report = compiled->report;
    }

    // Relative L2 of some rows from `first` on.
    double error(const std::vector<float> &y, size_t first) const {
        double difference = 0, size = 0;
        REQUIRE(y.size() == x.size());
        for (size_t t = first; t < rows; t += 13)
            for (size_t c = 0; c < shape.channels; c += 1 + shape.channels / 3) {
                double sum = 0;
                for (size_t j = 0; j <= t && j < shape.taps; j++)
                    sum += double{kernel[c * shape.taps + j]} * x[(t - j) * shape.channels + c];
                difference += std::pow(sum - y[t * shape.channels + c], 2), size += sum * sum;
            }
        return std::sqrt(difference / size);
    }
};

// What waits goes behind y; rows that were dropped leave zeros.
void pull_rows(lw_stream *stream, uint32_t channels, std::vector<float> &y) {
    std::vector<float> room(size_t{1024} * channels);
    for (;;) {
        lw_stream_rows rows = {};
        rows.struct_size = sizeof rows;
        rows.data = room.data();
        rows.capacity = room.size();
        const lw_status status = lw_stream_pull_rows(stream, &rows);
        if (status != LW_OK) {
            CHECK((status == LW_AGAIN || status == LW_END));
            return;
        }
        y.resize(rows.row * channels);
        y.insert(y.end(), rows.data, rows.data + rows.rows * channels);
    }
}

// From row `at` to the end, in pieces of up to `most`; `between` may put another stream in its
// place.
template <class Between> void go_on(const Subject &s, std::unique_ptr<Stream> &stream, size_t at, size_t most,
                                    std::vector<float> &y, Between between) {
    std::mt19937 random(static_cast<uint32_t>(most));
    while (at < s.rows) {
        size_t taken = 0;
        const size_t n = std::min<size_t>(s.rows - at, 1 + random() % most);
        REQUIRE(lw_stream_push(*stream, &s.x[at * s.shape.channels], n, &taken) == LW_OK);
        REQUIRE(taken == n);
        at += n;
        pull_rows(*stream, s.shape.channels, y);
        between(random, stream);
    }
    REQUIRE(lw_stream_finish(*stream) == LW_OK);
    pull_rows(*stream, s.shape.channels, y);
}

std::vector<float> straight(const Subject &s, const Model &model, uint32_t entry, size_t most) {
    std::vector<float> y;
    auto stream = std::make_unique<Stream>(model, LW_F32, 1024, entry);
    go_on(s, stream, 0, most, y, [](auto &, auto &) {});
    return y;
}

// Again and again its state goes to a stream of any entry, saved or copied, which takes its place.
std::vector<float> walk(const Subject &s, const Model &model, size_t most) {
    std::vector<float> y;
    auto stream = std::make_unique<Stream>(model, LW_F32, 1024, 0);
    go_on(s, stream, 0, most, y, [&](std::mt19937 &random, std::unique_ptr<Stream> &from) {
        if (random() % 3) return;
        auto to = std::make_unique<Stream>(model, LW_F32, 1024, random() % s.shape.blocks.size());
        if (random() % 2) {
            const std::vector<uint8_t> bytes = save(*from);
            REQUIRE(lw_stream_load(*to, bytes.data(), bytes.size()) == LW_OK);
        } else {
            REQUIRE(lw_stream_copy(*to, *from) == LW_OK);
        }
        from = std::move(to);
    });
    return y;
}

void check(const Shape &shape) {
    const Subject s(shape);
    const Model model(s.artifact);
    INFO(shape.channels, " channels, ", shape.taps, " taps, block ", shape.blocks[0]);
    CHECK(lw_model_verify(model, nullptr) == LW_OK);
    std::vector<std::vector<float>> rows;
    for (uint32_t entry = 0; entry < shape.blocks.size(); entry++) {
        rows.push_back(straight(s, model, entry, 300));
        CHECK(s.error(rows.back(), 0) < 1e-6);
        CHECK(straight(s, model, entry, 37) == rows.back()); // however it is cut
    }
    for (const size_t most : {200, 500, 900}) {
        const std::vector<float> y = walk(s, model, most);
        CHECK(s.error(y, 0) < 1e-6);
        if (shape.blocks.size() == 1) CHECK(y == rows[0]);
    }
    const size_t half = s.rows / 2;
    auto stream = std::make_unique<Stream>(model, LW_F32, 1024, 0);
    REQUIRE(lw_stream_prefill(*stream, s.x.data(), half) == LW_OK);
    std::vector<float> y;
    pull_rows(*stream, shape.channels, y);
    go_on(s, stream, half, 200, y, [](auto &, auto &) {});
    CHECK(s.error(y, half) < 1e-6);
}

} // namespace

TEST_CASE(
    "few channels: streams with lanes over positions equal the convolution, whatever the cuts and entries") {
    check({1, 1500, {16, 64}, "nonuniform"});
    check({3, 2500, {32, 64, 128}, "nonuniform"});
    check({2, 900, {64, 32, 256}, ""});
    check({5, 300, {16, 160}, "partitioned"});
    if (every_case()) check({1, 1500, {64}, "nonuniform"});
}

TEST_CASE("blocks of any length: a transform that is longer than the block, of few channels and of many") {
    check({1, 3000, {30, 60}, "nonuniform"});
    check({1, 3000, {441}, ""});
    check({3, 700, {7, 49}, "nonuniform"});
    check({1, 1500, {1}, "nonuniform"});
    check({20, 4000, {63, 441}, "nonuniform"});
    check({17, 1200, {251}, "partitioned"});
    if (!every_case()) return;
    check({2, 2000, {63}, "nonuniform"});
    check({16, 1500, {1, 3}, "nonuniform"});
}

TEST_CASE("entries whose large blocks have no short common multiple share one short state") {
    const Shape shape{1, 6000, {1, 64, 80, 63}, "nonuniform"};
    const Subject s(shape);
    const auto report = nlohmann::json::parse(s.report);
    CHECK(report["state_bytes"] < 4 * 4 * (6000 + 16 * 80 * 20));
    check(shape);
}

TEST_CASE("many channels: pieces of large partitions equal the convolution, whatever the cuts and entries") {
    check({20, 1500, {16, 64}, "nonuniform"});
    if (every_case()) check({40, 3000, {32}, "nonuniform"});
}

TEST_CASE("very short blocks: two levels of large partitions, both of whose products are computed ahead") {
    const Shape shape{16, 8000, {8, 32}, "nonuniform"};
    const auto report = nlohmann::json::parse(Subject(shape).report);
    const auto &figures = report["layers"][0]["algorithms"][0];
    CHECK(figures["middle_length"] > 8);
    CHECK(figures["middle_ahead"] > 1);
    CHECK(figures["tail_ahead"] > 1);
    check(shape);
}

TEST_CASE("few channels and many taps: products of several large blocks are computed together") {
    struct {
        Shape shape;
        int ahead;
    } const cases[] = {{{3, 20000, {64, 16}, "nonuniform"}, 8}, {{1, 36000, {64}, "nonuniform"}, 4}};
    for (const auto &[shape, ahead] : cases) {
        const auto report = nlohmann::json::parse(Subject(shape).report);
        CHECK(report["layers"][0]["algorithms"][0]["tail_ahead"] == ahead);
        check(shape);
    }
}

TEST_CASE("the pieces of large partitions are spread: no block is predicted far above the mean") {
    for (uint32_t channels : {1u, 16u, 2u, 7u, 48u}) {
        if (channels != 1 && channels != 16 && !every_case()) continue; // one lane, and one tile
        const Subject s({channels, 4096, {64}, "nonuniform"});
        const auto report = nlohmann::json::parse(s.report);
        INFO(channels, " channels");
        bool found = false;
        for (const auto &entry : report["entries"]) {
            if (entry["kind"] != "stream") continue;
            found = true;
            CHECK(entry["period"] > 1);
            CHECK(entry["predicted"]["dearest_to_mean"] <= 1.3);
            CHECK_FALSE(entry["predicted"].contains("remark"));
        }
        CHECK(found);
    }
}

} // namespace convolution_streams_test
