#include "compiler/spirv/chain_shared.h"
#include <algorithm>

namespace longwave::spirv {

std::map<uint32_t, SharedArray> ChainShared::place(const Module &part, uint32_t slots, ChainModule &chain) {
    struct Array {
        uint32_t element = 0, length = 0;
    };
    std::map<uint32_t, Array> arrays; // by type
    std::map<uint32_t, uint32_t> constants, pointees, taken;
    std::map<uint32_t, SharedArray> placed;
    each_instruction(part.declarations, [&](spv::Op op, Operands o) {
        if (op == spv::OpTypeInt || op == spv::OpTypeFloat) bytes_[o[0]] = o[1] / 8;
        if (op == spv::OpTypeBool) bytes_[o[0]] = 4;
        if (op == spv::OpTypeVector) bytes_[o[0]] = o[2] * bytes_[o[1]];
        if (op == spv::OpConstant) constants[o[1]] = o[2];
        if (op == spv::OpTypeArray) arrays[o[0]] = {o[1], constants[o[2]]};
        if (op == spv::OpTypePointer) pointees[o[0]] = o[2];
        if (op != spv::OpVariable || o[2] != spv::StorageClassWorkgroup) return;
        const auto found = arrays.find(pointees[o[0]]);
        expect(found != arrays.end(), "shared memory that is not an array");
        const auto [element, length] = found->second;
        Pool &pool = pools_[element];
        if (!pool.variable) pool.variable = chain.id();
        placed[o[1]] = {pool.variable, taken[element], length};
        taken[element] += length * slots;
        pool.length = std::max(pool.length, taken[element]);
    });
    return placed;
}

uint32_t ChainShared::declare(ChainModule &chain) const {
    uint32_t bytes = 0;
    for (const auto &[element, pool] : pools_) {
        const uint32_t length = chain.constant(pool.length), array = chain.id();
        chain.declare(spv::OpTypeArray, {array, element, length});
        const uint32_t pointer = chain.type(spv::OpTypePointer, {spv::StorageClassWorkgroup, array});
        chain.declare(spv::OpVariable, {pointer, pool.variable, spv::StorageClassWorkgroup});
        bytes += pool.length * bytes_.at(element);
    }
    return bytes;
}

} // namespace longwave::spirv
