// A SPIR-V module, parsed once: its four sections as words, and what its ids stand for. Passes
// change the sections and put them together again. Instruction numbers are those of the Khronos
// headers.
// Source: Khronos SPIR-V specification 1.6, sections 2.3 (physical layout) and 2.4 (logical
// layout).
#pragma once
#include "formats/spirv/spirv.h"
#include <array>
#include <initializer_list>
#include <map>
#include <span>
#include <spirv/unified1/spirv.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace longwave::spirv {

using Words = std::vector<uint32_t>;
using Operands = std::span<const uint32_t>;

// A module that cannot be parsed, or that a pass cannot change. The message says why.
struct Fault : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};
void expect(bool condition, const char *fault); // throws Fault

// Appends one instruction.
void put(Words &to, spv::Op op, Operands operands);
void put(Words &to, spv::Op op, std::initializer_list<uint32_t> operands);

// Operands of a text: UTF-8 with a zero at the end, in words.
Words words_of(std::string_view text);
std::string text_of(Operands words);

// Calls visit(op, operands) for each instruction of a section.
template <class Visit> void each_instruction(const Words &section, const Visit &visit) {
    for (size_t at = 0; at < section.size();) {
        const size_t count = section[at] >> spv::WordCountShift;
        expect(count > 0 && count <= section.size() - at, "an instruction is longer than the module");
        visit(static_cast<spv::Op>(section[at] & spv::OpCodeMask),
              Operands(section).subspan(at + 1, count - 1));
        at += count;
    }
}

// A variable with a binding: a pointer to a struct ("block") of one runtime array. Ids are 0 where
// the variable has another form.
struct Buffer {
    uint32_t binding = 0;
    uint32_t pointer = 0, block = 0, array = 0, element = 0; // ids of types
    uint32_t stride = 0;                                     // bytes from element to element
};

struct Module {
    // Throws Fault for words that are not a whole module.
    static Module parse(const Words &words);
    Words assemble() const;

    uint32_t new_id() { return header[bound]++; }
    // The id of a type by its instruction and the operands after its id; 0: the module has no such
    // type.
    uint32_t find_type(spv::Op op, std::initializer_list<uint32_t> operands) const;

    static constexpr size_t bound = 3; // all ids are smaller than this word of the header
    std::array<uint32_t, spirv_header> header{};
    // In the order of a module: capabilities to names; decorations; types, constants and global
    // variables; functions.
    Words preamble, annotations, declarations, functions;

    std::map<uint32_t, std::string> names;  // by id
    std::map<uint32_t, uint32_t> sets;      // descriptor sets, by id of the variable
    std::map<uint32_t, uint32_t> built_ins; // spv::BuiltIn by id of the variable
    std::map<uint32_t, Buffer> buffers;     // by id of the variable
    std::map<uint32_t, uint32_t> blocks_of; // how many structs of one member hold the type
    std::array<uint32_t, 3> local{};        // threads of a workgroup; zeros: not constant
    size_t function_count = 0;

private:
    struct Facts;
    std::map<Words, uint32_t> types_; // ids by instruction and operands
};

} // namespace longwave::spirv
