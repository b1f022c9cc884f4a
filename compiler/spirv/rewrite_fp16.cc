#include "compiler/spirv/rewrite_fp16.h"
#include "formats/base/half.h"
#include "formats/spirv/words.h"
#include <algorithm>
#include <bit>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>

namespace longwave::schedules {

namespace {

constexpr uint32_t scope_device = 1, relaxed = 0;

// ---- the table: whose activations may be stored as float16, what they take and what they give ----
// Left out, or half of them: powers of frame_power, up to n_fft² / 4, of which logarithms want the small ones; sums
// over all rows, which grow with their number (linear attention without a norm); exponents (float16 has 100 to within
// 0.03, of which e^x makes 3 %) and what gives -1e30 for none: softmaxes; decays (1 to within 2^-12, a memory of 4,096
// rows): cumulative_softmax, and what takes them; counts and sums that streams carry.
struct Activations {
    std::string_view kernel;
    bool taken, given;
};
constexpr Activations in_fp16[] = {
    {"block_linear", true, true},
    {"centred_conv", true, true},
    {"circular_conv", true, true},
    {"conv2d", true, true},
    {"correlate", true, true},
    {"decaying_attention_chunk", false, true},
    {"decaying_attention_step", false, true},
    {"embedding", true, true},
    {"exponential_scan", true, true},
    {"frame_power", true, false},
    {"grouped_conv", true, true},
    {"linear", true, true},
    {"linear_attention_chunk", true, false},
    {"linear_attention_offline", true, false},
    {"linear_attention_step", true, false},
    {"long_conv_columns", true, true},
    {"long_conv_columns_back", true, true},
    {"long_conv_direct", true, true},
    {"long_conv_fused", true, true},
    {"long_conv_partitioned", true, true},
    {"long_conv_rows", true, true},
    {"lrpe", true, true},
    {"mean_run", true, true},
    {"norm", true, true},
    {"pair_features", true, true},
    {"pointwise", true, true},
    {"rotary", true, true},
    {"sequence_inverse", true, true},
    {"sequence_softmax", false, true},
    {"sequence_transform", true, true},
    {"softmax", false, true},
    {"softmax_attention", true, true},
};
static_assert(std::is_sorted(std::begin(in_fp16), std::end(in_fp16),
                             [](const auto &a, const auto &b) { return a.kernel < b.kernel; }));

void expect(bool condition, const char *what) {
    if (!condition) throw std::invalid_argument(std::string("a kernel that stores float16: ") + what);
}

template <class Visit> void visit_all(const SpirvWords &words, const Visit &visit) {
    const char *fault =
        each_instruction(words, [&](uint32_t op, SpirvOperands operands, size_t) { visit(op, operands); });
    expect(!fault, fault);
}

// What is known of a module before it is changed.
struct BufferFacts {
    std::map<uint32_t, uint32_t> binding;                                          // of a variable
    std::map<uint32_t, uint32_t> stride, element_of, struct_of, pointee, variable; // by id
    std::map<uint32_t, int> arrays;                                                // how many structs hold it
    uint32_t float_type = 0, uint_type = 0, bool_type = 0, functions = 0;
};

BufferFacts learn_buffers(const SpirvWords &words) {
    BufferFacts facts;
    visit_all(words, [&](uint32_t op, SpirvOperands o) {
        switch (op) {
        case op_decorate:
            if (o.size() != 3) return;
            if (o[1] == decoration_binding) facts.binding[o[0]] = o[2];
            if (o[1] == decoration_array_stride) facts.stride[o[0]] = o[2];
            return;
        case op_type_float:
            expect(o[1] != 16, "it has float16 already");
            if (o[1] == 32) facts.float_type = o[0];
            return;
        case op_type_int:
            if (o[1] == 32 && o[2] == 0) facts.uint_type = o[0];
            return;
        case op_type_bool: facts.bool_type = o[0]; return;
        case op_type_runtime_array: facts.element_of[o[0]] = o[1]; return;
        case op_type_struct:
            if (o.size() == 2) facts.struct_of[o[0]] = o[1], ++facts.arrays[o[1]];
            return;
        case op_type_pointer: facts.pointee[o[0]] = o[2]; return;
        case op_variable: facts.variable[o[1]] = o[0]; return;
        case op_function: facts.functions++; return;
        default: return;
        }
    });
    expect(facts.functions == 1, "several functions");
    expect(facts.float_type, "it has no float32");
    return facts;
}

class Fp16Rewrite {
public:
    Fp16Rewrite(const SpirvWords &words, const std::set<uint32_t> &bindings)
        : words_(words), facts_(learn_buffers(words)), next_(words[3]) {
        for (const auto &[buffer, binding] : facts_.binding) {
            overflow_binding_ = std::max(overflow_binding_, binding + 1);
            if (!bindings.contains(binding)) continue;
            buffers_.insert(buffer);
            arrays_.insert(array_of(buffer));
            pointers_.insert(facts_.variable.at(buffer));
            structs_.insert(facts_.pointee.at(facts_.variable.at(buffer)));
        }
        expect(buffers_.size() == bindings.size(), "a binding of no buffer");
    }

    Fp16Kernel run() {
        declare();
        out_.assign(words_.begin(), words_.begin() + spirv_header);
        visit_all(words_, [&](uint32_t op, SpirvOperands o) { take(op, o); });
        out_.insert(out_.begin() + static_cast<std::ptrdiff_t>(roundings_at_), roundings_.begin(),
                    roundings_.end());
        out_[3] = next_;
        return {std::move(out_), overflow_binding_};
    }

private:
    uint32_t id() { return next_++; }

    uint32_t array_of(uint32_t buffer) const {
        const auto pointer = facts_.variable.find(buffer);
        expect(pointer != facts_.variable.end() && facts_.pointee.contains(pointer->second) &&
                   facts_.struct_of.contains(facts_.pointee.at(pointer->second)),
               "a buffer that is no struct of one array");
        const uint32_t array = facts_.struct_of.at(facts_.pointee.at(pointer->second));
        const auto element = facts_.element_of.find(array);
        expect(element != facts_.element_of.end() && element->second == facts_.float_type &&
                   facts_.stride.contains(array) && facts_.stride.at(array) == 4,
               "a buffer whose elements are not float32");
        expect(facts_.arrays.at(array) == 1, "two buffers of one type");
        return array;
    }

    uint32_t constant(uint32_t type, uint32_t bits) {
        const uint32_t made = id();
        put(types_, op_constant, {type, made, bits});
        return made;
    }

    // Types, constants and variables that are new, and their decorations.
    void declare() {
        half_ = id(), half_pointer_ = id();
        uint_ = facts_.uint_type ? facts_.uint_type : id();
        bool_ = facts_.bool_type ? facts_.bool_type : id();
        if (!facts_.uint_type) put(types_, op_type_int, {uint_, 32, 0});
        if (!facts_.bool_type) put(types_, op_type_bool, {bool_});
        put(types_, op_type_pointer, {half_pointer_, storage_buffer, half_});
        const uint32_t array = id(), block = id(), pointer = id();
        word_pointer_ = id(), overflow_ = id(), flag_pointer_ = id(), false_ = id();
        put(types_, op_type_runtime_array, {array, uint_});
        put(types_, op_type_struct, {block, array});
        put(types_, op_type_pointer, {pointer, storage_uniform, block});
        put(types_, op_type_pointer, {word_pointer_, storage_uniform, uint_});
        put(types_, op_variable, {pointer, overflow_, storage_uniform});
        put(types_, op_type_pointer, {flag_pointer_, storage_function, bool_});
        put(types_, op_constant_false, {bool_, false_});
        put(decorations_, op_decorate, {array, decoration_array_stride, 4});
        put(decorations_, op_decorate, {block, decoration_buffer_block});
        put(decorations_, op_member_decorate, {block, 0, decoration_offset, 0});
        put(decorations_, op_decorate, {overflow_, decoration_descriptor_set, 0});
        put(decorations_, op_decorate, {overflow_, decoration_binding, overflow_binding_});
        most_ = constant(facts_.float_type, std::bit_cast<uint32_t>(static_cast<float>(most_half)));
        least_ = constant(facts_.float_type, std::bit_cast<uint32_t>(static_cast<float>(-most_half)));
        zero_ = constant(uint_, relaxed);
        one_ = constant(uint_, scope_device);
    }

    void keep(uint32_t op, SpirvOperands operands) {
        out_.push_back(instruction_word(op, operands.size()));
        out_.insert(out_.end(), operands.begin(), operands.end());
    }

    // Capabilities come first of all, extensions behind them.
    void extend(uint32_t op) {
        if (extended_ || op == op_capability) return;
        extended_ = true;
        put(out_, op_capability, {capability_storage_16});
        for (const std::string name : {"SPV_KHR_16bit_storage", "SPV_KHR_storage_buffer_storage_class"}) {
            SpirvWords text(name.size() / sizeof(uint32_t) + 1); // ends with a zero
            std::memcpy(text.data(), name.data(), name.size());
            keep(op_extension, text);
        }
    }

    void take(uint32_t op, SpirvOperands o) {
        extend(op);
        if (!decorated_ && is_type(op)) {
            out_.insert(out_.end(), decorations_.begin(), decorations_.end());
            roundings_at_ = out_.size();
            put(out_, op_type_float, {half_, 16});
            decorated_ = true;
        }
        if (op == op_decorate && o.size() == 3 && o[1] == decoration_array_stride && arrays_.contains(o[0]))
            return put(out_, op, {o[0], o[1], 2});
        // The form of buffers before SPIR-V 1.3 is taken for a uniform one by some, and asks for another feature then.
        if (op == op_decorate && o.size() == 2 && o[1] == decoration_buffer_block && structs_.contains(o[0]))
            return put(out_, op, {o[0], decoration_block});
        if (op == op_type_pointer && pointers_.contains(o[0]))
            return put(out_, op, {o[0], storage_buffer, o[2]});
        if (op == op_variable && buffers_.contains(o[1])) return put(out_, op, {o[0], o[1], storage_buffer});
        if (op == op_type_runtime_array && arrays_.contains(o[0])) return put(out_, op, {o[0], half_});
        if (op == op_function) {
            out_.insert(out_.end(), types_.begin(), types_.end());
            in_function_ = true;
        }
        if (!in_function_) return keep(op, o);
        if (op == op_label && !flag_) {
            keep(op, o);
            return put(out_, op_variable, {flag_pointer_, flag_ = id(), storage_function, false_});
        }
        if (op == op_access_chain || op == op_in_bounds_access_chain) return chain(op, o);
        if (op == op_load && elements_.contains(o[2])) return load(o);
        if (op == op_store && elements_.contains(o[0])) return store(o);
        if (op == op_return) return tell();
        expect((op < op_atomic_load || op > op_atomic_xor) && op != op_copy_object && op != op_copy_memory &&
                   op != op_ptr_access_chain && op != op_function_call,
               "an access that is no load and no store");
        keep(op, o);
    }

    void chain(uint32_t op, SpirvOperands o) {
        expect(o.size() > 3, "an access to a whole buffer");
        if (!buffers_.contains(o[2])) return keep(op, o);
        expect(o.size() == 5, "an access that is none of a buffer's elements");
        elements_.insert(o[1]);
        put(out_, op, {half_pointer_, o[1], o[2], o[3], o[4]});
    }

    void load(SpirvOperands o) {
        const uint32_t narrow = id();
        out_.push_back(instruction_word(op_load, o.size()));
        out_.insert(out_.end(), {half_, narrow});
        out_.insert(out_.end(), o.begin() + 2, o.end());
        put(out_, op_f_convert, {o[0], o[1], narrow});
    }

    void store(SpirvOperands o) {
        const uint32_t above = id(), below = id(), outside = id(), before = id(), now = id(), narrow = id();
        put(out_, op_f_unord_greater, {bool_, above, o[1], most_});
        put(out_, op_f_unord_less, {bool_, below, o[1], least_});
        put(out_, op_logical_or, {bool_, outside, above, below});
        put(out_, op_load, {bool_, before, flag_});
        put(out_, op_logical_or, {bool_, now, before, outside});
        put(out_, op_store, {flag_, now});
        put(out_, op_f_convert, {half_, narrow, o[1]});
        put(roundings_, op_decorate, {narrow, decoration_rounding_mode, rounding_to_even});
        out_.push_back(instruction_word(op_store, o.size()));
        out_.insert(out_.end(), {o[0], narrow});
        out_.insert(out_.end(), o.begin() + 2, o.end());
    }

    // At the end of the function: whether there was an overflow.
    void tell() {
        const uint32_t flag = id(), told = id(), end = id(), word = id(), old = id();
        put(out_, op_load, {bool_, flag, flag_});
        put(out_, op_selection_merge, {end, 0});
        put(out_, op_branch_conditional, {flag, told, end});
        put(out_, op_label, {told});
        put(out_, op_access_chain, {word_pointer_, word, overflow_, zero_, zero_});
        put(out_, op_atomic_or, {uint_, old, word, one_, zero_, one_});
        put(out_, op_branch, {end});
        put(out_, op_label, {end});
        put(out_, op_return, {});
    }

    const SpirvWords &words_;
    const BufferFacts facts_;
    uint32_t next_, overflow_binding_ = 0;
    std::set<uint32_t> buffers_, pointers_, structs_, arrays_,
        elements_; // ids: variables, their types, pointers into them
    uint32_t half_ = 0, half_pointer_ = 0, uint_ = 0, bool_ = 0, word_pointer_ = 0, overflow_ = 0;
    uint32_t flag_pointer_ = 0, flag_ = 0, false_ = 0, most_ = 0, least_ = 0, zero_ = 0, one_ = 0;
    SpirvWords decorations_, roundings_, types_, out_;
    size_t roundings_at_ = 0;
    bool extended_ = false, decorated_ = false, in_function_ = false;
};

} // namespace

Fp16Kernel for_fp16(const std::vector<uint32_t> &words, const std::set<uint32_t> &bindings) {
    return Fp16Rewrite(words, bindings).run();
}

bool stores_fp16(std::string_view kernel, ArgKind kind) {
    const auto found = std::find_if(std::begin(in_fp16), std::end(in_fp16),
                                    [&](const Activations &row) { return row.kernel == kernel; });
    if (found == std::end(in_fp16)) return false;
    return kind == ArgKind::input ? found->taken : kind == ArgKind::output && found->given;
}

} // namespace longwave::schedules
