#include "tools/kernels/costs.h"
#include "compiler/ops/costs.h"
#include "formats/package/json_text.h"
#include "tools/kernels/kernel_call.h"
#include "tools/kernels/machine.h"
#include <chrono>
#include <cmath>
#include <fmt/format.h>

namespace longwave::kernels {

namespace {

using Json = nlohmann::json;
using compiler::costs::CostTable;
using compiler::costs::Row;

class KernelMeter final : public compiler::costs::Meter {
public:
    explicit KernelMeter(const MeasureOptions &options) : options_(options) {}

    Expected<double> call(const std::string &kernel, const Params &params, uint32_t step) const override {
        const Json spec{{"kernel", kernel}, {"params", params}};
        LW_ASSIGN(auto kernels, load_kernels({spec.dump()}, *options_.target, options_.kgen,
                                             {.structures = options_.structures, .cache = options_.cache}));
        Kernel &k = kernels.front();
        k.fill_inputs(1);
        k.prepare();
        int *const position = step ? &k.scalar("position") : nullptr;
        int last = 0;
        for (const auto &arg : k.signature().args)
            if (arg.name == "position") last = arg.high;
        std::vector<double> times;
        auto begin = std::chrono::steady_clock::now();
        for (double spent = 0; spent < 1e9 * options_.seconds || times.size() < 5;) {
            if (k.call_prepared() != 0) return Status::device(kernel + " failed");
            if (position) *position = *position < last ? *position + static_cast<int>(step) : 0;
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

Json to_json(const Row &row) {
    Json json = Json::array();
    for (const double number : row) {
        const bool whole = number == std::floor(number) && std::abs(number) < 1e15;
        json.push_back(whole ? Json(static_cast<int64_t>(number)) : Json(number));
    }
    return row.size() == 1 ? Json(row[0]) : json;
}

Row to_row(const Json &json) { return json.is_array() ? json.get<Row>() : Row{json.get<double>()}; }

} // namespace

std::vector<std::string> cost_names() {
    std::vector<std::string> names;
    for (const CostTable *table : compiler::costs::all_tables())
        for (const uint32_t point : table->points) names.push_back(row_name(*table, point));
    return names;
}

Expected<Json> measure_cost(const std::string &name, const MeasureOptions &options) {
    for (const CostTable *table : compiler::costs::all_tables())
        for (const uint32_t point : table->points) {
            if (row_name(*table, point) != name) continue;
            LW_ASSIGN(const Row row, table->measure(KernelMeter(options), point));
            return to_json(row);
        }
    return Status::usage(fmt::format("\"{}\" names no row of a cost table", name));
}

nlohmann::ordered_json assemble_costs(const std::map<std::string, Json> &measured) {
    compiler::costs::MeasuredRows rows;
    for (const std::string &name : cost_names()) {
        const auto found = measured.find(name);
        if (found == measured.end()) return {};
        rows[name] = to_row(found->second);
    }
    nlohmann::ordered_json costs = nlohmann::ordered_json::object();
    for (const CostTable *table : compiler::costs::all_tables())
        for (const uint32_t point : table->points) {
            Row row = rows.at(row_name(*table, point));
            if (table->finish) table->finish(row, rows);
            if (table->columns == 1) costs[table->key] = nlohmann::ordered_json(to_json(row));
            else package::list_in(costs, table->key).push_back(nlohmann::ordered_json(to_json(row)));
        }
    return costs;
}

} // namespace longwave::kernels
