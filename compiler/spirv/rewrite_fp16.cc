#include "compiler/spirv/rewrite_fp16.h"
#include "compiler/spirv/validate.h"
#include "formats/base/half.h"
#include "formats/spirv/module.h"
#include <algorithm>
#include <bit>

namespace longwave::spirv {

namespace {

class Fp16Rewrite {
public:
    Fp16Rewrite(Module module, const std::set<uint32_t> &bindings)
        : module_(std::move(module)), float_(module_.find_type(spv::OpTypeFloat, {32})),
          four_(float_ ? module_.find_type(spv::OpTypeVector, {float_, 4}) : 0) {
        expect(!module_.find_type(spv::OpTypeFloat, {16}), "it has float16 already");
        expect(module_.function_count == 1, "several functions");
        expect(float_ != 0, "it has no float32");
        for (const auto &[variable, buffer] : module_.buffers) {
            overflow_binding_ = std::max(overflow_binding_, buffer.binding + 1);
            if (!bindings.contains(buffer.binding)) continue;
            check(buffer);
            const bool fours = buffer.element != float_;
            buffers_[variable] = fours;
            arrays_[buffer.array] = fours;
            fours_ = fours_ || fours;
            pointers_.insert(buffer.pointer);
            blocks_.insert(buffer.block);
        }
        expect(buffers_.size() == bindings.size(), "a binding without a buffer");
    }

    Fp16Module run() {
        declare();
        extend_preamble();
        rewrite_annotations();
        rewrite_declarations();
        rewrite_function();
        return {module_.assemble(), overflow_binding_};
    }

private:
    // What an element of a buffer becomes: one number, or four.
    struct Element {
        uint32_t half = 0, pointer = 0;          // types; `pointer` is one to `half`
        uint32_t truth = 0, most = 0, least = 0; // what a comparison gives, and the limits of float16
    };

    void check(const Buffer &buffer) const {
        expect(buffer.block && module_.blocks_of.contains(buffer.array),
               "a buffer that is not a struct of one array");
        expect((buffer.element == float_ && buffer.stride == 4) ||
                   (four_ && buffer.element == four_ && buffer.stride == 16),
               "a buffer whose elements are neither float32 nor fours of them");
        expect(module_.blocks_of.at(buffer.array) == 1, "two buffers of one type");
    }

    uint32_t id() { return module_.new_id(); }
    uint32_t constant(uint32_t type, uint32_t bits) {
        const uint32_t made = id();
        put(new_declarations_, spv::OpConstant, {type, made, bits});
        return made;
    }

    // New types, constants and variables, with their decorations.
    void declare() {
        scalar_ = {id(), id()};
        uint_ = module_.find_type(spv::OpTypeInt, {32, 0});
        bool_ = module_.find_type(spv::OpTypeBool, {});
        if (!uint_) put(new_declarations_, spv::OpTypeInt, {uint_ = id(), 32, 0});
        if (!bool_) put(new_declarations_, spv::OpTypeBool, {bool_ = id()});
        declare_overflow();
        const auto bits = [](double value) { return std::bit_cast<uint32_t>(static_cast<float>(value)); };
        scalar_.truth = bool_;
        scalar_.most = constant(float_, bits(most_half));
        scalar_.least = constant(float_, bits(-most_half));
        declare_pointer(scalar_);
        if (fours_) declare_fours();
        zero_ = constant(uint_, 0);
        one_ = constant(uint_, 1);
    }

    void declare_pointer(const Element &element) {
        put(new_declarations_, spv::OpTypePointer,
            {element.pointer, spv::StorageClassStorageBuffer, element.half});
    }

    void declare_fours() {
        vector_ = {id(), id(), id(), id(), id()};
        put(new_declarations_, spv::OpTypeVector, {vector_.truth, bool_, 4});
        const auto four = [&](uint32_t made, uint32_t of) {
            put(new_declarations_, spv::OpConstantComposite, {four_, made, of, of, of, of});
        };
        four(vector_.most, scalar_.most);
        four(vector_.least, scalar_.least);
        declare_pointer(vector_);
    }

    // The overflow word, and the flag of each thread.
    void declare_overflow() {
        const uint32_t array = id(), block = id(), pointer = id();
        word_pointer_ = id(), overflow_ = id(), flag_pointer_ = id(), false_ = id();
        put(new_declarations_, spv::OpTypeRuntimeArray, {array, uint_});
        put(new_declarations_, spv::OpTypeStruct, {block, array});
        put(new_declarations_, spv::OpTypePointer, {pointer, spv::StorageClassUniform, block});
        put(new_declarations_, spv::OpTypePointer, {word_pointer_, spv::StorageClassUniform, uint_});
        put(new_declarations_, spv::OpVariable, {pointer, overflow_, spv::StorageClassUniform});
        put(new_declarations_, spv::OpTypePointer, {flag_pointer_, spv::StorageClassFunction, bool_});
        put(new_declarations_, spv::OpConstantFalse, {bool_, false_});
        put(new_annotations_, spv::OpDecorate, {array, spv::DecorationArrayStride, 4});
        put(new_annotations_, spv::OpDecorate, {block, spv::DecorationBufferBlock});
        put(new_annotations_, spv::OpMemberDecorate, {block, 0, spv::DecorationOffset, 0});
        put(new_annotations_, spv::OpDecorate, {overflow_, spv::DecorationDescriptorSet, 0});
        put(new_annotations_, spv::OpDecorate, {overflow_, spv::DecorationBinding, overflow_binding_});
    }

    // Capabilities come first, extensions after them.
    void extend_preamble() {
        Words preamble;
        bool extended = false;
        each_instruction(module_.preamble, [&](spv::Op op, Operands o) {
            if (!extended && op != spv::OpCapability) {
                extended = true;
                put(preamble, spv::OpCapability, {spv::CapabilityStorageBuffer16BitAccess});
                for (const char *name : {"SPV_KHR_16bit_storage", "SPV_KHR_storage_buffer_storage_class"})
                    put(preamble, spv::OpExtension, words_of(name));
            }
            put(preamble, op, o);
        });
        module_.preamble = std::move(preamble);
    }

    void rewrite_annotations() {
        Words annotations;
        each_instruction(module_.annotations, [&](spv::Op op, Operands o) {
            const bool decorate = op == spv::OpDecorate;
            if (decorate && o.size() == 3 && o[1] == spv::DecorationArrayStride && arrays_.contains(o[0]))
                return put(annotations, op, {o[0], o[1], arrays_.at(o[0]) ? 8u : 2u});
            // Some drivers take the form before SPIR-V 1.3 (BufferBlock) for a uniform buffer, and
            // then ask for another device feature.
            if (decorate && o.size() == 2 && o[1] == spv::DecorationBufferBlock && blocks_.contains(o[0]))
                return put(annotations, op, {o[0], spv::DecorationBlock});
            put(annotations, op, o);
        });
        annotations.insert(annotations.end(), new_annotations_.begin(), new_annotations_.end());
        module_.annotations = std::move(annotations);
    }

    void rewrite_declarations() {
        constexpr uint32_t storage = spv::StorageClassStorageBuffer;
        Words declarations;
        put(declarations, spv::OpTypeFloat, {scalar_.half, 16});
        if (fours_) put(declarations, spv::OpTypeVector, {vector_.half, scalar_.half, 4});
        each_instruction(module_.declarations, [&](spv::Op op, Operands o) {
            if (op == spv::OpTypePointer && pointers_.contains(o[0]))
                put(declarations, op, {o[0], storage, o[2]});
            else if (op == spv::OpVariable && buffers_.contains(o[1]))
                put(declarations, op, {o[0], o[1], storage});
            else if (op == spv::OpTypeRuntimeArray && arrays_.contains(o[0]))
                put(declarations, op, {o[0], (arrays_.at(o[0]) ? vector_ : scalar_).half});
            else put(declarations, op, o);
        });
        declarations.insert(declarations.end(), new_declarations_.begin(), new_declarations_.end());
        module_.declarations = std::move(declarations);
    }

    void rewrite_function() {
        each_instruction(module_.functions, [&](spv::Op op, Operands o) { rewrite(op, o); });
        module_.functions = std::move(out_);
    }

    void rewrite(spv::Op op, Operands o) {
        if (op == spv::OpLabel && !flag_) {
            put(out_, op, o);
            return put(out_, spv::OpVariable,
                       {flag_pointer_, flag_ = id(), spv::StorageClassFunction, false_});
        }
        if (op == spv::OpAccessChain || op == spv::OpInBoundsAccessChain) return access(op, o);
        if (op == spv::OpLoad && elements_.contains(o[2])) return load(o);
        if (op == spv::OpStore && elements_.contains(o[0])) return store(o);
        if (op == spv::OpReturn) return report_overflow();
        expect((op < spv::OpAtomicLoad || op > spv::OpAtomicXor) && op != spv::OpCopyObject &&
                   op != spv::OpCopyMemory && op != spv::OpPtrAccessChain && op != spv::OpFunctionCall,
               "an access that is neither a load nor a store");
        put(out_, op, o);
    }

    void access(spv::Op op, Operands o) {
        expect(o.size() > 3, "an access to a whole buffer");
        if (!buffers_.contains(o[2])) return put(out_, op, o);
        expect(o.size() == 5, "an access to something else than an element of a buffer");
        const Element &element = buffers_.at(o[2]) ? vector_ : scalar_;
        elements_[o[1]] = &element;
        put(out_, op, {element.pointer, o[1], o[2], o[3], o[4]});
    }

    void load(Operands o) {
        const uint32_t narrow = id();
        Words operands(o.begin(), o.end());
        operands[0] = elements_.at(o[2])->half, operands[1] = narrow;
        put(out_, spv::OpLoad, operands);
        put(out_, spv::OpFConvert, {o[0], o[1], narrow});
    }

    void store(Operands o) {
        const Element &element = *elements_.at(o[0]);
        const uint32_t above = id(), below = id(), before = id(), now = id(), narrow = id();
        uint32_t outside = id();
        put(out_, spv::OpFUnordGreaterThan, {element.truth, above, o[1], element.most});
        put(out_, spv::OpFUnordLessThan, {element.truth, below, o[1], element.least});
        put(out_, spv::OpLogicalOr, {element.truth, outside, above, below});
        if (&element == &vector_) {
            const uint32_t each = outside;
            put(out_, spv::OpAny, {bool_, outside = id(), each});
        }
        put(out_, spv::OpLoad, {bool_, before, flag_});
        put(out_, spv::OpLogicalOr, {bool_, now, before, outside});
        put(out_, spv::OpStore, {flag_, now});
        put(out_, spv::OpFConvert, {element.half, narrow, o[1]});
        put(module_.annotations, spv::OpDecorate,
            {narrow, spv::DecorationFPRoundingMode, spv::FPRoundingModeRTE});
        Words operands(o.begin(), o.end());
        operands[1] = narrow;
        put(out_, spv::OpStore, operands);
    }

    // At the end of the function.
    void report_overflow() {
        const uint32_t flag = id(), report = id(), end = id(), word = id(), old = id();
        put(out_, spv::OpLoad, {bool_, flag, flag_});
        put(out_, spv::OpSelectionMerge, {end, spv::SelectionControlMaskNone});
        put(out_, spv::OpBranchConditional, {flag, report, end});
        put(out_, spv::OpLabel, {report});
        put(out_, spv::OpAccessChain, {word_pointer_, word, overflow_, zero_, zero_});
        // Scope Device is 1, relaxed memory semantics are 0.
        put(out_, spv::OpAtomicOr, {uint_, old, word, one_, zero_, one_});
        put(out_, spv::OpBranch, {end});
        put(out_, spv::OpLabel, {end});
        put(out_, spv::OpReturn, {});
    }

    Module module_;
    const uint32_t float_, four_;
    Element scalar_, vector_;
    bool fours_ = false; // some buffer has them
    uint32_t overflow_binding_ = 0;
    std::set<uint32_t> pointers_, blocks_;         // ids of types
    std::map<uint32_t, bool> buffers_, arrays_;    // of variables and their types: whether of fours
    std::map<uint32_t, const Element *> elements_; // by pointer into a buffer
    uint32_t uint_ = 0, bool_ = 0, word_pointer_ = 0, overflow_ = 0;
    uint32_t flag_pointer_ = 0, flag_ = 0, false_ = 0, zero_ = 0, one_ = 0;
    Words new_annotations_, new_declarations_, out_;
};

} // namespace

Fp16Module rewrite_fp16(const std::vector<uint32_t> &words, const std::set<uint32_t> &bindings) {
    Fp16Module made = Fp16Rewrite(Module::parse(words), bindings).run();
    validate(made.words);
    return made;
}

} // namespace longwave::spirv
