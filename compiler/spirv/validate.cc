#include "compiler/spirv/validate.h"
#include "formats/spirv/module.h"
#include <spirv-tools/libspirv.hpp>

namespace longwave::spirv {

void validate(const std::vector<uint32_t> &words) {
    spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
    std::string message = "the validator says nothing more";
    bool first = true;
    tools.SetMessageConsumer(
        [&](spv_message_level_t, const char *, const spv_position_t &, const char *text) {
            if (first) message = text;
            first = false;
        });
    if (!tools.Validate(words)) throw Fault("it is not valid for Vulkan 1.1: " + message);
}

} // namespace longwave::spirv
