#include "schedules/gpu/assemble.h"
#include "formats/spirv/module.h"
#include <algorithm>
#include <spirv/unified1/GLSL.std.450.h>

namespace longwave::gpu {

namespace {

using spirv::put, spirv::Words;

constexpr uint32_t version = 0x00010000;

struct Code {
    spv::Op op = spv::OpNop;
    uint32_t extended = 0; // GLSL.std.450, where op is OpExtInst
};

Code code_of(Op op) {
    switch (op) {
    case Op::add_f32: return {spv::OpFAdd};
    case Op::subtract_f32: return {spv::OpFSub};
    case Op::multiply_f32: return {spv::OpFMul};
    case Op::divide_f32: return {spv::OpFDiv};
    case Op::negate: return {spv::OpFNegate};
    case Op::fma: return {spv::OpExtInst, GLSLstd450Fma};
    case Op::min: return {spv::OpExtInst, GLSLstd450FMin};
    case Op::max: return {spv::OpExtInst, GLSLstd450FMax};
    case Op::abs: return {spv::OpExtInst, GLSLstd450FAbs};
    case Op::sqrt: return {spv::OpExtInst, GLSLstd450Sqrt};
    case Op::exp: return {spv::OpExtInst, GLSLstd450Exp};
    case Op::log: return {spv::OpExtInst, GLSLstd450Log};
    case Op::trunc: return {spv::OpExtInst, GLSLstd450Trunc};
    case Op::add: return {spv::OpIAdd};
    case Op::subtract: return {spv::OpISub};
    case Op::multiply: return {spv::OpIMul};
    case Op::modulo: return {spv::OpUMod};
    case Op::bit_and: return {spv::OpBitwiseAnd};
    case Op::bit_or: return {spv::OpBitwiseOr};
    case Op::bit_xor: return {spv::OpBitwiseXor};
    case Op::shift_left: return {spv::OpShiftLeftLogical};
    case Op::shift_right: return {spv::OpShiftRightLogical};
    case Op::f32_to_bits:
    case Op::bits_to_f32: return {spv::OpBitcast};
    case Op::s32_to_f32: return {spv::OpConvertSToF};
    case Op::f32_to_s32: return {spv::OpConvertFToS};
    case Op::less: return {spv::OpULessThan};
    case Op::less_f32: return {spv::OpFOrdLessThan};
    case Op::less_equal_f32: return {spv::OpFOrdLessThanEqual};
    case Op::equal_f32: return {spv::OpFOrdEqual};
    case Op::bool_and: return {spv::OpLogicalAnd};
    case Op::bool_or: return {spv::OpLogicalOr};
    case Op::bool_not: return {spv::OpLogicalNot};
    case Op::select: return {spv::OpSelect};
    default: break;
    }
    throw spirv::Fault("an instruction without a code");
}

class Assembler {
public:
    explicit Assembler(const Program &program) : program_(program), ids_(program.value_count(), 0) {}

    Words run() {
        module_.header = {spirv_magic, version, 0, 1, 0};
        declare();
        write_function();
        write_preamble();
        return module_.assemble();
    }

private:
    uint32_t id() { return module_.new_id(); }
    void declare(spv::Op op, std::initializer_list<uint32_t> operands) {
        put(module_.declarations, op, operands);
    }
    void decorate(std::initializer_list<uint32_t> operands) {
        put(module_.annotations, spv::OpDecorate, operands);
    }
    void code(spv::Op op, std::initializer_list<uint32_t> operands) { put(module_.functions, op, operands); }
    uint32_t type_id(Type type) const {
        return type == Type::f32 ? float_ : type == Type::u32 ? uint_ : bool_;
    }
    uint32_t element_of(uint32_t width) const { return width == 4 ? four_ : float_; }
    uint32_t element_of(const Buffer &buffer) const {
        return buffer.type == Type::u32 ? pair_ : element_of(buffer.width);
    }
    uint32_t word(uint32_t value) {
        const uint32_t made = id();
        declare(spv::OpConstant, {uint_, made, value});
        return made;
    }

    void declare() {
        extended_ = id(), main_ = id(), float_ = id(), uint_ = id(), bool_ = id(), triple_ = id(),
        four_ = id();
        void_ = id(), signature_ = id();
        declare(spv::OpTypeVoid, {void_});
        declare(spv::OpTypeFunction, {signature_, void_});
        declare(spv::OpTypeFloat, {float_, 32});
        declare(spv::OpTypeInt, {uint_, 32, 0});
        declare(spv::OpTypeBool, {bool_});
        declare(spv::OpTypeVector, {triple_, uint_, 3});
        declare(spv::OpTypeVector, {four_, float_, 4});
        zero_ = word(0);
        workgroup_ = word(spv::ScopeWorkgroup);
        semantics_ = word(spv::MemorySemanticsAcquireReleaseMask | spv::MemorySemanticsWorkgroupMemoryMask);
        declare_pairs();
        declare_inputs();
        for (const Buffer &buffer : program_.buffers()) declare_buffer(buffer);
        if (program_.shared_floats()) declare_shared();
        if (!program_.registers().empty()) declare_registers();
        for (uint32_t value = 1; value < program_.value_count(); value++)
            if (program_.value(value).constant) declare_constant(value);
    }

    void declare_pairs() {
        const auto of_words = [](const Buffer &buffer) { return buffer.type == Type::u32; };
        if (std::ranges::none_of(program_.buffers(), of_words)) return;
        pair_ = id();
        declare(spv::OpTypeVector, {pair_, uint_, 2});
    }

    void declare_inputs() {
        const uint32_t pointer = id();
        thread_ = id(), group_ = id();
        declare(spv::OpTypePointer, {pointer, spv::StorageClassInput, triple_});
        declare(spv::OpVariable, {pointer, thread_, spv::StorageClassInput});
        declare(spv::OpVariable, {pointer, group_, spv::StorageClassInput});
        decorate({thread_, spv::DecorationBuiltIn, spv::BuiltInLocalInvocationId});
        decorate({group_, spv::DecorationBuiltIn, spv::BuiltInWorkgroupId});
    }

    // Each buffer has types of its own: a rewrite may change the elements of one.
    void declare_buffer(const Buffer &buffer) {
        const uint32_t array = id(), block = id(), pointer = id(), variable = id(), element = id();
        const uint32_t of = element_of(buffer);
        declare(spv::OpTypeRuntimeArray, {array, of});
        declare(spv::OpTypeStruct, {block, array});
        declare(spv::OpTypePointer, {pointer, spv::StorageClassUniform, block});
        if (!pointers_[of])
            declare(spv::OpTypePointer, {pointers_[of] = element, spv::StorageClassUniform, of});
        declare(spv::OpVariable, {pointer, variable, spv::StorageClassUniform});
        decorate({array, spv::DecorationArrayStride, 4 * buffer.width});
        decorate({block, spv::DecorationBufferBlock});
        put(module_.annotations, spv::OpMemberDecorate, {block, 0, spv::DecorationOffset, 0});
        const spv::Decoration access =
            buffer.access == Access::read ? spv::DecorationNonWritable : spv::DecorationNonReadable;
        if (buffer.access != Access::both)
            put(module_.annotations, spv::OpMemberDecorate, {block, 0, static_cast<uint32_t>(access)});
        decorate({variable, spv::DecorationDescriptorSet, 0});
        decorate({variable, spv::DecorationBinding, static_cast<uint32_t>(variables_.size())});
        name(variable, buffer.name);
        variables_.push_back(variable);
    }

    void declare_shared() {
        const uint32_t width = program_.shared_width(), of = element_of(width);
        const uint32_t size = word(program_.shared_floats() / width), array = id(), pointer = id();
        shared_pointer_ = id(), shared_ = id();
        declare(spv::OpTypeArray, {array, of, size});
        declare(spv::OpTypePointer, {pointer, spv::StorageClassWorkgroup, array});
        declare(spv::OpTypePointer, {shared_pointer_, spv::StorageClassWorkgroup, of});
        declare(spv::OpVariable, {pointer, shared_, spv::StorageClassWorkgroup});
        name(shared_, "shared");
    }

    void declare_registers() {
        one_ = word(1);
        for (const Type type : {Type::f32, Type::u32})
            declare(spv::OpTypePointer,
                    {to_register_[type == Type::u32] = id(), spv::StorageClassFunction, type_id(type)});
        for (size_t i = 0; i < program_.registers().size(); i++) registers_.push_back(id());
    }

    void declare_constant(uint32_t value) {
        const ValueInfo &info = program_.value(value);
        ids_[value] = id();
        if (info.type == Type::boolean)
            declare(info.bits ? spv::OpConstantTrue : spv::OpConstantFalse, {bool_, ids_[value]});
        else declare(spv::OpConstant, {type_id(info.type), ids_[value], info.bits});
    }

    void name(uint32_t variable, const std::string &text) {
        Words operands{variable};
        const Words words = spirv::words_of(text);
        operands.insert(operands.end(), words.begin(), words.end());
        put(names_, spv::OpName, operands);
    }

    void write_preamble() {
        Words &to = module_.preamble;
        put(to, spv::OpCapability, {spv::CapabilityShader});
        Words import{extended_}, entry{spv::ExecutionModelGLCompute, main_};
        const Words library = spirv::words_of("GLSL.std.450"), text = spirv::words_of(program_.entry());
        import.insert(import.end(), library.begin(), library.end());
        entry.insert(entry.end(), text.begin(), text.end());
        entry.insert(entry.end(), {thread_, group_});
        put(to, spv::OpExtInstImport, import);
        put(to, spv::OpMemoryModel, {spv::AddressingModelLogical, spv::MemoryModelGLSL450});
        put(to, spv::OpEntryPoint, entry);
        const auto &local = program_.local();
        put(to, spv::OpExecutionMode, {main_, spv::ExecutionModeLocalSize, local[0], local[1], local[2]});
        to.insert(to.end(), names_.begin(), names_.end());
    }

    void write_function() {
        code(spv::OpFunction, {void_, main_, spv::FunctionControlMaskNone, signature_});
        code(spv::OpLabel, {id()});
        for (size_t i = 0; i < registers_.size(); i++)
            code(spv::OpVariable, {register_pointer(i), registers_[i], spv::StorageClassFunction});
        for (const Instruction &one : program_.instructions()) write(one);
        code(spv::OpReturn, {});
        code(spv::OpFunctionEnd, {});
    }

    uint32_t operand(const Instruction &one, size_t i) const { return ids_[one.operands[i]]; }

    void write(const Instruction &one) {
        switch (one.op) {
        case Op::thread: return input(one, thread_, 0);
        case Op::group: return input(one, group_, one.operands[0]);
        case Op::load: return load(one, address(one), element_of(buffer_of(one)), buffer_of(one).width);
        case Op::store: return store(one, address(one), element_of(buffer_of(one)), buffer_of(one).width);
        case Op::load_shared:
            return load(one, shared_address(one), shared_element(), program_.shared_width());
        case Op::store_shared:
            return store(one, shared_address(one), shared_element(), program_.shared_width());
        case Op::get:
            return code(spv::OpLoad, {type_id(program_.registers()[one.memory]), ids_[one.result] = id(),
                                      registers_[one.memory]});
        case Op::set: return code(spv::OpStore, {registers_[one.memory], operand(one, 0)});
        case Op::barrier: return code(spv::OpControlBarrier, {workgroup_, workgroup_, semantics_});
        case Op::begin_if: return begin_if(one);
        case Op::end_if: return end_if();
        case Op::begin_loop: return begin_loop(one);
        case Op::end_loop: return end_loop(one);
        default: compute(one);
        }
    }

    void input(const Instruction &one, uint32_t variable, uint32_t part) {
        const uint32_t all = id();
        code(spv::OpLoad, {triple_, all, variable});
        code(spv::OpCompositeExtract, {uint_, ids_[one.result] = id(), all, part});
    }

    uint32_t register_pointer(size_t number) const {
        return to_register_[program_.registers()[number] == Type::u32];
    }
    const Buffer &buffer_of(const Instruction &one) const { return program_.buffers()[one.memory]; }
    uint32_t shared_element() const { return element_of(program_.shared_width()); }
    uint32_t address(const Instruction &one) {
        const uint32_t made = id();
        code(spv::OpAccessChain, {pointers_.at(element_of(buffer_of(one))), made, variables_[one.memory],
                                  zero_, operand(one, 0)});
        return made;
    }
    uint32_t shared_address(const Instruction &one) {
        const uint32_t made = id();
        code(spv::OpAccessChain, {shared_pointer_, made, shared_, operand(one, 0)});
        return made;
    }

    void load(const Instruction &one, uint32_t from, uint32_t element, uint32_t width) {
        if (width == 1) return code(spv::OpLoad, {element, ids_[one.result] = id(), from});
        const uint32_t all = id(), of = type_id(program_.value(one.result).type);
        code(spv::OpLoad, {element, all, from});
        for (uint32_t part = 0; part < width; part++)
            code(spv::OpCompositeExtract, {of, ids_[one.result + part] = id(), all, part});
    }

    void store(const Instruction &one, uint32_t to, uint32_t element, uint32_t width) {
        if (width == 1) return code(spv::OpStore, {to, operand(one, 1)});
        Words all{element, id()};
        for (uint32_t part = 0; part < width; part++) all.push_back(operand(one, 1 + part));
        put(module_.functions, spv::OpCompositeConstruct, all);
        code(spv::OpStore, {to, all[1]});
    }

    void begin_if(const Instruction &one) {
        const uint32_t body = id();
        ends_.push_back(id());
        code(spv::OpSelectionMerge, {ends_.back(), spv::SelectionControlMaskNone});
        code(spv::OpBranchConditional, {operand(one, 0), body, ends_.back()});
        code(spv::OpLabel, {body});
    }
    void end_if() {
        code(spv::OpBranch, {ends_.back()});
        code(spv::OpLabel, {ends_.back()});
        ends_.pop_back();
    }

    // The counter is tested at the head of each iteration, and moves on behind the body.
    void begin_loop(const Instruction &one) {
        const Loop loop{id(), id(), id()};
        const uint32_t test = id(), body = id(), iteration = id(), goes = id();
        code(spv::OpBranch, {loop.head});
        code(spv::OpLabel, {loop.head});
        code(spv::OpLoopMerge, {loop.end, loop.next, spv::LoopControlDontUnrollMask});
        code(spv::OpBranch, {test});
        code(spv::OpLabel, {test});
        code(spv::OpLoad, {uint_, iteration, registers_[one.memory]});
        code(spv::OpULessThan, {bool_, goes, iteration, operand(one, 0)});
        code(spv::OpBranchConditional, {goes, body, loop.end});
        code(spv::OpLabel, {body});
        loops_.push_back(loop);
    }
    void end_loop(const Instruction &one) {
        const Loop loop = loops_.back();
        loops_.pop_back();
        const uint32_t iteration = id(), next = id();
        code(spv::OpBranch, {loop.next});
        code(spv::OpLabel, {loop.next});
        code(spv::OpLoad, {uint_, iteration, registers_[one.memory]});
        code(spv::OpIAdd, {uint_, next, iteration, one_});
        code(spv::OpStore, {registers_[one.memory], next});
        code(spv::OpBranch, {loop.head});
        code(spv::OpLabel, {loop.end});
    }

    void compute(const Instruction &one) {
        const Code found = code_of(one.op);
        Words operands{type_id(program_.value(one.result).type), ids_[one.result] = id()};
        if (found.op == spv::OpExtInst) operands.insert(operands.end(), {extended_, found.extended});
        for (int i = 0; i < operand_count(one.op); i++)
            operands.push_back(operand(one, static_cast<size_t>(i)));
        put(module_.functions, found.op, operands);
    }

    const Program &program_;
    std::vector<uint32_t> ids_; // by value
    spirv::Module module_;
    Words names_;
    uint32_t extended_ = 0, main_ = 0, float_ = 0, uint_ = 0, bool_ = 0, triple_ = 0, four_ = 0;
    uint32_t pair_ = 0; // of words, where a buffer has them
    uint32_t void_ = 0, signature_ = 0, zero_ = 0, one_ = 0, workgroup_ = 0, semantics_ = 0;
    uint32_t thread_ = 0, group_ = 0, shared_ = 0, shared_pointer_ = 0;
    std::map<uint32_t, uint32_t> pointers_; // to elements, by type
    std::vector<uint32_t> variables_;       // of buffers
    std::vector<uint32_t> ends_;            // of open guards
    struct Loop {
        uint32_t head, next, end; // labels
    };
    std::vector<Loop> loops_; // the open ones
    std::vector<uint32_t> registers_;
    std::array<uint32_t, 2> to_register_{}; // pointer types: float32, uint32
};

} // namespace

std::vector<uint32_t> assemble(const Program &program) { return Assembler(program).run(); }

} // namespace longwave::gpu
