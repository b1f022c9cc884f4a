#include "compiler/ops/support/late.h"

namespace longwave::ir {

Expected<uint32_t> reach_whole_ticks(Builder &to, std::vector<ValueId> &inputs, uint32_t ahead) {
    const uint32_t waits = in_whole_ticks(ahead, to.graph().type(inputs[0]).clock);
    if (waits == ahead) return ahead;
    const Constant *weight = to.graph().constant(inputs[1]);
    if (!weight) return Status::input("its weights must be constants to wait for whole ticks");
    std::vector<uint32_t> dims = to.graph().type(inputs[1]).dims; // [out, in, time, frequency]
    const size_t filters = size_t{dims[0]} * dims[1], taps = size_t{dims[2]} * dims[3];
    std::vector<double> longer;
    for (size_t n = 0; n < filters; ++n) {
        const std::vector<double> filter = weight->data.copy(n * taps, taps);
        longer.insert(longer.end(), filter.begin(), filter.end());
        longer.insert(longer.end(), size_t{waits - ahead} * dims[3], 0.0);
    }
    dims[2] += waits - ahead;
    const std::string key = weight->key + ".waits";
    inputs[1] = to.constant(key, dims, std::move(longer));
    return waits;
}

} // namespace longwave::ir
