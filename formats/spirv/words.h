// SPIR-V as words: the numbers of what kernels consist of, and the walk over a module's instructions. No Halide.
#pragma once
#include "formats/spirv/spirv.h"
#include <cstddef>
#include <initializer_list>
#include <span>
#include <vector>

namespace longwave::schedules {

// Khronos SPIR-V specification 1.6, section 3.
enum SpirvOp : uint32_t {
    op_name = 5,
    op_extension = 10,
    op_entry_point = 15,
    op_execution_mode = 16,
    op_capability = 17,
    op_type_void = 19, // the first of the types
    op_type_bool = 20,
    op_type_int = 21,
    op_type_float = 22,
    op_type_vector = 23,
    op_type_runtime_array = 29,
    op_type_struct = 30,
    op_type_pointer = 32,
    op_type_forward_pointer = 39, // the last of the types
    op_constant_false = 42,
    op_constant = 43,
    op_function = 54,
    op_function_call = 57,
    op_variable = 59,
    op_load = 61,
    op_store = 62,
    op_copy_memory = 63,
    op_access_chain = 65,
    op_in_bounds_access_chain = 66,
    op_ptr_access_chain = 67,
    op_array_length = 68,
    op_decorate = 71,
    op_member_decorate = 72,
    op_composite_extract = 81,
    op_composite_insert = 82,
    op_copy_object = 83,
    op_f_convert = 115,
    op_i_add = 128,
    op_f_add = 129,
    op_f_sub = 131,
    op_i_mul = 132,
    op_f_mul = 133,
    op_u_div = 134,
    op_u_mod = 137,
    op_logical_or = 166,
    op_f_unord_less = 185,
    op_f_unord_greater = 187,
    op_shift_right_logical = 194,
    op_atomic_load = 227, // the first of the atomics
    op_atomic_or = 241,
    op_atomic_xor = 242, // the last of them
    op_selection_merge = 247,
    op_label = 248,
    op_branch = 249,
    op_branch_conditional = 250,
    op_return = 253,
};
inline constexpr uint32_t mode_local_size = 17;
inline constexpr uint32_t decoration_block = 2, decoration_buffer_block = 3, decoration_array_stride = 6,
                          decoration_built_in = 11, decoration_binding = 33, decoration_descriptor_set = 34,
                          decoration_offset = 35, decoration_rounding_mode = 39,
                          decoration_no_contraction = 42;
inline constexpr uint32_t rounding_to_even = 0;
inline constexpr uint32_t capability_storage_16 = 4433; // StorageBuffer16BitAccess
inline constexpr uint32_t built_in_count = 24, built_in_workgroup_id = 26, built_in_global_id = 28;
inline constexpr uint32_t storage_input = 1, storage_uniform = 2, storage_function = 7, storage_buffer = 12;

using SpirvWords = std::vector<uint32_t>;
using SpirvOperands = std::span<const uint32_t>;

// The first word of an instruction.
constexpr uint32_t instruction_word(uint32_t op, size_t operands) {
    return static_cast<uint32_t>(operands + 1) << 16 | op;
}

// One more instruction.
inline void put(SpirvWords &to, uint32_t op, std::initializer_list<uint32_t> operands) {
    to.push_back(instruction_word(op, operands.size()));
    to.insert(to.end(), operands);
}

// Of a type: the first of them ends a module's decorations.
constexpr bool is_type(uint32_t op) { return op >= op_type_void && op <= op_type_forward_pointer; }

// Calls visit(op, operands, at) for each instruction, whose first word is words[at]. Null, or what is wrong with the
// module: then the instructions before that place have been visited.
template <class Visit> const char *each_instruction(const SpirvWords &words, const Visit &visit) {
    if (words.size() <= spirv_header || words[0] != spirv_magic) return "no module";
    for (size_t at = spirv_header; at < words.size();) {
        const uint32_t count = words[at] >> 16;
        if (count == 0 || count > words.size() - at) return "an instruction ends behind the module";
        visit(words[at] & 0xffff, SpirvOperands(words).subspan(at + 1, count - 1), at);
        at += count;
    }
    return nullptr;
}

} // namespace longwave::schedules
