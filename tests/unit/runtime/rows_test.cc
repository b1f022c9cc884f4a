// The arithmetic of rows against 128-bit integers, which 32-bit machines lack.
#include "runtime/core/rows.h"
#include <doctest/doctest.h>
#include <random>

namespace rows_test {

using namespace longwave;
using runtime::Rows;
using Wide = unsigned __int128;

namespace {

Rows rows_of(uint64_t num, uint64_t den, uint64_t delay) {
    flatbuffers::FlatBufferBuilder builder;
    fb::OutputPortBuilder port(builder);
    port.add_rows(1);
    port.add_clock_num(static_cast<uint32_t>(num));
    port.add_clock_den(static_cast<uint32_t>(den));
    port.add_delay(static_cast<uint32_t>(delay));
    builder.Finish(port.Finish());
    return {*flatbuffers::GetRoot<fb::OutputPort>(builder.GetBufferPointer()), 1};
}

} // namespace

TEST_CASE("rows: scaled equals 128-bit arithmetic up to the largest numbers") {
    std::mt19937_64 random(11);
    const uint64_t most = UINT32_MAX;
    for (int i = 0; i < 100000; ++i) {
        const auto number = [&] {
            return i % 3 == 0 ? most - random() % 3
                              : 1 + random() % (uint64_t{1} << (1 + random() % 32)) % most;
        };
        const uint64_t num = number(), den = number(), ticks = random() >> random() % 64;
        const uint64_t add = i % 2 == 0 ? den - 1 : 0;
        const Wide exact = (Wide{ticks} * num + add) / den;
        if (exact >> 64 == 0) REQUIRE(Rows::scaled(ticks, num, den, add) == static_cast<uint64_t>(exact));
    }
}

TEST_CASE("rows: countable is false exactly where rows need more than 62 bits") {
    for (const uint64_t num : {uint64_t{1}, uint64_t{3}, uint64_t{160}, uint64_t{UINT32_MAX}})
        for (const uint64_t den : {uint64_t{1}, uint64_t{7}, uint64_t{160}, uint64_t{UINT32_MAX}}) {
            const Rows rows = rows_of(num, den, 5);
            const Wide limit = (Wide{1} << 62) * den; // ticks·num at which the rows no longer fit
            const Wide first = (limit + num - 1) / num;
            for (const uint64_t ticks : {uint64_t{0}, uint64_t{1} << 40, uint64_t{1} << 62, UINT64_MAX})
                CHECK(rows.countable(ticks) == (Wide{ticks} < first));
            if (first >> 64 == 0) {
                CHECK(!rows.countable(static_cast<uint64_t>(first)));
                CHECK(rows.countable(static_cast<uint64_t>(first) - 1));
            }
            const uint64_t row = uint64_t{1} << 29;
            CHECK(Wide{rows.end(row)} == (Wide{row + 1} * den + num - 1) / num + 5);
        }
}

} // namespace rows_test
