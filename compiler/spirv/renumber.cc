#include "compiler/spirv/renumber.h"
#include "formats/spirv/module.h"
#include <spirv-tools/libspirv.hpp>

namespace longwave::spirv {

namespace {

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

} // namespace

void renumber(std::vector<uint32_t> &words, const std::function<uint32_t(uint32_t)> &number) {
    IdPlaces places;
    const spvtools::Context context(SPV_ENV_VULKAN_1_1);
    const spv_result_t parsed = spvBinaryParse(context.CContext(), &places, words.data(), words.size(),
                                               nullptr, IdPlaces::add, nullptr);
    expect(parsed == SPV_SUCCESS, "the parser rejects it");
    for (const size_t at : places.at) words[at] = number(words[at]);
}

} // namespace longwave::spirv
