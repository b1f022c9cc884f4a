#include "compiler/spirv/chain_code.h"
#include <bit>

namespace longwave::spirv {

uint32_t ChainCode::value(spv::Op op, uint32_t type, std::initializer_list<uint32_t> operands) {
    Words words{type, module_.id()};
    words.insert(words.end(), operands.begin(), operands.end());
    write(op, words);
    return words[1];
}

uint32_t ChainCode::divide(uint32_t a, uint32_t by) {
    if (by == 1) return a;
    if (!std::has_single_bit(by)) return number(spv::OpUDiv, {a, module_.constant(by)});
    return number(spv::OpShiftRightLogical, {a, module_.constant(uint32_t(std::countr_zero(by)))});
}

uint32_t ChainCode::modulo(uint32_t a, uint32_t by) {
    if (by == 1) return module_.constant(0);
    if (!std::has_single_bit(by)) return number(spv::OpUMod, {a, module_.constant(by)});
    return number(spv::OpBitwiseAnd, {a, module_.constant(by - 1)});
}

uint32_t ChainCode::triple(uint32_t a, const std::array<uint32_t, 3> &box) {
    const uint32_t zero = module_.constant(0);
    uint32_t x = box[0] == 1 ? zero : a, y = zero, z = zero;
    if (box[1] != 1 || box[2] != 1) {
        const uint32_t rows = divide(a, box[0]);
        x = modulo(a, box[0]);
        y = box[2] == 1 ? rows : modulo(rows, box[1]);
        if (box[2] != 1) z = divide(rows, box[1]);
    }
    return value(spv::OpCompositeConstruct, module_.type_triple(), {x, y, z});
}

void ChainCode::barrier() {
    const uint32_t scope = module_.constant(spv::ScopeWorkgroup),
                   semantics = module_.constant(spv::MemorySemanticsAcquireReleaseMask |
                                                spv::MemorySemanticsUniformMemoryMask |
                                                spv::MemorySemanticsWorkgroupMemoryMask);
    write(spv::OpControlBarrier, {scope, scope, semantics});
}

ChainCode::Loop ChainCode::begin_loop(uint32_t first, uint32_t end_at) {
    Loop made{.counter = module_.id(), .head = module_.id(), .next = module_.id(), .end = module_.id()};
    const uint32_t test = module_.id(), begin = module_.id();
    const uint32_t pointer =
        module_.type(spv::OpTypePointer, {spv::StorageClassFunction, module_.type_uint()});
    put(variables_, spv::OpVariable, {pointer, made.counter, spv::StorageClassFunction});
    write(spv::OpStore, {made.counter, first});
    write(spv::OpBranch, {made.head});
    write(spv::OpLabel, {made.head});
    write(spv::OpLoopMerge, {made.end, made.next, spv::LoopControlDontUnrollMask});
    write(spv::OpBranch, {test});
    write(spv::OpLabel, {test});
    made.now = number(spv::OpLoad, {made.counter});
    const uint32_t goes = truth(spv::OpULessThan, {made.now, module_.constant(end_at)});
    write(spv::OpBranchConditional, {goes, begin, made.end});
    write(spv::OpLabel, {begin});
    return made;
}

void ChainCode::end_loop(const Loop &loop, uint32_t step) {
    write(spv::OpLabel, {loop.next});
    const uint32_t was = number(spv::OpLoad, {loop.counter}),
                   will = number(spv::OpIAdd, {was, module_.constant(step)});
    write(spv::OpStore, {loop.counter, will});
    write(spv::OpBranch, {loop.head});
    write(spv::OpLabel, {loop.end});
}

Words ChainCode::take() {
    Words all = std::move(variables_);
    all.insert(all.end(), body_.begin(), body_.end());
    return all;
}

} // namespace longwave::spirv
