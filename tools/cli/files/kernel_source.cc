#include "tools/cli/files/kernel_source.h"
#include "tools/cli/output/text.h"
#include <cctype>
#include <cinttypes>
#include <cstring>

namespace longwave::cli {
namespace {

std::string c_name(const std::string &name) {
    std::string text = "longwave_kernels_";
    for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return text;
}

std::string bytes_of(const artifact::Digest &digest) {
    std::string text;
    for (const uint8_t byte : digest) text += format("%u,", byte);
    return text;
}

} // namespace

std::string kernel_source_path(const std::string &model_path) {
    const std::string suffix = ".lw";
    return (model_path.ends_with(suffix) ? model_path.substr(0, model_path.size() - suffix.size())
                                         : model_path) +
           ".kernels.c";
}

std::string kernel_source(const std::string &name, const artifact::DetachedCode &code) {
    const std::string table = c_name(name), image = table + "_image";
    std::string text = "/* Kernels of a model for " + code.target +
                       ", written by `longwave compile --no-code`. Compile without -flto. Use:\n"
                       " *   extern const lw_model_kernels " +
                       table +
                       ";\n"
                       " *   options.kernels = &" +
                       table +
                       "; (lw_open_options) */\n"
                       "#include <longwave/longwave.h>\n\n"
                       "__asm__(\".pushsection .text." +
                       table +
                       ",\\\"ax\\\",%progbits\\n\"\n"
                       "        \".balign 4096\\n" +
                       image + ":\\n\"\n";
    for (size_t i = 0; i < code.image.size(); i += 32) { // the image is a multiple of 64 bytes
        text += "        \".quad ";
        for (size_t j = i; j < i + 32; j += 8) {
            uint64_t eight;
            std::memcpy(&eight, code.image.data() + j, sizeof eight);
            text += format("%s0x%" PRIx64, j > i ? "," : "", eight);
        }
        text += "\\n\"\n";
    }
    std::string list;
    for (size_t k = 0; k < code.functions.size(); ++k) {
        const artifact::DetachedCode::Function &function = code.functions[k];
        const std::string symbol = format("%s_%zu", table.c_str(), k);
        text += format("        \".set %s,%s+%u\\n.type %s,%%function\\n\"\n", symbol.c_str(), image.c_str(),
                       function.offset, symbol.c_str());
        list += "    {sizeof(lw_model_kernel), {" + bytes_of(function.hash) + "}, " +
                format("%" PRIu64, function.scratch) + ", " + symbol + "},\n";
    }
    text += "        \".popsection\\n\");\n\n";
    for (size_t k = 0; k < code.functions.size(); ++k)
        text +=
            format("extern __attribute__((visibility(\"hidden\"))) int %s_%zu(void **);\n", table.c_str(), k);
    return text + "static const lw_model_kernel list[] = {\n" + list + "};\n" + "const lw_model_kernels " +
           table + " = {sizeof(lw_model_kernels), {" + bytes_of(code.hash) + "}, list, " +
           std::to_string(code.functions.size()) + "};\n";
}

} // namespace longwave::cli
