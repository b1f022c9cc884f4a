// Values from outside and values that come out: formats, tokens, numbers that are not finite or too
// large.
#include "longwave/longwave.h"
#include "tests/support/session.h"
#include <cmath>
#include <doctest/doctest.h>

namespace values_test {

using namespace longwave::test;

TEST_CASE("values: 16-bit samples are what their floats are") {
    const Model model(audio_model());
    std::vector<int16_t> x(100);
    std::vector<float> same(100);
    for (size_t i = 0; i < x.size(); ++i) {
        x[i] = static_cast<int16_t>(i * 655 - 32768);
        same[i] = x[i] / 32768.0f;
    }
    Stream stream(model, LW_S16);
    Rows rows;
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
        pull_all(stream, &rows);
    }
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    pull_all(stream, &rows);
    CHECK(rows == stream_in_cuts(model, same, {100}));
}

TEST_CASE("values: those that are not finite count as zero and are counted") {
    const Model model(audio_model());
    std::vector<float> x = noise(64), clean = x;
    const float bad[] = {NAN, INFINITY, -INFINITY, -NAN};
    for (size_t i = 0; i < 4; ++i) x[5 + 9 * i] = bad[i], clean[5 + 9 * i] = 0;
    Stream stream(model);
    Rows rows;
    push_all(stream, x, &rows);
    pull_all(stream, &rows);
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    pull_all(stream, &rows);
    CHECK(rows == stream_in_cuts(model, clean, {64}));
    const lw_stream_stats stats = stats_of(stream);
    CHECK(stats.non_finite == 4);
    CHECK(stats.ticks == 64);
    CHECK(stats.blocks == 16);
}

TEST_CASE("values: one huge finite sample counts as not finite, up to the artifact's limit and no further") {
    for (const float limit : {1e6f, 1e3f, 3e38f}) {
        Draft draft = audio_model();
        draft.plan.sample_limit = limit;
        const Model model(draft);
        std::vector<float> x = noise(64), clean = x;
        const float bad[] = {1e20f, -1e20f, 2.5e6f, limit, -limit, std::nextafter(limit, INFINITY)};
        uint64_t count = 0;
        for (size_t i = 0; i < 6; ++i) {
            const bool beyond = !(std::fabs(bad[i]) <= limit);
            x[5 + 9 * i] = bad[i];
            clean[5 + 9 * i] = beyond ? 0 : bad[i];
            count += beyond;
        }
        Stream stream(model), reference(model);
        Rows rows, expected;
        push_all(stream, x, &rows);
        pull_all(stream, &rows);
        push_all(reference, clean, &expected);
        pull_all(reference, &expected);
        CHECK(rows == expected);
        CHECK(stats_of(stream).non_finite == count);
        CHECK(stats_of(reference).non_finite == 0);
    }
}

TEST_CASE(
    "values: those that are not finite are counted where they come out, and the stream says it is poisoned") {
    Draft draft = audio_model();
    draft.plan.sample_limit = 3e38f;
    const Model model(draft);
    Stream stream(model);
    std::vector<float> x(64);
    // y overflows while they are in the FIR's reach; the sum, a double, still holds it, its rows do
    // not.
    x[8] = x[9] = 3e38f;
    Rows rows;
    push_all(stream, {x.begin(), x.begin() + 8}, &rows);
    pull_all(stream, &rows);
    CHECK(stats_of(stream).poisoned == 0);
    push_all(stream, {x.begin() + 8, x.begin() + 16}, &rows);
    pull_all(stream, &rows);
    CHECK(stats_of(stream).poisoned == 1);
    uint64_t bad = 0;
    for (const auto &[output, values] : rows)
        for (float value : values) bad += !std::isfinite(value);
    CHECK(bad > 0);
    CHECK(stats_of(stream).non_finite_outputs == bad);
    CHECK(stats_of(stream).non_finite == 0);
    push_all(stream, {x.begin() + 16, x.end()}, &rows);
    pull_all(stream, &rows);
    CHECK(std::isfinite(rows[0].back()));  // y has recovered
    CHECK(!std::isfinite(rows[1].back())); // the sums never will
    CHECK(stats_of(stream).poisoned == 1);
    REQUIRE(lw_stream_reset(stream) == LW_OK);
    CHECK(stats_of(stream).poisoned == 0);
    CHECK(stats_of(stream).non_finite_outputs == 0);
    rows.clear();
    push_all(stream, noise(64), &rows);
    pull_all(stream, &rows);
    CHECK(rows[0] == stream_in_cuts(model, noise(64), {64})[0]);
}

TEST_CASE("values: tokens are checked before anything is taken") {
    const Model model(token_model());
    Stream stream(model, LW_I32);
    const int32_t good[] = {0, 4, 2, 3}, too_large[] = {1, 5}, negative[] = {1, -1};
    size_t taken = 9;
    CHECK(lw_stream_push(stream, too_large, 2, &taken) == LW_BAD_TOKEN);
    CHECK(taken == 0);
    CHECK(lw_stream_push(stream, negative, 2, &taken) == LW_BAD_TOKEN);
    CHECK(lw_stream_prefill(stream, negative, 2) == LW_BAD_TOKEN);
    CHECK(save(stream) == save(Stream(model, LW_I32)));
    REQUIRE(lw_stream_push(stream, good, 4, &taken) == LW_OK);
    Rows rows;
    pull_all(stream, &rows);
    CHECK(rows[0] == std::vector<float>{0, 1, 2, 40, 41, 42, 20, 21, 22, 30, 31, 32});
    lw_stream *other = nullptr;
    lw_stream_options floats{sizeof floats, LW_F32, 0};
    CHECK(lw_stream_create(model, &floats, &other) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_create(model, nullptr, &other) == LW_OK); // the default of a token stream is ids
    lw_stream_destroy(other);
}

} // namespace values_test
