// What a test compared with an expected value. A helper may leave out what a device has no code for, and
// a test of nothing passes. So ctest says how many comparisons there must be: LONGWAVE_COMPARED=N in the
// environment of a doctest program (tests/doctest_main.cc), or N/M: M with every case
// (tests/support/every_case.h).
#pragma once
#include <cstddef>
#include <string>

namespace longwave::test {

// Notes that `name` was compared; a name counts once, however many processors or inputs it had.
void compared(const std::string &name);
// How many names there were.
size_t names_compared();

} // namespace longwave::test
