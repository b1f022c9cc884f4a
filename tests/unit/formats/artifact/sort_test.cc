// The verifier's own sort against the C++ library's.
#include "formats/artifact/sort.h"
#include <algorithm>
#include <doctest/doctest.h>
#include <random>

namespace sort_test {

using namespace longwave;

TEST_CASE("sort: the same order as std::sort, for random, equal, ascending and descending values") {
    std::mt19937_64 random(7);
    for (uint32_t n = 0; n < 300; ++n)
        for (const uint64_t range : {uint64_t{1}, uint64_t{3}, uint64_t{1000}, UINT64_MAX}) {
            std::vector<uint64_t> values(n);
            for (uint64_t &value : values) value = range == UINT64_MAX ? random() : random() % range;
            for (const int order : {0, 1, 2}) {
                if (order == 1) std::sort(values.begin(), values.end());
                if (order == 2) std::sort(values.rbegin(), values.rend());
                std::vector<uint64_t> expected = values, found = values;
                std::sort(expected.begin(), expected.end());
                artifact::sort(found.data(), n);
                REQUIRE(found == expected);
            }
        }
}

} // namespace sort_test
