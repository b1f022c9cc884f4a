#include "tools/cli/files/static_header.h"
#include "tools/cli/output/text.h"
#include <cctype>

namespace longwave::cli {

std::string static_symbol(const std::string &name) {
    std::string text = "longwave_";
    for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
    return text;
}

std::string static_header(const std::string &name, const std::string &target, const StaticSizes &sizes) {
    const std::string symbol = static_symbol(name);
    const std::string open = sizes.weights > 0 ? "lw_model_open_static_weights" : "lw_model_open_static";
    std::string prefix;
    for (const char c : symbol) prefix += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    std::string text = "/* A model for " + target +
                       ", written by `longwave compile --emit static`. Link the library beside this file. */\n"
                       "#ifndef " + prefix + "_H\n#define " + prefix + "_H\n#include <longwave/longwave.h>\n\n"
                       "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
                       "/** For " + open + ". */\n"
                       "extern const lw_static_model " + symbol + ";\n"
                       "#ifdef __cplusplus\n}\n#endif\n\n";
    const auto macro = [&](const char *what, uint64_t value, const char *meaning) {
        if (value > 0)
            text += format("#define %s_%s %llu /* %s */\n", prefix.c_str(), what, static_cast<unsigned long long>(value), meaning);
    };
    macro("ALIGNMENT", 64, "of each memory below");
    macro("MODEL_BYTES", sizes.model, ("memory for " + open).c_str());
    macro("STREAM_BYTES", sizes.stream, "memory for lw_stream_init, with any entry and the default queue");
    macro("SPOTTER_BYTES", sizes.spotter, "memory for lw_spotter_init with the model's own times, its stream included");
    macro("RUN_BYTES", sizes.run, "that lw_runner_create takes from the model's memory beyond MODEL_BYTES");
    macro("BLOCK", sizes.block, "input ticks that the stream computes at once");
    macro("WEIGHTS_BYTES", sizes.weights, "the file of weights, for lw_model_open_static_weights");
    macro("CODE_BYTES", sizes.code, "code of the model, read-only");
    macro("CONSTANT_BYTES", sizes.constants,
          sizes.weights > 0 ? "plan of the model, read-only"
                            : "plan, weights and tables of the model, read-only");
    return text + "\n#endif\n";
}

} // namespace longwave::cli
