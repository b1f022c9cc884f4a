#include "compiler/spirv/rewrite_batch.h"
#include "formats/spirv/words.h"
#include <map>
#include <set>
#include <stdexcept>
#include <string>

namespace longwave::schedules {

namespace {

constexpr uint32_t word_bytes = 4;

void check(bool condition, const char *what) {
    if (!condition) throw std::invalid_argument(std::string("a kernel for many streams: ") + what);
}

// What is known of a module before it is changed.
struct Facts {
    std::map<uint32_t, uint32_t> binding, stride, element_of, struct_of, pointee; // by id
    std::map<uint32_t, uint32_t> variable;                                        // its pointer type
    uint32_t workgroup = 0, uint_type = 0, triple = 0, functions = 0;

    // Bytes of an element of the buffer.
    uint32_t element_bytes(uint32_t buffer) const {
        const auto type = pointee.find(variable.at(buffer));
        check(type != pointee.end() && struct_of.contains(type->second),
              "a buffer that is no struct of one array");
        const auto found = stride.find(struct_of.at(type->second));
        check(found != stride.end() && (found->second == 4 || found->second == 8),
              "a buffer whose elements have neither 4 nor 8 bytes");
        return found->second;
    }
};

template <class Visit> void walk(const SpirvWords &words, const Visit &visit) {
    const char *fault =
        each_instruction(words, [&](uint32_t op, SpirvOperands operands, size_t) { visit(op, operands); });
    check(!fault, fault);
}

void learn_decoration(Facts &facts, SpirvOperands operands) {
    if (operands.size() != 3) return;
    if (operands[1] == decoration_binding) facts.binding[operands[0]] = operands[2];
    if (operands[1] == decoration_array_stride) facts.stride[operands[0]] = operands[2];
    if (operands[1] != decoration_built_in) return;
    check(operands[2] != built_in_count && operands[2] != built_in_global_id,
          "it sees workgroups by another name than WorkgroupId");
    if (operands[2] == built_in_workgroup_id) facts.workgroup = operands[0];
}

Facts learn(const SpirvWords &words) {
    Facts facts;
    std::map<uint32_t, uint32_t> vectors; // of three, by component
    walk(words, [&](uint32_t op, SpirvOperands o) {
        switch (op) {
        case op_decorate: return learn_decoration(facts, o);
        case op_type_int:
            if (o[1] == 32 && o[2] == 0) facts.uint_type = o[0];
            return;
        case op_type_vector:
            if (o[2] == 3) vectors[o[1]] = o[0];
            return;
        case op_type_struct:
            if (o.size() == 2) facts.struct_of[o[0]] = o[1];
            return;
        case op_type_pointer: facts.pointee[o[0]] = o[2]; return;
        case op_variable: facts.variable[o[1]] = o[0]; return;
        case op_function: facts.functions++; return;
        default: return;
        }
    });
    check(facts.functions == 1, "several functions");
    if (facts.uint_type && vectors.contains(facts.uint_type)) facts.triple = vectors.at(facts.uint_type);
    return facts;
}

class Rewriting {
public:
    Rewriting(const SpirvWords &words, const std::array<int, 3> &grid, uint32_t scalars)
        : words_(words), facts_(learn(words)), depth_(static_cast<uint32_t>(grid[2])), next_(words[3]) {
        std::set<uint32_t> bindings;
        for (const auto &[buffer, binding] : facts_.binding) bindings.insert(binding);
        check(!bindings.empty() && bindings.size() == facts_.binding.size() &&
                  *bindings.rbegin() + 1 == bindings.size(),
              "bindings that are not 0 … n − 1");
        buffers_ = static_cast<uint32_t>(bindings.size());
        row_words_ = buffers_ + scalars;
    }

    StreamsKernel run() {
        declare();
        out_.assign(words_.begin(), words_.begin() + spirv_header);
        walk(words_, [&](uint32_t op, SpirvOperands o) { take(op, o); });
        out_[3] = next_;
        return {std::move(out_), buffers_};
    }

private:
    uint32_t id() { return next_++; }
    uint32_t constant(uint32_t value) {
        const uint32_t made = id();
        put(types_, op_constant, {uint_, made, value});
        return made;
    }

    // Types, constants and variables that are new, and their decorations.
    void declare() {
        uint_ = facts_.uint_type ? facts_.uint_type : id();
        if (!facts_.uint_type) put(types_, op_type_int, {uint_, 32, 0});
        triple_ = facts_.triple ? facts_.triple : id();
        if (!facts_.triple) put(types_, op_type_vector, {triple_, uint_, 3});
        workgroup_ = facts_.workgroup;
        if (!workgroup_) {
            const uint32_t pointer = id();
            workgroup_ = id();
            put(types_, op_type_pointer, {pointer, storage_input, triple_});
            put(types_, op_variable, {pointer, workgroup_, storage_input});
            put(decorations_, op_decorate, {workgroup_, decoration_built_in, built_in_workgroup_id});
        }
        const uint32_t array = id(), block = id(), pointer = id();
        pointer_ = id();
        table_ = id();
        put(types_, op_type_runtime_array, {array, uint_});
        put(types_, op_type_struct, {block, array});
        put(types_, op_type_pointer, {pointer, storage_uniform, block});
        put(types_, op_type_pointer, {pointer_, storage_uniform, uint_});
        put(types_, op_variable, {pointer, table_, storage_uniform});
        put(decorations_, op_decorate, {array, decoration_array_stride, word_bytes});
        put(decorations_, op_decorate, {block, decoration_buffer_block});
        put(decorations_, op_member_decorate, {block, 0, decoration_offset, 0});
        put(decorations_, op_decorate, {table_, decoration_descriptor_set, 0});
        put(decorations_, op_decorate, {table_, decoration_binding, buffers_});
        zero_ = constant(0);
        one_ = constant(1);
        deep_ = constant(depth_);
        row_ = constant(row_words_);
        for (const auto &[buffer, binding] : facts_.binding) places_[buffer] = constant(binding);
    }

    void keep(uint32_t op, SpirvOperands operands) {
        out_.push_back(instruction_word(op, operands.size()));
        out_.insert(out_.end(), operands.begin(), operands.end());
    }

    void take(uint32_t op, SpirvOperands o) {
        if (!decorated_ && is_type(op)) {
            out_.insert(out_.end(), decorations_.begin(), decorations_.end());
            decorated_ = true;
        }
        if (op == op_function) out_.insert(out_.end(), types_.begin(), types_.end());
        if (in_function_ && !begun_ && op != op_variable) begin();
        if (op == op_entry_point && !facts_.workgroup) {
            keep(op, o);
            out_[out_.size() - o.size() - 1] += 1u << 16;
            out_.push_back(workgroup_);
            return;
        }
        if (op == op_load && begun_ && o[2] == workgroup_) return own_workgroup(o);
        if ((op == op_access_chain || op == op_in_bounds_access_chain) && begun_) return chain(op, o);
        if (begun_) refuse_others(op, o);
        keep(op, o);
        in_function_ = in_function_ || op == op_label;
    }

    // At the beginning of the function: which stream it is, and where its buffers begin.
    void begin() {
        begun_ = true;
        const uint32_t group = id(), z = id();
        put(out_, op_load, {triple_, group, workgroup_});
        put(out_, op_composite_extract, {uint_, z, group, 2});
        uint32_t stream = z;
        if (depth_ > 1) put(out_, op_u_div, {uint_, stream = id(), z, deep_});
        const uint32_t row = id();
        put(out_, op_i_mul, {uint_, row, stream, row_});
        for (const auto &[buffer, place] : places_) {
            const uint32_t at = id(), address = id();
            uint32_t offset = id();
            put(out_, op_i_add, {uint_, at, row, place});
            put(out_, op_access_chain, {pointer_, address, table_, zero_, at});
            put(out_, op_load, {uint_, offset, address});
            if (facts_.element_bytes(buffer) == 8) {
                const uint32_t words = offset;
                put(out_, op_shift_right_logical, {uint_, offset = id(), words, one_});
            }
            offsets_[buffer] = offset;
        }
    }

    // The kernel sees its own workgroups.
    void own_workgroup(SpirvOperands o) {
        const uint32_t group = id();
        put(out_, op_load, {o[0], group, workgroup_});
        uint32_t own = zero_;
        if (depth_ > 1) {
            const uint32_t z = id();
            put(out_, op_composite_extract, {uint_, z, group, 2});
            put(out_, op_u_mod, {uint_, own = id(), z, deep_});
        }
        put(out_, op_composite_insert, {o[0], o[1], own, group, 2});
    }

    void chain(uint32_t op, SpirvOperands o) {
        check(o.size() > 3 && o[2] != workgroup_, "an access that is none of a buffer's elements");
        const auto offset = offsets_.find(o[2]);
        if (offset == offsets_.end()) return keep(op, o); // shared or private memory
        check(o.size() == 5, "an access that is none of a buffer's elements");
        const uint32_t moved = id();
        put(out_, op_i_add, {uint_, moved, o[4], offset->second});
        put(out_, op, {o[0], o[1], o[2], o[3], moved});
    }

    void refuse_others(uint32_t op, SpirvOperands o) const {
        const bool pointer =
            op == op_load || op == op_copy_object || op == op_array_length || op == op_ptr_access_chain;
        const bool whole = (pointer && o.size() > 2 && facts_.binding.contains(o[2])) ||
                           (op == op_store && facts_.binding.contains(o[0]));
        check(!whole && op != op_function_call, "an access to a whole buffer, or a call");
    }

    const SpirvWords &words_;
    const Facts facts_;
    const uint32_t depth_;
    uint32_t next_, buffers_ = 0, row_words_ = 0;
    uint32_t uint_ = 0, triple_ = 0, workgroup_ = 0, pointer_ = 0, table_ = 0;
    uint32_t zero_ = 0, one_ = 0, deep_ = 0, row_ = 0;
    std::map<uint32_t, uint32_t> places_,
        offsets_; // by buffer: its binding as a constant, what its indices grow by
    SpirvWords decorations_, types_, out_;
    bool decorated_ = false, in_function_ = false, begun_ = false;
};

} // namespace

StreamsKernel for_streams(const std::vector<uint32_t> &words, const std::array<int, 3> &grid,
                          uint32_t scalars) {
    check(grid[2] > 0, "no workgroups");
    return Rewriting(words, grid, scalars).run();
}

} // namespace longwave::schedules
