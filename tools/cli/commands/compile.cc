// longwave compile: turns a model folder into one file. It checks that the stream equals the
// offline run before it writes that file.
#include "compiler/driver/compile.h"
#include "formats/artifact/verify.h"
#include "formats/huggingface/huggingface.h"
#include "formats/package/file_bytes.h"
#include "formats/package/json_text.h"
#include "formats/package/layer_types.h"
#include "formats/package/package.h"
#include "targets/target.h"
#include "tools/cli/check/artifact_check.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/commands/compile_flags.h"
#include "tools/cli/commands/compile_static.h"
#include "tools/cli/files/kernel_source.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/report.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include <algorithm>
#include <cstdio>
#include <filesystem>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

const StreamCheck &first_of(const std::vector<StreamCheck> &checks, uint32_t block) {
    return *std::find_if(checks.begin(), checks.end(),
                         [&](const StreamCheck &c) { return c.block == block; });
}

// One line per block, with the worst result of the variants.
std::string text(const ArtifactCheck &checks, bool emit_static) {
    std::string out;
    for (const StreamCheck &check : checks.streams) {
        if (&check != &first_of(checks.streams, check.block)) continue;
        StreamCheck worst = check;
        std::string variants;
        for (const StreamCheck &other : checks.streams) {
            if (other.block != check.block) continue;
            variants += (variants.empty() ? "" : ", ") + other.variant;
            worst.largest_error = std::max(worst.largest_error, other.largest_error);
            worst.bit_equal = worst.bit_equal && other.bit_equal;
        }
        out += format("stream    block %u on %s: ", check.block, variants.c_str()) + to_text(worst) + "\n";
    }
    for (const EntryCheck &walk : checks.walks)
        out += format("entries   %s: ", walk.variants.c_str()) + to_text(walk) + "\n";
    for (const auto &[target, worst] : checks.golden)
        out += format("golden    %s: within %.2g of the limit, in an emulator\n", target.c_str(), worst);
    for (const std::string &name : checks.elsewhere)
        if (const targets::Target *target = targets::find(name); target && !target->loads_code)
            out += format("          %s: checked with the code of this machine\n", name.c_str());
        else
            out += format("          %s: not checked on this machine; %sgive --emulator\n", name.c_str(),
                          emit_static ? "" : "run `longwave verify` on one that has it, or ");
    return out;
}

// Compiled bytes and their report. A signal during the compilation leaves no files and no programs.
Expected<compiler::CompiledPieces> compile_package(package::Package package, compiler::Options options,
                                                   bool quiet) {
    Progress progress;
    if (!quiet)
        options.progress = [&](size_t done, size_t total, const std::string &what) {
            progress.show(done, total, what);
        };
    const Interruptible nothing_left_behind;
    return compiler::compile_pieces(std::move(package), options);
}

// The files that the command reads. The output must not replace one of them.
Status check_output_of(const CompileFlags &flags, const std::string &path) {
    if (path == "-") return {};
    return check_output("-o", path,
                        {flags.package + "/model.json", flags.package + "/weights.safetensors",
                         flags.package + "/config.json", flags.package + "/model.safetensors",
                         flags.package + "/tokenizer.json", flags.sign, flags.kgen, flags.tuning});
}

std::string wrote(const std::string &path, size_t bytes, double seconds, const ordered_json &build) {
    const size_t cached = build.value("kernels_cached", size_t{0});
    const size_t kernels = cached + build.value("kernels_compiled", size_t{0});
    return "wrote     " + path + "  " + bytes_text(bytes) + " · " + seconds_text(seconds) +
           format(", %zu of %zu kernels from the cache\n", cached, kernels);
}

// For a file that does not open with the memory it gets unasked. "" for others.
std::string needs_memory(uint64_t bytes, uint64_t file_bytes) {
    const uint64_t limit = artifact::default_memory_limit(file_bytes);
    if (bytes <= limit) return "";
    return "needs     " + bytes_text(bytes) + " of memory, more than the " + bytes_text(limit) +
           " it gets by default: give --memory " + std::to_string((bytes >> 20) + 1) +
           "M, or in C lw_open_options.memory_limit\n";
}

// A file that is no model folder, by its name.
Status check_folder(const std::string &path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) return {};
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".lw")
        return Status::input(path + ": expected a model folder, found a file: a compiled model, which "
                                    "`longwave inspect` shows");
    for (const char *other :
         {".pt", ".pth", ".ckpt", ".pt2", ".safetensors", ".onnx", ".gguf", ".py", ".nam"})
        if (ending == other)
            return Status::input(
                path + ": expected a model folder, found a file; " +
                (ending == ".onnx" ? "longwave import reads the graph (docs/onnx.md)"
                 : ending == ".nam"
                     ? "longwave import reads the capture (docs/nam.md)"
                     : "python -m longwave.importer makes a folder of PyTorch code (docs/import.md)"));
    return {};
}

// The tokenizer.json of a folder of transformers, which text commands read next to the model.
struct Tokenizer {
    std::string path; // empty: there is none, or no file that it could lie next to
    std::vector<uint8_t> bytes;

    static Expected<Tokenizer> of(const CompileFlags &flags, const std::string &model) {
        constexpr uint64_t most = 256u << 20;
        Tokenizer found;
        const std::string from = flags.package + "/tokenizer.json";
        std::error_code error;
        if (model == "-" || flags.emit_static() || !std::filesystem::exists(from, error)) return found;
        found.path = std::filesystem::path(model).replace_extension("tokenizer.json").string();
        LW_TRY(check_output_of(flags, found.path));
        LW_ASSIGN(found.bytes, package::read_file(from, most));
        return found;
    }
    Status write() const { return path.empty() ? Status() : write_output(path, bytes); }
};

Expected<package::Package> read_huggingface(const CompileFlags &flags) {
    LW_ASSIGN(huggingface::Model model,
              huggingface::read(flags.package, {.context = flags.context, .stream = flags.stream}));
    if (!std::filesystem::exists(flags.package + "/tokenizer.json"))
        model.notes.push_back("the folder has no tokenizer.json; text commands need one (docs/text.md)");
    for (const std::string &note : model.notes) print_text(stderr, "note: %s\n", note.c_str());
    return std::move(model.package);
}

Status compile(const CompileFlags &flags) {
    const double start = now();
    if (flags.package.empty()) return Status::usage("the model folder is missing (longwave compile --help)");
    LW_ASSIGN(compiler::Options options, options_of(flags));
    LW_ASSIGN(const Emulators emulators,
              start_emulators(flags.emulators, options.targets, flags.emulator_timeout));
    LW_TRY(check_folder(flags.package));
    const bool of_transformers = huggingface::is_folder(flags.package);
    if (of_transformers && flags.pack) // its constants are computed from the tensors
        return Status::usage("--pack: not for a folder of save_pretrained; compile the new folder instead");
    if (!of_transformers && flags.context && std::filesystem::exists(flags.package + "/model.json"))
        return Status::usage("--context: only for a folder of save_pretrained (docs/huggingface.md)");
    LW_ASSIGN(package::Package package,
              of_transformers ? read_huggingface(flags) : package::read(flags.package));
    const std::string path =
        flags.output.empty() ? package.name + (flags.emit_static() ? ".a" : ".lw") : flags.output;
    StaticLibrary library(flags, options, path);
    const std::string kernels_path = flags.no_code ? kernel_source_path(path) : "";
    LW_TRY(check_output_of(flags, path));
    LW_ASSIGN(const Tokenizer tokenizer, of_transformers ? Tokenizer::of(flags, path) : Tokenizer());
    if (flags.no_code) LW_TRY(check_output_of(flags, kernels_path));
    if (flags.emit_static())
        for (const std::string &file : {library.header_path(), library.weights_path()})
            if (!file.empty()) LW_TRY(check_output_of(flags, file));
    LW_ASSIGN(compiler::CompiledPieces compiled,
              compile_package(std::move(package), library.options(), flags.quiet));
    ordered_json report = ordered_json::parse(compiled.report, nullptr, false);
    if (report.is_discarded()) return Status::internal("the compile report is not valid JSON");
    const ordered_json build = report.value("build", ordered_json::object());
    if (build.contains("no_cache"))
        print_text(
            stderr,
            "note: no kernel cache, so every kernel was compiled: %s (choose a folder with --cache FOLDER)\n",
            build["no_cache"].get<std::string>().c_str());
    const ordered_json gpu = report.value("gpu", ordered_json::object());
    for (const auto &[key, what] : {std::pair{"no_runs", "offline runs"}, std::pair{"no_streams", "streams"}})
        if (gpu.contains(key))
            print_text(stderr, "note: no %s on %s, only on the CPU:\n%s\n", what,
                       gpu["name"].get<std::string>().c_str(), gpu[key].get<std::string>().c_str());

    PublicKey key = {};
    const bool without =
        flags.no_code || flags.no_golden; // then the file is another than the one that was checked
    const bool sign_now = !flags.sign.empty() && !without;
    if (sign_now) {
        LW_ASSIGN(key, sign(compiled.artifact, flags.sign, flags.version));
    }
    LW_ASSIGN(UnwrittenArtifact artifact,
              UnwrittenArtifact::of(std::move(compiled.artifact), path, without || flags.emit_static()));
    if (flags.emit_static()) LW_TRY(library.prepare(artifact.bytes()));
    ArtifactCheck checks;
    if (!flags.no_check) {
        const auto open = [&](const std::string &target) {
            const auto emulator = emulators.find(target);
            return artifact.open(target, emulator == emulators.end() ? nullptr : emulator->second);
        };
        LW_ASSIGN(checks, check_artifact(open, report, flags.walks, emulators));
    }
    FILE *out = path == "-" ? stderr : stdout;
    if (flags.json) {
        report["proof"] = {{"holds", checks.hold()},
                           {"variants", ordered_json::array()},
                           {"not_proved_here", checks.elsewhere}};
        for (const StreamCheck &stream : checks.streams)
            report["proof"]["variants"].push_back(to_json(stream));
        for (const EntryCheck &walk : checks.walks)
            package::list_in(report["proof"], "walks").push_back(to_json(walk));
        report["output"] = path;
    } else {
        LW_ASSIGN(const std::string lines, report_text(report, "the compile report"));
        print_text(out, "%s%s", lines.c_str(), text(checks, flags.emit_static()).c_str());
    }
    // A file that failed its check must not reach the disk.
    if (!checks.hold()) {
        if (flags.json) print_text(out, "%s\n", json_line(report).c_str());
        return Status::check("the stream does not equal the offline run; no file was written");
    }
    if (flags.emit_static()) {
        LW_TRY(library.write(artifact.bytes(), report));
        const std::string last = flags.json ? json_line(report) + "\n" : library.text();
        print_text(out, "%s", last.c_str());
        return {};
    }
    if (flags.no_golden) {
        LW_ASSIGN(artifact.bytes(), artifact::without_golden(artifact.bytes()));
    }
    std::string kernels;
    if (flags.no_code) { // checked with its code, and only then without
        const std::string name = report.value("name", "");
        LW_ASSIGN(artifact::Detached detached, artifact::detach_code(artifact.bytes()));
        artifact.bytes() = std::move(detached.artifact);
        kernels = kernel_source(name, detached.code);
        if (flags.json) report["kernels_file"] = kernels_path;
    }
    if (!flags.sign.empty()) {
        if (!sign_now) {
            LW_ASSIGN(key, sign(artifact.bytes(), flags.sign, flags.version));
        }
        if (flags.json) report["signed_by"] = to_hex(key);
        else print_text(out, "signed    by %s\n", to_hex(key).c_str());
    }
    if (flags.no_code)
        LW_TRY(write_output(kernels_path,
                            std::span(reinterpret_cast<const uint8_t *>(kernels.data()), kernels.size())));
    const uint64_t size = without ? artifact.bytes().size() : artifact.size();
    if (without) report["artifact_bytes"] = size;
    LW_TRY(std::move(artifact).write());
    LW_TRY(tokenizer.write());
    if (flags.json && !tokenizer.path.empty()) report["tokenizer_file"] = tokenizer.path;
    else if (!tokenizer.path.empty())
        print_text(out, "wrote     %s  %s\n", tokenizer.path.c_str(),
                   bytes_text(tokenizer.bytes.size()).c_str());
    if (flags.no_code && !flags.json)
        print_text(out, "wrote     %s  %s\n", kernels_path.c_str(), bytes_text(kernels.size()).c_str());
    const std::string last = flags.json ? json_line(report) + "\n"
                                        : wrote(path, size, now() - start, build) +
                                              needs_memory(report.value("open_bytes", uint64_t{0}), size);
    print_text(out, "%s", last.c_str());
    return {};
}

// The types that model.json may name, one per line, or as a JSON list.
Status list_layers(bool json) {
    ordered_json names = ordered_json::array();
    for (const package::LayerType &type : package::layer_types()) names.push_back(type.name);
    std::sort(names.begin(), names.end());
    if (json) print_text(stdout, "%s\n", json_line(names).c_str());
    else
        for (const auto &name : names) print_text(stdout, "%s\n", name.get<std::string>().c_str());
    return {};
}

} // namespace

Command add_compile(CommandLine &program) {
    auto flags = std::make_shared<CompileFlags>();
    CommandLine *app = program.add_subcommand(
        "compile",
        "Compile a model folder into one .lw file, after checking the stream against the offline run.");
    add_compile_flags(*app, *flags);
    return {app, [flags] { return flags->layers ? list_layers(flags->json) : compile(*flags); }};
}

} // namespace longwave::cli
