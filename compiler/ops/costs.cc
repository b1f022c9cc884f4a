#include "compiler/ops/costs.h"
#include "compiler/ir/op.h"
#include <algorithm>

namespace longwave::compiler::costs {

namespace {

const char text[] =
#include "long_conv_costs.inc"
    ;

} // namespace

const std::vector<const CostTable *> &all_tables() {
    static const std::vector<const CostTable *> all = [] {
        std::vector<const CostTable *> tables;
        for (const ir::OpDef *op : ir::all_ops())
            for (const ir::Algorithm *algorithm : op->algorithms)
                for (const CostTable *table : algorithm->costs)
                    if (std::find(tables.begin(), tables.end(), table) == tables.end())
                        tables.push_back(table);
        return tables;
    }();
    return all;
}

Expected<Tables> parse(std::string_view json) { return Tables::parse(json, all_tables()); }

const Tables &shipped() {
    static const Tables tables = *parse(text);
    return tables;
}

} // namespace longwave::compiler::costs
