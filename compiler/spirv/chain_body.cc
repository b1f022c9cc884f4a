#include "compiler/spirv/chain_body.h"

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

} // namespace longwave::spirv
