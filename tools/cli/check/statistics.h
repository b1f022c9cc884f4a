// How sure a measured rate is: 95 % intervals.
#pragma once
#include <cstdint>
#include <utility>

namespace longwave::cli {

// Wilson's interval of a proportion of `hits` in `n`; {0, 1} for n = 0.
std::pair<double, double> proportion_interval(uint64_t hits, uint64_t n);
// The exact (Garwood) interval of the mean of a Poisson count.
std::pair<double, double> count_interval(uint64_t count);

// The exact upper limit of the mean of a Poisson count, one-sided: three for a count of none.
double count_bound(uint64_t count);

} // namespace longwave::cli
