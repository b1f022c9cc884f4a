#include "tools/cli/files/static_header.h"
#include "formats/artifact/features.h"
#include "targets/target.h"
#include "tools/cli/output/text.h"
#include <cctype>

namespace longwave::cli {
namespace {

// A program for another CPU does not compile, rather than crash. It may lack flags for the vectors
// of a CPU that has them, but Thumb code with Helium is for few CPUs.
std::string guard_of(const targets::Target &target) {
    struct Guard {
        const char *condition, *cpu;
    };
    const auto guard = [&]() -> Guard {
        switch (target.elf_machine) {
        case artifact::machine_x86_64: return {"defined(__x86_64__) || defined(_M_X64)", "x86-64"};
        case artifact::machine_aarch64: return {"defined(__aarch64__) || defined(_M_ARM64)", "64-bit ARM"};
        case artifact::machine_arm:
            if (target.thumb)
                return {"defined(__ARM_FEATURE_MVE) && __ARM_FEATURE_MVE >= 3",
                        "a Cortex-M with Helium, such as M55 or M85"};
            return {"defined(__arm__)", "32-bit ARM"};
        default: return {"", ""};
        }
    }();
    if (!*guard.condition) return "";
    return std::string("#if !(") + guard.condition + ")\n#error \"this model has code for " + guard.cpu +
           ": compile the program for that CPU, or the model for this one (longwave compile "
           "--target)\"\n#endif\n";
}

} // namespace

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
    const targets::Target *known = targets::find(target);
    std::string text =
        "/* A model for " + target +
        ", written by `longwave compile --emit static`. Link the library beside this file. */\n"
        "#ifndef " +
        prefix + "_H\n#define " + prefix + "_H\n" + (known ? guard_of(*known) : "") +
        "#include <longwave/longwave.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n"
        "/** For " +
        open +
        ". */\n"
        "extern const lw_static_model " +
        symbol +
        ";\n"
        "#ifdef __cplusplus\n}\n#endif\n\n";
    const auto macro = [&](const char *what, uint64_t value, const char *meaning) {
        if (value > 0)
            text += format("#define %s_%s %llu /* %s */\n", prefix.c_str(), what,
                           static_cast<unsigned long long>(value), meaning);
    };
    macro("ALIGNMENT", 64, "of each memory below");
    macro("MODEL_BYTES", sizes.model, ("memory for " + open).c_str());
    macro("STREAM_BYTES", sizes.stream, "memory for lw_stream_init, with any entry and the default queue");
    macro("SPOTTER_BYTES", sizes.spotter,
          "memory for lw_spotter_init with the model's own times, its stream included");
    macro("SPEECH_DETECTOR_BYTES", sizes.speech_detector,
          "memory for lw_speech_detector_init, its stream included");
    macro("RUN_BYTES", sizes.run, "that lw_runner_create takes from the model's memory beyond MODEL_BYTES");
    macro("STACK_BYTES", sizes.stack,
          "stack of a call of the library, at most; your own frames and interrupts come on top");
    macro("BLOCK", sizes.block, "input ticks that the stream computes at once");
    macro("WEIGHTS_BYTES", sizes.weights, "the file of weights, for lw_model_open_static_weights");
    macro("CODE_BYTES", sizes.code, "code of the model, read-only");
    macro("CONSTANT_BYTES", sizes.constants,
          sizes.weights > 0 ? "plan of the model, read-only"
                            : "plan, weights and tables of the model, read-only");
    return text + "\n#endif\n";
}

} // namespace longwave::cli
