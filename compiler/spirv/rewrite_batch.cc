#include "compiler/spirv/rewrite_batch.h"
#include "compiler/spirv/validate.h"
#include "formats/spirv/module.h"
#include <set>

namespace longwave::spirv {

namespace {

constexpr uint32_t word_bytes = 4;

// The variable that holds WorkgroupId; 0: none yet.
uint32_t find_workgroup(const Module &module) {
    uint32_t found = 0;
    for (const auto &[variable, built_in] : module.built_ins) {
        expect(built_in != spv::BuiltInNumWorkgroups && built_in != spv::BuiltInGlobalInvocationId,
               "it knows workgroups by another name than WorkgroupId");
        if (built_in == spv::BuiltInWorkgroupId) found = variable;
    }
    return found;
}

uint32_t element_bytes(const Buffer &buffer) {
    expect(buffer.array != 0, "a buffer that is not a struct of one array");
    expect(buffer.stride == 4 || buffer.stride == 8 || buffer.stride == 16,
           "a buffer whose elements have neither 4 nor 8 nor 16 bytes");
    return buffer.stride;
}

class BatchRewrite {
public:
    BatchRewrite(Module module, int depth, uint32_t scalars)
        : module_(std::move(module)), depth_(static_cast<uint32_t>(depth)),
          workgroup_(find_workgroup(module_)) {
        expect(module_.function_count == 1, "several functions");
        std::set<uint32_t> bindings;
        for (const auto &[variable, buffer] : module_.buffers) bindings.insert(buffer.binding);
        expect(!bindings.empty() && bindings.size() == module_.buffers.size() &&
                   *bindings.rbegin() + 1 == bindings.size(),
               "bindings that are not 0 … n − 1");
        table_binding_ = static_cast<uint32_t>(bindings.size());
        row_words_ = table_binding_ + scalars;
    }

    BatchedModule run() {
        declare();
        rewrite_function();
        return {module_.assemble(), table_binding_};
    }

private:
    uint32_t id() { return module_.new_id(); }
    void declare(spv::Op op, std::initializer_list<uint32_t> operands) {
        put(module_.declarations, op, operands);
    }
    void decorate(std::initializer_list<uint32_t> operands) {
        put(module_.annotations, spv::OpDecorate, operands);
    }
    uint32_t constant(uint32_t value) {
        const uint32_t made = id();
        declare(spv::OpConstant, {uint_, made, value});
        return made;
    }

    // New types, constants and variables, with their decorations.
    void declare() {
        uint_ = module_.find_type(spv::OpTypeInt, {32, 0});
        triple_ = uint_ ? module_.find_type(spv::OpTypeVector, {uint_, 3}) : 0;
        if (!uint_) declare(spv::OpTypeInt, {uint_ = id(), 32, 0});
        if (!triple_) declare(spv::OpTypeVector, {triple_ = id(), uint_, 3});
        if (!workgroup_) declare_workgroup();
        declare_table();
        zero_ = constant(0);
        one_ = constant(1);
        two_ = constant(2);
        deep_ = constant(depth_);
        row_ = constant(row_words_);
        for (const auto &[variable, buffer] : module_.buffers) places_[variable] = constant(buffer.binding);
    }

    void declare_workgroup() {
        const uint32_t pointer = id();
        workgroup_ = id();
        declare(spv::OpTypePointer, {pointer, spv::StorageClassInput, triple_});
        declare(spv::OpVariable, {pointer, workgroup_, spv::StorageClassInput});
        decorate({workgroup_, spv::DecorationBuiltIn, spv::BuiltInWorkgroupId});
        // The entry point lists the inputs of the module.
        Words preamble;
        each_instruction(module_.preamble, [&](spv::Op op, Operands o) {
            Words operands(o.begin(), o.end());
            if (op == spv::OpEntryPoint) operands.push_back(workgroup_);
            put(preamble, op, operands);
        });
        module_.preamble = std::move(preamble);
    }

    void declare_table() {
        const uint32_t array = id(), block = id(), pointer = id();
        word_pointer_ = id();
        table_ = id();
        declare(spv::OpTypeRuntimeArray, {array, uint_});
        declare(spv::OpTypeStruct, {block, array});
        declare(spv::OpTypePointer, {pointer, spv::StorageClassUniform, block});
        declare(spv::OpTypePointer, {word_pointer_, spv::StorageClassUniform, uint_});
        declare(spv::OpVariable, {pointer, table_, spv::StorageClassUniform});
        decorate({array, spv::DecorationArrayStride, word_bytes});
        decorate({block, spv::DecorationBufferBlock});
        put(module_.annotations, spv::OpMemberDecorate, {block, 0, spv::DecorationOffset, 0});
        decorate({table_, spv::DecorationDescriptorSet, 0});
        decorate({table_, spv::DecorationBinding, table_binding_});
    }

    void rewrite_function() {
        bool in_block = false, begun = false;
        each_instruction(module_.functions, [&](spv::Op op, Operands o) {
            if (in_block && !begun && op != spv::OpVariable) {
                begun = true;
                find_stream();
            }
            in_block = in_block || op == spv::OpLabel;
            if (begun) rewrite(op, o);
            else put(out_, op, o);
        });
        module_.functions = std::move(out_);
    }

    // At the start of the function: the stream of this workgroup, and where its buffers begin.
    void find_stream() {
        const uint32_t group = id(), z = id();
        put(out_, spv::OpLoad, {triple_, group, workgroup_});
        put(out_, spv::OpCompositeExtract, {uint_, z, group, 2});
        uint32_t stream = z;
        if (depth_ > 1) put(out_, spv::OpUDiv, {uint_, stream = id(), z, deep_});
        const uint32_t row = id();
        put(out_, spv::OpIMul, {uint_, row, stream, row_});
        for (const auto &[variable, place] : places_) {
            const uint32_t at = id(), address = id();
            uint32_t offset = id();
            put(out_, spv::OpIAdd, {uint_, at, row, place});
            put(out_, spv::OpAccessChain, {word_pointer_, address, table_, zero_, at});
            put(out_, spv::OpLoad, {uint_, offset, address});
            if (const uint32_t bytes = element_bytes(module_.buffers.at(variable)); bytes > word_bytes) {
                const uint32_t words = offset;
                put(out_, spv::OpShiftRightLogical, {uint_, offset = id(), words, bytes == 8 ? one_ : two_});
            }
            offsets_[variable] = offset;
        }
    }

    void rewrite(spv::Op op, Operands o) {
        if (op == spv::OpLoad && o.size() > 2 && o[2] == workgroup_) return load_own_workgroup(o);
        if (op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain) return move_access(op, o);
        reject_others(op, o);
        put(out_, op, o);
    }

    // The kernel sees its own workgroups.
    void load_own_workgroup(Operands o) {
        const uint32_t group = id();
        put(out_, spv::OpLoad, {o[0], group, workgroup_});
        uint32_t own = zero_;
        if (depth_ > 1) {
            const uint32_t z = id();
            put(out_, spv::OpCompositeExtract, {uint_, z, group, 2});
            put(out_, spv::OpUMod, {uint_, own = id(), z, deep_});
        }
        put(out_, spv::OpCompositeInsert, {o[0], o[1], own, group, 2});
    }

    void move_access(spv::Op op, Operands o) {
        constexpr const char *other = "an access to something else than an element of a buffer";
        expect(o.size() > 3 && o[2] != workgroup_, other);
        const auto offset = offsets_.find(o[2]);
        if (offset == offsets_.end()) return put(out_, op, o); // shared or private memory
        expect(o.size() == 5, other);
        const uint32_t moved = id();
        put(out_, spv::OpIAdd, {uint_, moved, o[4], offset->second});
        put(out_, op, {o[0], o[1], o[2], o[3], moved});
    }

    void reject_others(spv::Op op, Operands o) const {
        const bool reads = op == spv::OpLoad || op == spv::OpCopyObject || op == spv::OpArrayLength ||
                           op == spv::OpPtrAccessChain;
        const bool buffer = (reads && o.size() > 2 && module_.buffers.contains(o[2])) ||
                            (op == spv::OpStore && module_.buffers.contains(o[0]));
        expect(!buffer && op != spv::OpFunctionCall, "an access to a whole buffer, or a call");
    }

    Module module_;
    const uint32_t depth_; // the kernel's own workgroups along z
    uint32_t workgroup_;   // ids from here on
    uint32_t table_binding_ = 0, row_words_ = 0;
    uint32_t uint_ = 0, triple_ = 0, word_pointer_ = 0, table_ = 0;
    uint32_t zero_ = 0, one_ = 0, two_ = 0, deep_ = 0, row_ = 0;
    std::map<uint32_t, uint32_t> places_;  // by variable: its binding as a constant
    std::map<uint32_t, uint32_t> offsets_; // by variable: what is added to its indices
    Words out_;
};

} // namespace

BatchedModule rewrite_batch(const std::vector<uint32_t> &words, const std::array<int, 3> &grid,
                            uint32_t scalars) {
    expect(grid[2] > 0, "no workgroups");
    BatchedModule made = BatchRewrite(Module::parse(words), grid[2], scalars).run();
    validate(made.words);
    return made;
}

} // namespace longwave::spirv
