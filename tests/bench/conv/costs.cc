// bench_conv_costs [--target NAME]: measures what the planner's choice rests on and prints
// schedules/long_conv/costs.json. Pins itself to one processor. Rows have 128 channels, as in a model, so
// that a transform of a tile of 16 pays for the stride. All figures are ns an output element (one channel,
// one row), lower quartiles of runs in a loop.
#include "schedules/dyadic.h"
#include "schedules/twiddles.h"
#include "tests/bench/machine.h"
#include "tests/schedules/kernel_call.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace {

using namespace longwave;
using Json = nlohmann::json;

constexpr int channels = 128, tile = 16;

class Meter {
public:
    explicit Meter(const targets::Target &target) : target_(target) {}

    double ns(const std::string &kernel, const std::string &params, int rows, int computed = tile,
              int width = channels) const {
        return of_a_call(kernel, fmt::format(R"("channels":{},{})", width, params), rows) / rows / computed;
    }
    // `rows`: by which the position of a kernel that has one moves on. Throws a text: this is a program for one
    // person at one machine.
    double of_a_call(const std::string &kernel, const std::string &params, int rows = 0) const {
        auto kernels =
            test::load_kernels({fmt::format(R"({{"kernel":"{}","params":{{{}}}}})", kernel, params)}, target_,
                               test::find_kgen());
        if (!kernels) throw std::runtime_error(kernels.status().message());
        test::Kernel &k = kernels->front();
        k.fill_inputs(1);
        k.prepare();
        int *const position = kernel == "long_conv_dyadic" ? &k.scalar("position") : nullptr;
        const int last = position ? k.signature().args[2].high : 0; // u, w, position
        std::vector<double> times;
        auto begin = std::chrono::steady_clock::now();
        for (double spent = 0; spent < 2e8 || times.size() < 5;) {
            k.call_prepared();
            if (position) *position = *position < last ? *position + rows : 0;
            const auto end = std::chrono::steady_clock::now();
            times.push_back(std::chrono::duration<double, std::nano>(end - begin).count());
            spent += times.back();
            begin = end;
        }
        const size_t quarter = times.size() / 4; // below what interruptions add
        std::nth_element(times.begin(), times.begin() + static_cast<ptrdiff_t>(quarter), times.end());
        return times[quarter];
    }

private:
    const targets::Target &target_;
};

double rounded(double ns) { return std::stod(fmt::format("{:.3g}", ns)); }

// By rows of a call: a part that every element pays, and what each tap adds.
Json direct(const Meter &meter) {
    Json table = Json::array();
    for (int rows : {1, 2, 4, 8, 16, 32, 128}) {
        auto at = [&](int taps) {
            return meter.ns(
                "long_conv_direct",
                fmt::format(R"("taps":{},"rows":{},"ring":{})", taps, rows, (taps / rows + 2) * rows), rows,
                channels);
        };
        const double few = at(32), many = at(256), tap = (many - few) / (256 - 32);
        table.push_back({rows, rounded(std::max(few - 32 * tap, 0.01)), rounded(tap)});
    }
    return table;
}

Json transform(const Meter &meter) {
    Json table = Json::array();
    for (int length : {4, 16, 64, 160, 256, 1024, 4096, 16384, 65536})
        table.push_back(
            {length, rounded(meter.ns("long_conv_right_angle",
                                      fmt::format(R"("length":{0},"rows":{0})", length), length))});
    return table;
}

// By the bytes of spectra a block walks over, the kernel's and the signal's: small ones stay in a cache.
Json partitions(const Meter &meter) {
    constexpr int block = 160;
    Json table = Json::array();
    auto at = [&](int count) {
        return meter.ns("long_conv_partitioned", fmt::format(R"("block":{},"partitions":{})", block, count),
                        block);
    };
    const double alone = at(1);
    for (int count : {4, 16, 64, 256, 1024, 4096, 16384})
        table.push_back({2 * 2 * tile * block * 4 * count, rounded((at(count) - alone) / (count - 1))});
    return table;
}

// A call of a whole kernel.
struct Dyadic {
    double ns, steps; // of an output element; its products and additions
    double bytes;     // the sums, and the weights
};

Dyadic dyadic_call(const Meter &meter, int kernel_dim, int taps, int rows, int width) {
    int scales = 1;
    while (kernel_dim << (scales - 1) < taps) scales++;
    const schedules::DyadicPlan plan =
        schedules::dyadic_plan({.kernel_dim = kernel_dim, .scales = scales, .taps = taps}, rows);
    const std::string params = fmt::format(R"("kernel_dim":{},"scales":{},"taps":{},"rows":{},"period":{})",
                                           kernel_dim, scales, taps, rows, plan.period_of(rows));
    const auto steps = static_cast<double>(plan.products() + plan.additions());
    return {meter.ns("long_conv_dyadic", params, rows, width, width), steps,
            4.0 * width * static_cast<double>(plan.slots + plan.products())};
}

// By rows of a call, as direct: what every element pays, and what each product or addition adds. One channel
// has the lanes of a vector to its rows, and 16 one each.
Json dyadic(const Meter &meter, int width) {
    Json table = Json::array();
    for (int rows : {1, 2, 4, 8, 16, 32, 64}) {
        const Dyadic few = dyadic_call(meter, 8, 512, rows, width),
                     many = dyadic_call(meter, 64, 512, rows, width);
        const double step = (many.ns - few.ns) / (many.steps - few.steps);
        table.push_back({rows, rounded(std::max(few.ns - few.steps * step, 0.01)), rounded(step)});
    }
    return table;
}

// One level of a transform with lanes over positions, one way, by its length.
Json lanes_levels(const Meter &meter) {
    Json table = Json::array();
    for (uint32_t length : {16u, 64u, 256u, 1024u, 4096u, 16384u}) {
        const size_t levels = schedules::right_angle_radices(length).size();
        const std::string params = fmt::format(R"("length":{},"first":0,"last":{})", length, levels);
        const double both = meter.of_a_call("long_conv_lanes_forward", params) +
                            meter.of_a_call("long_conv_lanes_inverse", params);
        table.push_back({length, rounded(both / static_cast<double>(2 * levels * length))});
    }
    return table;
}

// By the bytes of sums and weights that all layers walk over: what a step costs more than in a cache.
Json dyadic_memory(const Meter &meter, double near) {
    Json table = Json::array();
    for (const auto &[taps, width] :
         {std::pair{512, 16}, {16384, 16}, {16384, 64}, {16384, 256}, {16384, 1024}}) {
        const Dyadic far = dyadic_call(meter, 64, taps, 16, width);
        table.push_back({rounded(far.bytes), rounded(std::max(far.ns / far.steps - near, 0.0))});
    }
    return table;
}

// As partitions(), with lanes over positions.
Json lanes_partitions(const Meter &meter) {
    constexpr int bins = 1024;
    Json table = Json::array();
    for (int count : {1, 4, 16, 64, 256, 1024, 4096}) {
        const double all =
            meter.of_a_call("long_conv_lanes_product",
                            fmt::format(R"("length":{0},"bins":{0},"partitions":{1})", bins, count));
        table.push_back({2 * 2 * bins * 4 * count, rounded(all / bins / count)});
    }
    return table;
}

// How many times as long an element of one channel takes the others, which then have no lanes.
double one_channel(const Meter &meter) {
    const std::string params = R"("taps":1024,"rows":16,"ring":1056)",
                      blocks = R"("block":64,"partitions":64)";
    const double direct =
        meter.ns("long_conv_direct", params, 16, 1, 1) / meter.ns("long_conv_direct", params, 16, channels);
    return std::min(direct, meter.ns("long_conv_partitioned", blocks, 64, 1, 1) /
                                meter.ns("long_conv_partitioned", blocks, 64));
}

std::string machine() {
    std::ifstream file("/proc/cpuinfo");
    std::string vendor, family, model;
    for (std::string line; std::getline(file, line) && model.empty();) {
        const auto colon = line.find(": ");
        if (line.rfind("vendor_id", 0) == 0) vendor = line.substr(colon + 2);
        if (line.rfind("cpu family", 0) == 0) family = line.substr(colon + 2);
        if (line.rfind("model\t", 0) == 0) model = line.substr(colon + 2);
    }
    return fmt::format("{} family {} model {}", vendor, family, model);
}

} // namespace

int main(int argc, char **argv) {
    const std::string name = argc == 3 && std::string(argv[1]) == "--target" ? argv[2] : "x86-64-v3";
    const targets::Target *target = targets::find(name);
    if ((argc != 1 && argc != 3) || !target || !test::host_runs(*target))
        return fprintf(stderr, "usage: bench_conv_costs [--target NAME], one that this machine runs\n"), 2;
    bench::pin_to_this_processor();
    try {
        const Meter meter(*target);
        fmt::print("{{\n  \"provenance\": \"bench_conv_costs --target {}, {}, one pinned thread, lower "
                   "quartiles of 0.2 s each; one table for all "
                   "levels, so that a stream has the "
                   "same algorithms everywhere\",\n",
                   name, machine());
        fmt::print("  \"direct\": {},\n", direct(meter).dump());
        fmt::print("  \"transform\": {},\n", transform(meter).dump());
        fmt::print("  \"partition\": {},\n", partitions(meter).dump());
        const Json wide = dyadic(meter, tile);
        fmt::print("  \"dyadic\": {},\n", wide.dump());
        fmt::print("  \"dyadic_one_channel\": {},\n", dyadic(meter, 1).dump());
        fmt::print("  \"dyadic_memory\": {},\n", dyadic_memory(meter, wide[4][2]).dump());
        fmt::print("  \"one_channel\": {},\n", rounded(one_channel(meter)));
        fmt::print("  \"lanes_level\": {},\n", lanes_levels(meter).dump());
        fmt::print("  \"lanes_partition\": {}\n}}\n", lanes_partitions(meter).dump());
    } catch (const std::exception &error) {
        return fprintf(stderr, "bench_conv_costs: %s\n", error.what()), 4;
    }
    return 0;
}
