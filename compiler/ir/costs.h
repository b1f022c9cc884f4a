// Measured costs of kernels: the figures that estimates of algorithms rest on. An algorithm names
// its tables in its own file (Algorithm::costs): the key, the points, and how `longwave tune`
// measures a point. The figures come from schedules/long_conv/tables/costs.json, or from a tuning
// file. Units: ns per output element (one channel, one row) on one thread of one machine. The
// planner compares estimates, so it needs ratios only. Beside the tables stand the costs of a
// device.
#pragma once
#include "formats/base/expected.h"
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace longwave::compiler::costs {

inline constexpr uint32_t row_channels =
    128; // channels of a row in a model: a transform pays for this stride
inline constexpr uint32_t tile_channels = 16; // channels that one call of a tiled kernel computes

// Times kernels on this machine.
class Meter {
public:
    using Params = std::map<std::string, int64_t>; // of the kernel's specification
    virtual ~Meter() = default;
    // ns per call: the lower quartile of many calls. `step`: the kernel has a scalar `position`,
    // which grows by `step` from call to call and starts again at 0 after its largest value. 0: it
    // has none.
    virtual Expected<double> call(const std::string &kernel, const Params &params,
                                  uint32_t step = 0) const = 0;
    // ns per output element of a call of `rows` rows that computes `computed` of `channels`
    // channels.
    Expected<double> element(const std::string &kernel, Params params, uint32_t rows,
                             uint32_t computed = tile_channels, uint32_t channels = row_channels,
                             uint32_t step = 0) const;
};

using Row = std::vector<double>;                 // the place, then the figures there; or one figure alone
using MeasuredRows = std::map<std::string, Row>; // by row_name()

struct CostTable {
    const char *key;              // in costs.json
    size_t columns;               // numbers of a row; 1: the table is one positive number
    std::vector<uint32_t> points; // one row each; `measure` says what a point is
    Expected<Row> (*measure)(const Meter &meter, uint32_t point);
    // Changes a measured row once all rows of all tables are known. Null: it stays as measured.
    void (*finish)(Row &row, const MeasuredRows &rows) = nullptr;
};
std::string row_name(const CostTable &table, uint32_t point); // "direct 16"

// Three significant digits, as in costs.json.
double rounded(double ns);

// Costs of a device whose kernels wait for memory: those of a GPU. The ops have no tables of it.
struct DeviceCosts {
    double bytes_per_ns = 0;    // that kernels read and write
    double ns_per_dispatch = 0; // with its barrier
    double busy_workgroups = 0; // of 256 threads that reach bytes_per_ns
};
// Nobody measured these. They describe a common device: 400 GB/s, 5 µs per dispatch.
inline constexpr DeviceCosts assumed_device{
    .bytes_per_ns = 400, .ns_per_dispatch = 5000, .busy_workgroups = 64};

class Tables {
public:
    DeviceCosts device = assumed_device;

    // Reads `tables` from JSON as in costs.json. Fault::input: a table is missing or malformed; the
    // message names its key. Places ascend, and no number is negative.
    static Expected<Tables> parse(std::string_view json, std::span<const CostTable *const> tables);

    // A column of the table at `where`: linear between the points on a logarithmic scale, constant
    // outside.
    double at(const CostTable &table, double where, size_t column = 1) const;
    double number(const CostTable &table) const; // of a table of one number

private:
    std::map<std::string, std::vector<Row>, std::less<>> rows_; // by key
};

} // namespace longwave::compiler::costs
