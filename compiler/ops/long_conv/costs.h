// What algorithms of a long convolution cost: figures of one machine, ns an output element, from
// schedules/long_conv/tables/costs.json or from a tuning file (compiler/driver/tuning.h). A choice needs their ratios only.
// Each table is read between its points on a logarithmic scale.
#pragma once
#include "formats/base/expected.h"
#include <array>
#include <cstddef>
#include <string_view>
#include <vector>

namespace longwave::compiler::costs {

class Tables {
public:
    // JSON as in costs.json. Fault::input: what is missing, or no table of ascending places and positive
    // figures.
    static Expected<Tables> parse(std::string_view json);

    double direct(double rows, double taps) const; // of a call of so many rows
    double transforms(double length) const;        // one forward and one inverse
    // The same with lanes over phases: of one channel, or of some that are turned before and after.
    double phases(double length, bool turned) const;
    double partition(double bytes) const; // one product of spectra, of so many bytes in all
    // Products and additions of a call of so many rows; bytes: of all that they walk over. one_channel:
    // channels lie apart, each with the lanes of a vector to itself; else 16 lie together.
    double dyadic(double rows, double steps, double bytes, bool one_channel) const;
    // How many times as much the other algorithms cost where there is one channel.
    double one_channel() const { return one_channel_; }
    // The same with lanes over positions, for less than 16 channels.
    double lanes_level(double length) const; // of a transform
    double lanes_partition(double bytes) const;

private:
    // Where, and one or two figures there.
    using Table = std::vector<std::array<double, 3>>;
    static double at(const Table &table, double where, size_t column = 1);

    Table direct_, transform_, partition_, dyadic_, dyadic_one_channel_, dyadic_memory_, lanes_level_,
        lanes_partition_, phases_;
    double one_channel_ = 1;
};

const Tables &shipped();

} // namespace longwave::compiler::costs
