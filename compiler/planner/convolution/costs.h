// What algorithms of a long convolution cost: figures of one machine from schedules/long_conv/costs.json, ns
// an output element. A choice needs their ratios only. Each table is read between its points on a logarithmic
// scale.
#pragma once
#include <cstddef>

namespace longwave::compiler::costs {

double direct(double rows, double taps); // of a call of so many rows
double transforms(double length);        // one forward and one inverse
double partition(double bytes);          // one product of spectra, of so many bytes in all
// Products and additions of a call of so many rows; bytes: of all that they walk over. one_channel: channels
// lie apart, each with the lanes of a vector to itself; else 16 lie together.
double dyadic(double rows, double steps, double bytes, bool one_channel);
double one_channel(); // how many times as much the other algorithms cost where there is one channel
// The same with lanes over positions, for less than 16 channels.
double lanes_level(double length); // of a transform
double lanes_partition(double bytes);

} // namespace longwave::compiler::costs
