#include "compiler/spirv/chain_module.h"
#include "formats/spirv/module.h"
#include <algorithm>
#include <cstdint>
#include <functional>
#include <spirv-tools/libspirv.hpp>
#include <vector>

namespace longwave::spirv {
namespace {

// The ids of a module, as ids of another module that is being put together.

// Which words of a module are ids. The parser knows the operands of every instruction.
struct IdPlaces {
    std::vector<size_t> at;
    size_t next = spirv_header; // the first word of the next instruction

    static bool is_id(spv_operand_type_t type) {
        return type == SPV_OPERAND_TYPE_ID || type == SPV_OPERAND_TYPE_TYPE_ID ||
               type == SPV_OPERAND_TYPE_RESULT_ID || type == SPV_OPERAND_TYPE_SCOPE_ID ||
               type == SPV_OPERAND_TYPE_MEMORY_SEMANTICS_ID;
    }
    static spv_result_t add(void *places, const spv_parsed_instruction_t *one) {
        IdPlaces &to = *static_cast<IdPlaces *>(places);
        for (uint16_t i = 0; i < one->num_operands; i++)
            if (is_id(one->operands[i].type)) to.at.push_back(to.next + one->operands[i].offset);
        to.next += one->num_words;
        return SPV_SUCCESS;
    }
};

// Replaces every id by number(id), in place. Other operands stay. Throws spirv::Fault for a module
// that the Khronos parser rejects.
void renumber(std::vector<uint32_t> &words, const std::function<uint32_t(uint32_t)> &number) {
    IdPlaces places;
    const spvtools::Context context(SPV_ENV_VULKAN_1_1);
    const spv_result_t parsed = spvBinaryParse(context.CContext(), &places, words.data(), words.size(),
                                               nullptr, IdPlaces::add, nullptr);
    expect(parsed == SPV_SUCCESS, "the parser rejects it");
    for (const size_t at : places.at) words[at] = number(words[at]);
}

// Types that a module may declare once only.
bool is_unique(spv::Op op) {
    return op == spv::OpTypeVoid || op == spv::OpTypeBool || op == spv::OpTypeInt || op == spv::OpTypeFloat ||
           op == spv::OpTypeVector || op == spv::OpTypePointer || op == spv::OpTypeFunction;
}

// The operands of such a type that are ids.
bool is_id(spv::Op op, size_t operand) {
    if (op == spv::OpTypeVector) return operand == 0;
    if (op == spv::OpTypePointer) return operand == 1;
    return op == spv::OpTypeFunction;
}

bool is_replaced(spv::Op op, Operands o) {
    return op == spv::OpVariable && (o[2] == spv::StorageClassInput || o[2] == spv::StorageClassWorkgroup);
}

Words key_of(spv::Op op, Operands operands) {
    Words key{static_cast<uint32_t>(op)};
    key.insert(key.end(), operands.begin(), operands.end());
    return key;
}

// An instruction with an id and a text, and other operands before and after them.
void put_text(Words &to, spv::Op op, Words before, std::string_view text, Operands after = {}) {
    const Words letters = words_of(text);
    before.insert(before.end(), letters.begin(), letters.end());
    before.insert(before.end(), after.begin(), after.end());
    put(to, op, before);
}

} // namespace

Module ChainModule::take(const Words &part) {
    const Module old = Module::parse(part);
    expect(old.function_count == 1, "several functions");
    std::map<uint32_t, uint32_t> numbers; // ids of the chain by those of the part
    take_preamble(old, numbers);
    find_types(old, numbers);
    Words words = part;
    made_.header[1] = std::max(made_.header[1], words[1]);
    renumber(words, [&](uint32_t of) {
        uint32_t &to = numbers[of];
        if (!to) to = id();
        return to;
    });
    Module taken = Module::parse(words);
    each_instruction(taken.declarations, [&](spv::Op op, Operands o) {
        const bool known = is_unique(op) && !declared_.insert(o[0]).second;
        if (!known && !is_replaced(op, o)) declare(op, o);
    });
    for (const auto &[variable, buffer] : taken.buffers)
        if (const auto name = taken.names.find(variable); name != taken.names.end())
            names_[variable] = name->second;
    return taken;
}

void ChainModule::take_preamble(const Module &part, std::map<uint32_t, uint32_t> &numbers) {
    each_instruction(part.preamble, [&](spv::Op op, Operands o) {
        if (op == spv::OpCapability) capabilities_.insert(o[0]);
        if (op == spv::OpExtension) extensions_.insert(text_of(o));
        if (op != spv::OpExtInstImport) return;
        uint32_t &import = imports_[text_of(o.subspan(1))];
        if (!import) import = id();
        numbers[o[0]] = import;
    });
}

// Types of the part that the chain has already take its ids.
void ChainModule::find_types(const Module &part, std::map<uint32_t, uint32_t> &numbers) {
    const auto number = [&](uint32_t of) {
        uint32_t &to = numbers[of];
        if (!to) to = id();
        return to;
    };
    each_instruction(part.declarations, [&](spv::Op op, Operands o) {
        if (!is_unique(op)) return;
        Words operands(o.begin() + 1, o.end());
        for (size_t i = 0; i < operands.size(); i++)
            if (is_id(op, i)) operands[i] = number(operands[i]);
        uint32_t &found = types_[key_of(op, operands)];
        if (!found) found = number(o[0]);
        numbers[o[0]] = found;
    });
}

uint32_t ChainModule::type(spv::Op op, std::initializer_list<uint32_t> operands) {
    const Operands all(operands.begin(), operands.size());
    uint32_t &found = types_[key_of(op, all)];
    if (found) return found;
    found = id();
    declared_.insert(found);
    Words declaration{found};
    declaration.insert(declaration.end(), all.begin(), all.end());
    declare(op, declaration);
    return found;
}

uint32_t ChainModule::constant(uint32_t word) {
    uint32_t &found = constants_[word];
    if (!found) {
        const uint32_t type = type_uint();
        declare(spv::OpConstant, {type, found = id(), word});
    }
    return found;
}

Words ChainModule::assemble(Operands code, std::initializer_list<uint32_t> inputs, uint32_t threads) {
    const uint32_t main = id(), nothing = type(spv::OpTypeVoid, {}),
                   signature = type(spv::OpTypeFunction, {nothing});
    write_preamble(main, inputs, threads);
    Words &function = made_.functions;
    put(function, spv::OpFunction, {nothing, main, spv::FunctionControlMaskNone, signature});
    put(function, spv::OpLabel, {id()});
    function.insert(function.end(), code.begin(), code.end());
    put(function, spv::OpReturn, {});
    put(function, spv::OpFunctionEnd, {});
    return made_.assemble();
}

void ChainModule::write_preamble(uint32_t main, std::initializer_list<uint32_t> inputs, uint32_t threads) {
    Words &to = made_.preamble;
    for (const uint32_t capability : capabilities_) put(to, spv::OpCapability, {capability});
    for (const std::string &name : extensions_) put(to, spv::OpExtension, words_of(name));
    for (const auto &[name, import] : imports_) put_text(to, spv::OpExtInstImport, {import}, name);
    put(to, spv::OpMemoryModel, {spv::AddressingModelLogical, spv::MemoryModelGLSL450});
    put_text(to, spv::OpEntryPoint, {spv::ExecutionModelGLCompute, main}, "main",
             Operands(inputs.begin(), inputs.size()));
    put(to, spv::OpExecutionMode, {main, spv::ExecutionModeLocalSize, threads, 1, 1});
    for (const auto &[buffer, name] : names_) put_text(to, spv::OpName, {buffer}, name);
}

} // namespace longwave::spirv
