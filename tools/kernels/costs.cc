#include "tools/kernels/costs.h"
#include "schedules/contract/dyadic_plan.h"
#include "schedules/contract/twiddles.h"
#include "tools/kernels/kernel_call.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <functional>

namespace longwave::kernels {

namespace {

using Json = nlohmann::json;

constexpr int row_channels = 128, tile = 16;

class Meter {
public:
    explicit Meter(const MeasureOptions &options) : options_(options) {}

    // Of an output element.
    Expected<double> ns(const std::string &kernel, const std::string &params, int rows, int computed = tile,
                        int width = row_channels) const {
        LW_ASSIGN(const double call,
                  of_a_call(kernel, fmt::format(R"("channels":{},{})", width, params), rows));
        return call / rows / computed;
    }
    // `rows`: by which the position of a kernel that has one moves on.
    Expected<double> of_a_call(const std::string &kernel, const std::string &params, int rows = 0) const {
        LW_ASSIGN(auto kernels,
                  load_kernels({fmt::format(R"({{"kernel":"{}","params":{{{}}}}})", kernel, params)},
                               *options_.target, options_.kgen,
                               {.structures = options_.structures, .cache = options_.cache}));
        Kernel &k = kernels.front();
        k.fill_inputs(1);
        k.prepare();
        int *const position = kernel == "long_conv_dyadic" ? &k.scalar("position") : nullptr;
        const int last = position ? k.signature().args[2].high : 0; // u, w, position
        std::vector<double> times;
        auto begin = std::chrono::steady_clock::now();
        for (double spent = 0; spent < 1e9 * options_.seconds || times.size() < 5;) {
            if (k.call_prepared() != 0) return Status::device(kernel + " failed");
            if (position) *position = *position < last ? *position + rows : 0;
            const auto end = std::chrono::steady_clock::now();
            times.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
            spent += times.back();
            begin = end;
        }
        return lower_quartile(std::move(times));
    }

private:
    const MeasureOptions &options_;
};

double rounded(double ns) { return std::stod(fmt::format("{:.3g}", ns)); }

// By rows of a call: a part that every element pays, and what each tap adds.
Expected<Json> direct(const Meter &meter, int rows) {
    auto at = [&](int taps) {
        return meter.ns("long_conv_direct",
                        fmt::format(R"("taps":{},"rows":{},"ring":{})", taps, rows, (taps / rows + 2) * rows),
                        rows, row_channels);
    };
    LW_ASSIGN(const double few, at(32));
    LW_ASSIGN(const double many, at(256));
    const double tap = std::max((many - few) / (256 - 32), 1e-4);
    return Json{rows, rounded(std::max(few - 32 * tap, 0.01)), rounded(tap)};
}

Expected<Json> transform(const Meter &meter, int length) {
    LW_ASSIGN(const double ns,
              meter.ns("long_conv_right_angle", fmt::format(R"("length":{0},"rows":{0})", length), length));
    return Json{length, rounded(ns)};
}

// By the bytes of spectra a block walks over, the kernel's and the signal's: small ones stay in a cache.
Expected<Json> partitions(const Meter &meter, int count) {
    constexpr int block = 160;
    auto at = [&](int n) {
        return meter.ns("long_conv_partitioned", fmt::format(R"("block":{},"partitions":{})", block, n),
                        block);
    };
    LW_ASSIGN(const double alone, at(1));
    LW_ASSIGN(const double all, at(count));
    return Json{2 * 2 * tile * block * 4 * count, rounded(std::max((all - alone) / (count - 1), 1e-3))};
}

// A call of a whole kernel.
struct Dyadic {
    double ns, steps; // of an output element; its products and additions
    double bytes;     // the sums, and the weights
};

Expected<Dyadic> dyadic_call(const Meter &meter, int kernel_dim, int taps, int rows, int width) {
    int scales = 1;
    while (kernel_dim << (scales - 1) < taps) scales++;
    const schedules::DyadicPlan plan =
        schedules::dyadic_plan({.kernel_dim = kernel_dim, .scales = scales, .taps = taps}, rows);
    const std::string params = fmt::format(R"("kernel_dim":{},"scales":{},"taps":{},"rows":{},"period":{})",
                                           kernel_dim, scales, taps, rows, plan.period_of(rows));
    LW_ASSIGN(const double ns, meter.ns("long_conv_dyadic", params, rows, width, width));
    return Dyadic{ns, static_cast<double>(plan.products() + plan.additions()),
                  4.0 * width * static_cast<double>(plan.slots + plan.products())};
}

// By rows of a call, as direct: what every element pays, and what each product or addition adds. One channel
// has the lanes of a vector to its rows, and 16 one each.
Expected<Json> dyadic(const Meter &meter, int rows, int width) {
    LW_ASSIGN(const Dyadic few, dyadic_call(meter, 8, 512, rows, width));
    LW_ASSIGN(const Dyadic many, dyadic_call(meter, 64, 512, rows, width));
    const double step = std::max((many.ns - few.ns) / (many.steps - few.steps), 1e-4);
    return Json{rows, rounded(std::max(few.ns - few.steps * step, 0.01)), rounded(step)};
}

// By the bytes of sums and weights that all layers walk over: what a step takes. assemble_costs() takes off
// what it takes in a cache.
Expected<Json> dyadic_memory(const Meter &meter, int number) {
    constexpr struct {
        int taps, width;
    } sizes[] = {{512, 16}, {16384, 16}, {16384, 64}, {16384, 256}, {16384, 1024}};
    LW_ASSIGN(const Dyadic far, dyadic_call(meter, 64, sizes[number].taps, 16, sizes[number].width));
    return Json{rounded(far.bytes), far.ns / far.steps};
}

// One level of a transform with lanes over positions, one way, by its length.
Expected<Json> lanes_level(const Meter &meter, int length) {
    const size_t levels = schedules::right_angle_radices(static_cast<uint32_t>(length)).size();
    const std::string params = fmt::format(R"("length":{},"first":0,"last":{})", length, levels);
    LW_ASSIGN(const double there, meter.of_a_call("long_conv_lanes_forward", params));
    LW_ASSIGN(const double back, meter.of_a_call("long_conv_lanes_inverse", params));
    return Json{length, rounded((there + back) / static_cast<double>(2 * levels) / length)};
}

// As partitions(), with lanes over positions.
Expected<Json> lanes_partition(const Meter &meter, int count) {
    constexpr int bins = 1024;
    LW_ASSIGN(const double all,
              meter.of_a_call("long_conv_lanes_product",
                              fmt::format(R"("length":{0},"bins":{0},"partitions":{1})", bins, count)));
    return Json{2 * 2 * bins * 4 * count, rounded(all / bins / count)};
}

// By length, of one channel and of sixteen.
Expected<Json> phases(const Meter &meter, int length) {
    const std::string params = fmt::format(R"("length":{0},"rows":{0})", length);
    LW_ASSIGN(const double one, meter.ns("long_conv_polyphase", params, length, 1, 1));
    LW_ASSIGN(const double tile_ns, meter.ns("long_conv_polyphase", params, length));
    return Json{length, rounded(one), rounded(tile_ns)};
}

// How many times as long an element of one channel takes the others, which then have no lanes.
Expected<Json> one_channel(const Meter &meter, int) {
    const std::string taps = R"("taps":1024,"rows":16,"ring":1056)", blocks = R"("block":64,"partitions":64)";
    LW_ASSIGN(const double direct_one, meter.ns("long_conv_direct", taps, 16, 1, 1));
    LW_ASSIGN(const double direct_all, meter.ns("long_conv_direct", taps, 16, row_channels));
    LW_ASSIGN(const double blocks_one, meter.ns("long_conv_partitioned", blocks, 64, 1, 1));
    LW_ASSIGN(const double blocks_all, meter.ns("long_conv_partitioned", blocks, 64));
    return Json(rounded(std::min(direct_one / direct_all, blocks_one / blocks_all)));
}

struct CostTable {
    const char *name;
    std::vector<int> rows;
    std::function<Expected<Json>(const Meter &meter, int row)> measure;
};

const std::vector<CostTable> &tables() {
    static const std::vector<CostTable> all = {
        {"direct", {1, 2, 4, 8, 16, 32, 128}, direct},
        {"transform", {4, 16, 64, 160, 256, 1024, 4096, 16384, 65536, 262144, 1048576}, transform},
        {"partition", {4, 16, 64, 256, 1024, 4096, 16384}, partitions},
        {"dyadic", {1, 2, 4, 8, 16, 32, 64}, [](const Meter &m, int rows) { return dyadic(m, rows, tile); }},
        {"dyadic_one_channel",
         {1, 2, 4, 8, 16, 32, 64},
         [](const Meter &m, int rows) { return dyadic(m, rows, 1); }},
        {"dyadic_memory", {0, 1, 2, 3, 4}, dyadic_memory},
        {"one_channel", {1}, one_channel},
        {"lanes_level", {16, 64, 256, 1024, 4096, 16384}, lanes_level},
        {"phases", {256, 1024, 4096, 16384, 65536, 262144, 1048576}, phases},
        {"lanes_partition", {1, 4, 16, 64, 256, 1024, 4096}, lanes_partition},
    };
    return all;
}

std::string row_name(const CostTable &table, int row) { return fmt::format("{} {}", table.name, row); }

} // namespace

std::vector<std::string> cost_names() {
    std::vector<std::string> names;
    for (const CostTable &table : tables())
        for (int row : table.rows) names.push_back(row_name(table, row));
    return names;
}

Expected<Json> measure_cost(const std::string &name, const MeasureOptions &options) {
    for (const CostTable &table : tables())
        for (int row : table.rows)
            if (row_name(table, row) == name) return table.measure(Meter(options), row);
    return Status::usage(fmt::format("\"{}\" names no row of a cost table", name));
}

nlohmann::ordered_json assemble_costs(const std::map<std::string, Json> &measured) {
    nlohmann::ordered_json costs;
    for (const std::string &name : cost_names())
        if (!measured.count(name)) return {};
    const double near = measured.at("dyadic 16").at(2).get<double>();
    for (const CostTable &table : tables()) {
        nlohmann::ordered_json &rows = costs[table.name];
        for (int row : table.rows) {
            Json numbers = measured.at(row_name(table, row));
            if (std::string_view(table.name) == "dyadic_memory")
                numbers.at(1) = rounded(std::max(numbers.at(1).get<double>() - near, 0.0));
            const nlohmann::ordered_json row_of(numbers);
            if (row_of.is_array()) rows.push_back(row_of);
            else rows = row_of;
        }
    }
    return costs;
}

} // namespace longwave::kernels
