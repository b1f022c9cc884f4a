// What algorithms of a long convolution cost: figures of one machine from schedules/long_conv/costs.json, ns
// an output element. A choice needs their ratios only. Each table is read between its points on a logarithmic
// scale.
#pragma once
#include <cstddef>

namespace longwave::compiler::costs {

double direct(double rows, double taps); // of a call of so many rows
double transforms(double length);        // one forward and one inverse
double partition(double bytes);          // one product of spectra, of so many bytes in all
// The same with lanes over positions, for less than 16 channels.
double lanes_level(double length); // of a transform
double lanes_partition(double bytes);

} // namespace longwave::compiler::costs
