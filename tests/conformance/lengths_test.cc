// What `length` means on a CPU, for every op that reads other rows.
#include "tests/conformance/length_cases.h"
#include <doctest/doctest.h>

namespace lengths_test {

using namespace longwave::test;

TEST_CASE("length: it ends pooling, and every other op runs on all rows") {
    check_lengths(options_here(), nullptr);
}

} // namespace lengths_test
