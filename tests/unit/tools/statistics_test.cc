#include "tools/cli/check/statistics.h"
#include <doctest/doctest.h>

namespace statistics_test {

using namespace longwave;

TEST_CASE("intervals: known values") {
    const auto [low, high] = cli::proportion_interval(540, 578);
    CHECK(low == doctest::Approx(0.9110).epsilon(0.001));
    CHECK(high == doctest::Approx(0.9517).epsilon(0.001));
    CHECK(cli::proportion_interval(0, 10).first == doctest::Approx(0));
    CHECK(cli::proportion_interval(0, 10).second == doctest::Approx(0.2775).epsilon(0.001));
    CHECK(cli::count_interval(0).first == 0);
    CHECK(cli::count_interval(0).second == doctest::Approx(3.6889).epsilon(0.0001));
    CHECK(cli::count_interval(3).first == doctest::Approx(0.6187).epsilon(0.001));
    CHECK(cli::count_interval(3).second == doctest::Approx(8.7673).epsilon(0.0001));
    CHECK(cli::count_bound(0) == doctest::Approx(2.9957).epsilon(0.0001)); // -ln 0.05
    CHECK(cli::count_bound(1) == doctest::Approx(4.7439).epsilon(0.0001));
}

} // namespace statistics_test
