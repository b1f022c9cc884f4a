#include "compiler/ops/long_conv/costs.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::compiler::costs {

namespace {

const char text[] =
#include "long_conv_costs.inc"
    ;

// Rows of so many numbers, the first of them ascending; a figure may be 0 where something costs nothing.
Status read_table(const nlohmann::json &json, const char *name, size_t columns,
                  std::vector<std::array<double, 3>> &to) {
    const auto bad = [&] {
        return Status::input(fmt::format("costs: \"{}\" is no list of at least two rows of {} numbers, the "
                                         "first ascending, none negative",
                                         name, columns));
    };
    const auto found = json.find(name);
    if (found == json.end() || !found->is_array() || found->size() < 2) return bad();
    for (const auto &row : *found) {
        if (!row.is_array() || row.size() != columns) return bad();
        std::array<double, 3> numbers = {};
        for (size_t i = 0; i < columns; i++) {
            if (!row[i].is_number()) return bad();
            numbers[i] = row[i].get<double>();
            if (!(numbers[i] >= 0) || !std::isfinite(numbers[i])) return bad();
        }
        if (numbers[0] <= (to.empty() ? 0 : to.back()[0])) return bad();
        to.push_back(numbers);
    }
    return Status::ok();
}

} // namespace

Expected<Tables> Tables::parse(std::string_view json) {
    const auto parsed = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
    if (!parsed.is_object()) return Status::input("costs: no JSON object");
    Tables tables;
    LW_TRY(read_table(parsed, "direct", 3, tables.direct_));
    LW_TRY(read_table(parsed, "transform", 2, tables.transform_));
    LW_TRY(read_table(parsed, "partition", 2, tables.partition_));
    LW_TRY(read_table(parsed, "dyadic", 3, tables.dyadic_));
    LW_TRY(read_table(parsed, "dyadic_one_channel", 3, tables.dyadic_one_channel_));
    LW_TRY(read_table(parsed, "dyadic_memory", 2, tables.dyadic_memory_));
    LW_TRY(read_table(parsed, "lanes_level", 2, tables.lanes_level_));
    LW_TRY(read_table(parsed, "lanes_partition", 2, tables.lanes_partition_));
    LW_TRY(read_table(parsed, "phases", 3, tables.phases_));
    const auto one = parsed.find("one_channel");
    if (one == parsed.end() || !one->is_number() || !(one->get<double>() > 0))
        return Status::input("costs: \"one_channel\" is no positive number");
    tables.one_channel_ = one->get<double>();
    return tables;
}

double Tables::at(const Table &table, double where, size_t column) {
    auto x = [&](size_t i) { return std::log2(table[i][0]); };
    const double wanted = std::clamp(std::log2(where), x(0), x(table.size() - 1));
    size_t i = 1;
    while (i + 1 < table.size() && wanted > x(i)) i++;
    return table[i - 1][column] +
           (table[i][column] - table[i - 1][column]) * (wanted - x(i - 1)) / (x(i) - x(i - 1));
}

double Tables::direct(double rows, double taps) const {
    return at(direct_, rows) + taps * at(direct_, rows, 2);
}
double Tables::transforms(double length) const { return at(transform_, length); }
double Tables::partition(double bytes) const { return at(partition_, bytes); }
double Tables::phases(double length, bool turned) const { return at(phases_, length, turned ? 2 : 1); }
double Tables::lanes_level(double length) const { return at(lanes_level_, length); }
double Tables::lanes_partition(double bytes) const { return at(lanes_partition_, bytes); }

double Tables::dyadic(double rows, double steps, double bytes, bool one_channel) const {
    const Table &table = one_channel ? dyadic_one_channel_ : dyadic_;
    return at(table, rows) + steps * (at(table, rows, 2) + at(dyadic_memory_, bytes));
}

const Tables &shipped() {
    static const Tables tables = *Tables::parse(text);
    return tables;
}

} // namespace longwave::compiler::costs
