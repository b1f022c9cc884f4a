// How long the passes of the streaming check are: as long as they can be, and short for models of
// gigabytes.
#include "tools/cli/check/streaming_check.h"
#include <doctest/doctest.h>

namespace stream_passes_test {

using longwave::cli::passes_of;

TEST_CASE("stream passes: a small model is compared over its whole capacity") {
    const auto passes = passes_of(1 << 20, 320, 16000, 20800, 20);
    CHECK(passes.ticks == 16000);
    CHECK(passes.long_ticks == 20800);
    CHECK(passes.cut_ticks == 8 * 320 + 160);
    CHECK(passes_of(1 << 20, 1, 0, 7, 20).ticks == 100);
}

TEST_CASE("stream passes: a model of a gigabyte is read a few hundred times") {
    const uint64_t gigabyte = uint64_t{1} << 30;
    const auto passes = passes_of(gigabyte, 1, 2048, 64, 20);
    CHECK(passes.ticks == 128);
    CHECK(21 * passes.cut_ticks <= 256);
    CHECK(passes.cut_ticks >= 8);
    CHECK(passes_of(gigabyte, 16, 2048, 64, 20).ticks == 2048); // blocks, not ticks, cost
}

TEST_CASE("stream passes: every lag is exercised, whatever it costs") {
    const auto passes = passes_of(uint64_t{1} << 40, 16, 2048, 1999, 20);
    CHECK(passes.ticks == 1999);
    CHECK(passes.long_ticks == 1999);
    CHECK(passes_of(uint64_t{1} << 40, 16, 2048, 5000, 20).ticks == 2048);
    CHECK(passes_of(uint64_t{1} << 40, 16, 2048, 5000, 20).long_ticks == 5000);
}

} // namespace stream_passes_test
