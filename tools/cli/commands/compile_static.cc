#include "tools/cli/commands/compile_static.h"
#include "compiler/driver/link_code.h"
#include "formats/artifact/features.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/static_form.h"
#include "formats/artifact/static_model.h"
#include "runtime/watch/watched_cpu.h"
#include "targets/target.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/text.h"
#include "tools/kernels/kernel_call.h"
#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cstring>
#include <longwave/speech_detector.h>
#include <longwave/spotter.h>
#include <memory>

namespace longwave::cli {
namespace {

// Stack of the runtime above a kernel on a CPU of 32 bits. static_m55_test measures 840 bytes at most:
// this leaves room for other paths and compilers.
constexpr uint64_t runtime_stack = 1536;

bool runs_on_this_machine(const std::string &target) {
    const targets::Target *found = targets::find(target);
    return found && kernels::host_runs(*found);
}

// The tables that the first target which runs here makes: the target itself, or this machine's own.
Expected<std::vector<uint8_t>> derived_tables(const std::vector<uint8_t> &artifact,
                                              const std::string &variant) {
    std::vector<uint8_t> tables;
    const auto keep = [](void *to, const uint8_t *from, uint64_t bytes) {
        if (from) static_cast<std::vector<uint8_t> *>(to)->assign(from, from + bytes);
    };
    const std::unique_ptr<lw_device, void (*)(lw_device *)> device(
        runtime::watched_cpu_create(nullptr, &tables, keep), runtime::watched_cpu_destroy);
    lw_open_options options = {};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.memory_limit = UINT64_MAX; // this program compiled it
    options.variant = variant.c_str();
    options.device = device.get();
    lw_model *model = nullptr;
    LW_TRY(status_of(lw_model_open_memory(artifact.data(), artifact.size(), &options, &model),
                     "the compiled model"));
    lw_model_close(model);
    return tables;
}

using Bytes = std::vector<uint8_t>;

// What lies in the program and what lies beside it.
struct Constants {
    Bytes contained; // StaticModel, artifact and offsets. The address of the code is the linker's
    Bytes weights;   // with their WeightsFront; empty: they are in the artifact
};

Constants constants_of(const targets::Target &target, Bytes artifact, std::vector<uint32_t> entries) {
    if (target.thumb)
        for (uint32_t &entry : entries) entry |= 1; // a call needs to know
    Constants made;
    artifact::StaticModel front{};
    std::memcpy(front.magic, artifact::static_magic, sizeof front.magic);
    front.layout = artifact::static_layout;
    front.machine = target.elf_machine;
    front.functions = static_cast<uint32_t>(entries.size());
    front.features = target.features;
    if (target.separate_weights) {
        const Bytes weights = artifact::take_weights(artifact);
        artifact::WeightsFront apart{};
        std::memcpy(apart.magic, artifact::weights_magic, sizeof apart.magic);
        uint8_t digest[artifact::hash_bytes];
        artifact::hash(weights.data(), weights.size(), digest);
        std::memcpy(&apart.stamp, digest, sizeof apart.stamp);
        if (apart.stamp == 0) apart.stamp = 1;
        apart.bytes = weights.size();
        front.weights = apart.stamp;
        made.weights.resize(sizeof apart);
        std::memcpy(made.weights.data(), &apart, sizeof apart);
        made.weights.insert(made.weights.end(), weights.begin(), weights.end());
    }
    front.file = sizeof front;
    front.file_bytes = artifact.size();
    front.entries = (front.file + artifact.size() + 63) / 64 * 64;
    made.contained.resize(front.entries + entries.size() * sizeof entries[0]);
    uint8_t *to = made.contained.data();
    std::memcpy(to, &front, sizeof front);
    std::memcpy(to + front.file, artifact.data(), artifact.size());
    if (!entries.empty()) std::memcpy(to + front.entries, entries.data(), entries.size() * sizeof entries[0]);
    return made;
}

struct FreeBytes {
    void operator()(void *memory) const { std::free(memory); }
};
using Memory = std::unique_ptr<uint8_t, FreeBytes>;
Memory aligned(size_t bytes) {
    return Memory(static_cast<uint8_t *>(std::aligned_alloc(64, (bytes + 63) / 64 * 64)));
}

// What the runtime asks for, from the runtime: the model is opened as the target's program would,
// but for its code, which nothing calls. On 32-bit targets pointers are shorter, and so the sizes
// are larger than needed.
Status measure(const Constants &constants, StaticSizes &sizes) {
    const Memory copy = aligned(constants.contained.size()), weights = aligned(constants.weights.size());
    std::memcpy(copy.get(), constants.contained.data(), constants.contained.size());
    std::copy(constants.weights.begin(), constants.weights.end(), weights.get());
    artifact::StaticModel &front = *reinterpret_cast<artifact::StaticModel *>(copy.get());
    front.machine = artifact::own_machine;
    front.features = 0;
    const lw_static_model *model = reinterpret_cast<const lw_static_model *>(copy.get());
    size_t size = 0, alignment = 0;
    LW_TRY(status_of(lw_model_static_size(model, &size, &alignment), "the static model"));
    sizes.model = size;
    const Memory memory = aligned(size);
    lw_model *opened = nullptr;
    LW_TRY(status_of(lw_model_open_static_weights(model, constants.weights.empty() ? nullptr : weights.get(),
                                                  constants.weights.size(), memory.get(), size, &opened),
                     "the static model"));
    lw_model_info info = {};
    info.struct_size = sizeof info;
    LW_TRY(status_of(lw_model_get_info(opened, &info), "the static model"));
    sizes.block = info.stream_block;
    sizes.run = info.has_run ? info.run_memory_bytes : 0;
    lw_input_info input = {};
    input.struct_size = sizeof input;
    LW_TRY(status_of(lw_model_input(opened, 0, &input), "the static model"));
    for (uint32_t entry = 0; entry < info.stream_entries; ++entry) {
        lw_stream_entry_info about = LW_STREAM_ENTRY_INFO_INIT;
        LW_TRY(status_of(lw_model_stream_entry(opened, entry, &about), "the static model"));
        lw_stream_options options = LW_STREAM_OPTIONS_INIT;
        options.block = about.block;
        options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
        LW_TRY(status_of(lw_stream_size(opened, &options, &size, &alignment), "the static model"));
        sizes.stream = std::max<uint64_t>(sizes.stream, size);
    }
    lw_spotter_options spotter = {};
    spotter.struct_size = sizeof spotter;
    spotter.format = LW_S16;
    if (lw_spotter_size(opened, &spotter, &size, &alignment) == LW_OK) sizes.spotter = size;
    lw_speech_detector_options detector = LW_SPEECH_DETECTOR_OPTIONS_INIT;
    detector.format = LW_S16;
    if (lw_speech_detector_size(opened, &detector, &size, &alignment) == LW_OK) sizes.speech_detector = size;
    lw_model_close(opened);
    return {};
}

} // namespace

StaticLibrary::StaticLibrary(const CompileFlags &flags, compiler::Options options, std::string path)
    : path_(std::move(path)), options_(std::move(options)) {
    if (!flags.emit_static()) return;
    target_ = options_.targets[0];
    if (!runs_on_this_machine(target_) && !host_target().empty())
        options_.targets.insert(options_.targets.begin(), host_target());
}

std::string StaticLibrary::beside(const std::string &ending) const {
    const std::string suffix = ".a";
    return (path_.ends_with(suffix) ? path_.substr(0, path_.size() - suffix.size()) : path_) + ending;
}
std::string StaticLibrary::header_path() const { return beside(".h"); }
std::string StaticLibrary::weights_path() const {
    // Null for a name that is none, which the compilation refuses.
    const targets::Target *target = targets::find(target_);
    return target && target->separate_weights ? beside(".weights") : "";
}

Status StaticLibrary::prepare(std::vector<uint8_t> &artifact) const {
    LW_ASSIGN(const std::vector<uint8_t> tables, derived_tables(artifact, options_.targets[0]));
    LW_ASSIGN(artifact, artifact::with_derived_tables(artifact, tables));
    return {};
}

Status StaticLibrary::write(const std::vector<uint8_t> &artifact, nlohmann::ordered_json &report) {
    const targets::Target &target = *targets::find(target_);
    const std::string name = report.value("name", "");
    LW_ASSIGN(const compiler::LinkedCode code,
              compiler::link_code(artifact::kernel_specs(artifact), target_, options_));
    uint8_t digest[artifact::hash_bytes];
    artifact::hash(code.image.data(), code.image.size(), digest);
    artifact::Digest hash;
    std::copy_n(digest, hash.size(), hash.begin());
    LW_ASSIGN(const std::vector<uint8_t> bare, artifact::without_code(artifact, target_, hash));
    const Constants constants = constants_of(target, bare, code.entries);
    sizes_.code = code.image.size();
    if (code.stack_bytes > 0) sizes_.stack = code.stack_bytes + runtime_stack;
    sizes_.constants = constants.contained.size();
    sizes_.weights = constants.weights.size();
    LW_TRY(measure(constants, sizes_));
    LW_ASSIGN(const std::vector<uint8_t> library,
              compiler::static_library(static_symbol(name), target_, code.image, constants.contained));
    const std::string header = static_header(name, target_, sizes_);
    LW_TRY(write_output(header_path(),
                        std::span(reinterpret_cast<const uint8_t *>(header.data()), header.size())));
    if (sizes_.weights > 0) LW_TRY(write_output(weights_path(), constants.weights));
    LW_TRY(write_output(path_, library));
    report["output"] = path_;
    report["static"] = {{"target", target_},
                        {"header", header_path()},
                        {"symbol", static_symbol(name)},
                        {"code_bytes", sizes_.code},
                        {"constant_bytes", sizes_.constants},
                        {"model_bytes", sizes_.model},
                        {"stream_bytes", sizes_.stream},
                        {"spotter_bytes", sizes_.spotter}};
    if (sizes_.speech_detector > 0) report["static"]["speech_detector_bytes"] = sizes_.speech_detector;
    if (sizes_.stack > 0) report["static"]["stack_bytes"] = sizes_.stack;
    if (sizes_.weights > 0)
        report["static"].update({{"weights", weights_path()}, {"weights_bytes", sizes_.weights}});
    return {};
}

std::string StaticLibrary::text() const {
    return "static    " + target_ + ": code " + bytes_text(sizes_.code) + " · constants " +
           bytes_text(sizes_.constants) +
           (sizes_.weights > 0 ? " · weights " + bytes_text(sizes_.weights) : "") +
           " · memory of the model " + bytes_text(sizes_.model) +
           (sizes_.stream > 0 ? " · of a stream " + bytes_text(sizes_.stream) : "") + "\nwrote     " + path_ +
           (sizes_.weights > 0 ? ", " + weights_path() : "") + " and " + header_path() + "\n";
}

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
