// lw_stream_pull_rows: several rows of one output in one call.
#include "longwave/longwave.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>

namespace pull_rows_test {

using namespace longwave::test;

TEST_CASE("pull_rows: takes the rows of one output that follow each other, as pull would have brought them") {
    const Model model(audio_model());
    const std::vector<float> x = noise(203);
    const Rows expected = stream_in_cuts(model, x, {x.size()});
    for (size_t room : {3, 4, 7, 16, 1000}) {
        Stream stream(model, LW_F32, 11); // rows wrap in the queue
        std::vector<float> values(room);
        Rows rows;
        const auto pull = [&] {
            lw_status status = LW_OK;
            for (;;) {
                lw_stream_rows out{};
                out.struct_size = sizeof out;
                out.data = values.data();
                out.capacity = values.size();
                status = lw_stream_pull_rows(stream, &out);
                if (status != LW_OK) break;
                std::vector<float> &all = rows[out.index];
                CHECK(out.rows >= 1);
                CHECK(out.rows * out.width <= room);
                CHECK(out.row * out.width == all.size());
                const uint64_t each = out.index == 0 ? 1 : 8; // ticks of a row
                CHECK(out.end == (out.row + out.rows) * each);
                all.insert(all.end(), out.data, out.data + out.rows * out.width);
            }
            CHECK((status == LW_AGAIN || status == LW_END));
        };
        for (size_t done = 0; done < x.size();) {
            size_t taken = 0;
            REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
            done += taken;
            pull();
        }
        REQUIRE(lw_stream_finish(stream) == LW_OK);
        pull();
        CHECK(rows == expected);
    }
}

TEST_CASE("pull_rows: a block's rows of one output come in one call") {
    const Model model(audio_model());
    Stream stream(model);
    const std::vector<float> x = noise(8);
    REQUIRE(lw_stream_push(stream, x.data(), x.size(), nullptr) == LW_OK);
    float values[64];
    lw_stream_rows out{};
    out.struct_size = sizeof out;
    out.data = values;
    out.capacity = 64;
    REQUIRE(lw_stream_pull_rows(stream, &out) == LW_OK);
    CHECK(out.index == 0);
    CHECK(out.rows == 8);
    REQUIRE(lw_stream_pull_rows(stream, &out) == LW_OK);
    CHECK(out.index == 1);
    CHECK(out.width == 3);
    CHECK(out.rows == 1);
    CHECK(lw_stream_pull_rows(stream, &out) == LW_AGAIN);
}

TEST_CASE("pull_rows: without room for a row nothing is taken") {
    const Model model(audio_model());
    Stream stream(model);
    const std::vector<float> x = noise(8);
    REQUIRE(lw_stream_push(stream, x.data(), x.size(), nullptr) == LW_OK);
    float value = 0;
    lw_stream_rows out{};
    CHECK(lw_stream_pull_rows(stream, &out) == LW_INVALID_ARGUMENT);
    out.struct_size = sizeof out;
    CHECK(lw_stream_pull_rows(stream, &out) == LW_INVALID_ARGUMENT);
    out.data = &value;
    CHECK(lw_stream_pull_rows(stream, &out) == LW_TOO_SMALL);
    CHECK(lw_stream_pull_rows(nullptr, &out) == LW_INVALID_ARGUMENT);
    Rows rows;
    pull_all(stream, &rows);
    CHECK(rows[0].size() == 8);
}

} // namespace pull_rows_test
