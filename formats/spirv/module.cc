#include "formats/spirv/module.h"
#include <algorithm>
#include <cstring>

namespace longwave::spirv {

static_assert(spirv_magic == spv::MagicNumber);

void expect(bool condition, const char *fault) {
    if (!condition) throw Fault(fault);
}

void put(Words &to, spv::Op op, Operands operands) {
    to.push_back(static_cast<uint32_t>(operands.size() + 1) << spv::WordCountShift | op);
    to.insert(to.end(), operands.begin(), operands.end());
}

void put(Words &to, spv::Op op, std::initializer_list<uint32_t> operands) {
    put(to, op, Operands(operands.begin(), operands.size()));
}

Words words_of(std::string_view text) {
    Words words(text.size() / sizeof(uint32_t) + 1);
    std::memcpy(words.data(), text.data(), text.size());
    return words;
}

std::string text_of(Operands words) {
    const char *first = reinterpret_cast<const char *>(words.data());
    return {first, strnlen(first, words.size_bytes())};
}

namespace {

bool is_type(spv::Op op) { return op >= spv::OpTypeVoid && op <= spv::OpTypeForwardPointer; }
bool is_annotation(spv::Op op) { return op >= spv::OpDecorate && op <= spv::OpGroupMemberDecorate; }

// Puts each instruction into the section of its module that it belongs to.
void split(Module &module, const Words &words) {
    Words *section = &module.preamble;
    each_instruction(Words(words.begin() + spirv_header, words.end()), [&](spv::Op op, Operands operands) {
        if (section == &module.preamble && is_annotation(op)) section = &module.annotations;
        if (section != &module.functions && section != &module.declarations && is_type(op))
            section = &module.declarations;
        if (op == spv::OpFunction) section = &module.functions;
        put(*section, op, operands);
    });
}

} // namespace

// What a module says of its ids, before it is put together.
struct Module::Facts {
    std::map<uint32_t, uint32_t> bindings, strides, pointees, members, elements, variables;

    static uint32_t at(const std::map<uint32_t, uint32_t> &map, uint32_t id) {
        const auto found = map.find(id);
        return found == map.end() ? 0 : found->second;
    }

    void decorate(Module &module, Operands o) {
        if (o.size() != 3) return;
        if (o[1] == spv::DecorationBinding) bindings[o[0]] = o[2];
        if (o[1] == spv::DecorationDescriptorSet) module.sets[o[0]] = o[2];
        if (o[1] == spv::DecorationArrayStride) strides[o[0]] = o[2];
        if (o[1] == spv::DecorationBuiltIn) module.built_ins[o[0]] = o[2];
    }

    void declare(Module &module, spv::Op op, Operands o) {
        if (is_type(op) && !o.empty()) {
            Words type{static_cast<uint32_t>(op)};
            type.insert(type.end(), o.begin() + 1, o.end());
            module.types_[type] = o[0];
        }
        if (op == spv::OpTypeRuntimeArray && o.size() == 2) elements[o[0]] = o[1];
        if (op == spv::OpTypeStruct && o.size() == 2) members[o[0]] = o[1], ++module.blocks_of[o[1]];
        if (op == spv::OpTypePointer && o.size() == 3) pointees[o[0]] = o[2];
        if (op == spv::OpVariable && o.size() >= 3) variables[o[1]] = o[0];
    }

    Buffer buffer(uint32_t variable, uint32_t binding) const {
        Buffer buffer{.binding = binding};
        buffer.pointer = at(variables, variable);
        buffer.block = at(pointees, buffer.pointer);
        buffer.array = at(members, buffer.block);
        buffer.element = at(elements, buffer.array);
        buffer.stride = at(strides, buffer.array);
        return buffer;
    }
};

Module Module::parse(const Words &words) {
    expect(words.size() > spirv_header && words[0] == spirv_magic, "it is not a SPIR-V module");
    Module module;
    std::copy_n(words.begin(), spirv_header, module.header.begin());
    split(module, words);
    Facts facts;
    each_instruction(module.preamble, [&](spv::Op op, Operands o) {
        if (op == spv::OpName && o.size() > 1) module.names[o[0]] = text_of(o.subspan(1));
        if (op == spv::OpExecutionMode && o.size() == 5 && o[1] == spv::ExecutionModeLocalSize)
            module.local = {o[2], o[3], o[4]};
    });
    each_instruction(module.annotations, [&](spv::Op op, Operands o) {
        if (op == spv::OpDecorate) facts.decorate(module, o);
    });
    each_instruction(module.declarations, [&](spv::Op op, Operands o) { facts.declare(module, op, o); });
    for (const auto &[variable, binding] : facts.bindings)
        module.buffers[variable] = facts.buffer(variable, binding);
    each_instruction(module.functions,
                     [&](spv::Op op, Operands) { module.function_count += op == spv::OpFunction; });
    return module;
}

Words Module::assemble() const {
    Words words(header.begin(), header.end());
    for (const Words *section : {&preamble, &annotations, &declarations, &functions})
        words.insert(words.end(), section->begin(), section->end());
    return words;
}

uint32_t Module::find_type(spv::Op op, std::initializer_list<uint32_t> operands) const {
    Words type{static_cast<uint32_t>(op)};
    type.insert(type.end(), operands);
    const auto found = types_.find(type);
    return found == types_.end() ? 0 : found->second;
}

} // namespace longwave::spirv
