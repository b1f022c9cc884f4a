#include "compiler/ir/costs.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace longwave::compiler::costs {

namespace {

bool is_figure(const nlohmann::json &json) {
    return json.is_number() && json.get<double>() >= 0 && std::isfinite(json.get<double>());
}

bool is_row(const nlohmann::json &json, size_t columns, double after) {
    return json.is_array() && json.size() == columns && std::all_of(json.begin(), json.end(), is_figure) &&
           json[0].get<double>() > after;
}

Expected<std::vector<Row>> read_number(const nlohmann::json &json, const CostTable &table) {
    if (is_figure(json) && json.get<double>() > 0) return std::vector<Row>{{json.get<double>()}};
    return Status::input(fmt::format("costs: expected a positive number as \"{}\"", table.key));
}

Expected<std::vector<Row>> read_rows(const nlohmann::json &json, const CostTable &table) {
    std::vector<Row> rows;
    for (const auto &row : json.is_array() ? json : nlohmann::json::array()) {
        if (!is_row(row, table.columns, rows.empty() ? 0 : rows.back()[0])) {
            rows.clear();
            break;
        }
        rows.push_back(row.get<Row>());
    }
    if (rows.size() >= 2) return rows;
    return Status::input(fmt::format("costs: expected \"{}\" as at least two rows of {} numbers, the first "
                                     "ascending, none negative",
                                     table.key, table.columns));
}

} // namespace

Expected<double> Meter::element(const std::string &kernel, Params params, uint32_t rows, uint32_t computed,
                                uint32_t channels, uint32_t step) const {
    params["channels"] = channels;
    LW_ASSIGN(const double ns, call(kernel, params, step));
    return ns / rows / computed;
}

std::string row_name(const CostTable &table, uint32_t point) {
    return fmt::format("{} {}", table.key, point);
}

double rounded(double ns) { return std::stod(fmt::format("{:.3g}", ns)); }

Expected<Tables> Tables::parse(std::string_view json, std::span<const CostTable *const> tables) {
    const auto parsed = nlohmann::json::parse(json.begin(), json.end(), nullptr, false);
    if (!parsed.is_object()) return Status::input("costs: expected a JSON object");
    Tables read;
    for (const CostTable *table : tables) {
        const nlohmann::json found = parsed.value(table->key, nlohmann::json());
        LW_ASSIGN(read.rows_[table->key],
                  table->columns == 1 ? read_number(found, *table) : read_rows(found, *table));
    }
    return read;
}

double Tables::at(const CostTable &table, double where, size_t column) const {
    const std::vector<Row> &rows = rows_.at(table.key);
    const auto x = [&](size_t i) { return std::log2(rows[i][0]); };
    const double place = std::clamp(std::log2(where), x(0), x(rows.size() - 1));
    size_t i = 1;
    while (i + 1 < rows.size() && place > x(i)) i++;
    return rows[i - 1][column] +
           (rows[i][column] - rows[i - 1][column]) * (place - x(i - 1)) / (x(i) - x(i - 1));
}

double Tables::number(const CostTable &table) const { return rows_.at(table.key)[0][0]; }

} // namespace longwave::compiler::costs
