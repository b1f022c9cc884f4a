#include "compiler/planner/convolution/costs.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace longwave::compiler::costs {

namespace {

const char text[] =
#include "long_conv_costs.inc"
    ;

const nlohmann::json &figures() {
    static const nlohmann::json json = nlohmann::json::parse(text);
    return json;
}

double at(const char *table, double where, size_t column) {
    const auto &rows = figures().at(table);
    auto x = [&](size_t i) { return std::log2(rows[i][0].get<double>()); };
    auto y = [&](size_t i) { return rows[i][column].get<double>(); };
    const double wanted = std::clamp(std::log2(where), x(0), x(rows.size() - 1));
    size_t i = 1;
    while (i + 1 < rows.size() && wanted > x(i)) i++;
    return y(i - 1) + (y(i) - y(i - 1)) * (wanted - x(i - 1)) / (x(i) - x(i - 1));
}

} // namespace

double direct(double rows, double taps) { return at("direct", rows, 1) + taps * at("direct", rows, 2); }
double transforms(double length) { return at("transform", length, 1); }
double partition(double bytes) { return at("partition", bytes, 1); }
double lanes_level(double length) { return at("lanes_level", length, 1); }
double lanes_partition(double bytes) { return at("lanes_partition", bytes, 1); }

double dyadic(double rows, double steps, double bytes, bool one_channel) {
    const char *table = one_channel ? "dyadic_one_channel" : "dyadic";
    return at(table, rows, 1) + steps * (at(table, rows, 2) + at("dyadic_memory", bytes, 1));
}

double one_channel() { return figures().at("one_channel").get<double>(); }

} // namespace longwave::compiler::costs
