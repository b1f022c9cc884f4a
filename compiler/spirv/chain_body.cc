#include "compiler/spirv/chain_body.h"
#include <algorithm>
#include <bit>

namespace longwave::spirv {
namespace {

class BodyWriter {
public:
    BodyWriter(const ChainBody &body, ChainCode &code) : body_(body), code_(code) {}

    void write(uint32_t end) {
        bool begun = false;
        size_t returns = 0;
        each_instruction(body_.part.functions, [&](spv::Op op, Operands o) {
            if (op == spv::OpFunction || op == spv::OpFunctionEnd) return;
            expect(op != spv::OpPhi && op != spv::OpFunctionCall && op != spv::OpFunctionParameter,
                   "code of another form");
            if (op == spv::OpLabel && !begun) code_.write(spv::OpBranch, {o[0]});
            begun = true;
            if (op != spv::OpReturn) return rewrite(op, o);
            code_.write(spv::OpBranch, {end});
            ++returns;
        });
        expect(returns == 1, "several ends");
    }

private:
    void rewrite(spv::Op op, Operands o) {
        if (op == spv::OpVariable) {
            expect(o.size() == 3, "a variable with a first value");
            return code_.add_variable(o);
        }
        if (op == spv::OpLoad)
            if (const auto found = body_.part.built_ins.find(o[2]); found != body_.part.built_ins.end())
                return load_input(o, found->second);
        if (op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain) return move_access(op, o);
        if (op == spv::OpStore && body_.exists && elements_.contains(o[0])) return store(o);
        const bool whole =
            (op == spv::OpLoad || op == spv::OpCopyObject) && body_.part.buffers.contains(o[2]);
        expect(!whole, "an access to a whole buffer");
        code_.write(op, o);
    }

    void load_input(Operands o, uint32_t built_in) {
        expect(o[0] == code_.module().type_triple() &&
                   (built_in == spv::BuiltInWorkgroupId || built_in == spv::BuiltInLocalInvocationId),
               "it knows threads or workgroups by another name");
        code_.write(spv::OpCopyObject,
                    {o[0], o[1], built_in == spv::BuiltInWorkgroupId ? body_.group : body_.thread});
    }

    void move_access(spv::Op op, Operands o) {
        Words operands(o.begin(), o.end());
        uint32_t offset = 0;
        if (const auto found = body_.offsets.find(o[2]); found != body_.offsets.end()) {
            expect(o.size() == 5, "an access to something else than an element of a buffer");
            offset = found->second;
            elements_.insert(o[1]);
        } else if (const auto shared = body_.shared.find(o[2]); shared != body_.shared.end()) {
            expect(o.size() == 4, "an access to something else than an element of shared memory");
            operands[2] = shared->second.variable;
            offset = offset_of(shared->second);
        }
        if (offset) operands.back() = code_.number(spv::OpIAdd, {operands.back(), offset});
        code_.write(op, operands);
    }

    // 0: none.
    uint32_t offset_of(const SharedArray &array) {
        const uint32_t first = array.first ? code_.module().constant(array.first) : 0;
        if (body_.slots == 1) return first;
        const uint32_t length = code_.module().constant(array.length),
                       before = code_.number(spv::OpIMul, {body_.slot, length});
        return first ? code_.number(spv::OpIAdd, {before, first}) : before;
    }

    void store(Operands o) {
        const uint32_t yes = code_.module().id(), end = code_.module().id();
        code_.write(spv::OpSelectionMerge, {end, spv::SelectionControlMaskNone});
        code_.write(spv::OpBranchConditional, {body_.exists, yes, end});
        code_.write(spv::OpLabel, {yes});
        code_.write(spv::OpStore, o);
        code_.write(spv::OpBranch, {end});
        code_.write(spv::OpLabel, {end});
    }

    const ChainBody &body_;
    ChainCode &code_;
    std::set<uint32_t> elements_; // pointers to elements of buffers
};

} // namespace

void write_body(const ChainBody &body, uint32_t end, ChainCode &code) { BodyWriter(body, code).write(end); }

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
