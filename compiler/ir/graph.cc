#include "compiler/ir/graph.h"
#include "schedules/contract/kernel.h"
#include <algorithm>

namespace longwave::ir {

using schedules::pad;

// {F, 1} keeps its frequencies innermost: one run of F, like {F}.
static uint32_t run(const Type &type) {
    const auto &dims = type.dims;
    if (dims.empty()) return 1;
    return dims.size() == 2 && dims[1] == 1 ? dims[0] : dims.back();
}

uint32_t Type::row() const { return width() / run(*this) * pad(run(*this)); }

uint32_t Type::physical(uint32_t i) const { return i / run(*this) * pad(run(*this)) + i % run(*this); }

std::vector<float> Type::packed(const Numbers &values) const {
    std::vector<float> result(row(), 0.f);
    for (uint32_t i = 0; i < width(); i++)
        result[physical(i)] = static_cast<float>(values[i % values.size()]);
    return result;
}

size_t Graph::uses(ValueId v) const {
    size_t n = 0;
    for (const Node &node : nodes) n += std::count(node.inputs.begin(), node.inputs.end(), v) > 0;
    for (const GraphOutput &output : outputs) n += output.value == v;
    return n;
}

} // namespace longwave::ir
