// longwave compile: a model package becomes one file, and the stream of it is proved equal to the whole before that file is written.
#include "compiler/compile.h"
#include "formats/artifact/write.h"
#include "formats/package/package.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/command.h"
#include "tools/cli/kgen.h"
#include "tools/cli/model.h"
#include "tools/cli/proof.h"
#include "tools/cli/report.h"
#include "tools/cli/signature.h"
#include "tools/cli/text.h"
#include <algorithm>
#include <cstdio>
#include <iostream>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct Flags {
    std::string package, output, targets, convolution, dump_after, cache, kgen, sign;
    uint32_t block = 0, length = 0;
    unsigned jobs = 0;
    bool stream = false, no_stream = false, no_whole = false, no_proof = false, timings = false, json = false;
};

Expected<compiler::Options> options_of(const Flags &flags) {
    compiler::Options options;
    for (const std::string &name : split(flags.targets, ',')) {
        const std::string target = name == "host" ? host_target() : name;
        if (target.empty()) return Status::usage("--target host: this processor is none of the known targets");
        if (std::find(options.targets.begin(), options.targets.end(), target) == options.targets.end()) options.targets.push_back(target);
    }
    options.stream = flags.stream ? compiler::StreamMode::required : flags.no_stream ? compiler::StreamMode::none : compiler::StreamMode::if_possible;
    options.block = flags.block;
    options.length = flags.length;
    options.whole = !flags.no_whole;
    options.jobs = flags.jobs;
    options.cache = flags.cache;
    options.convolution = flags.convolution;
    options.dump_after = flags.dump_after;
    options.timings = flags.timings;
    options.dump = &std::cerr; // logs; stdout is for the report
    if (flags.kgen.empty()) {
        LW_ASSIGN(options.kgen, kgen_beside_this_program());
    } else {
        options.kgen = flags.kgen;
    }
    return options;
}

struct Proved {
    std::vector<Proof> proofs;
    std::vector<std::string> elsewhere; // targets this machine cannot run
    bool stream = false;                // there is a stream to prove
    bool hold() const {
        return std::all_of(proofs.begin(), proofs.end(), [](const Proof &p) { return p.holds(); });
    }
};

Expected<Proved> prove(const compiler::Compiled &compiled, const ordered_json &report) {
    Proved result;
    if (!report.contains("targets")) return result;
    for (const auto &target : report["targets"]) {
        const std::string name = target["name"];
        auto model = Model::open(compiled.artifact, name);
        if (!model && model.status().fault() == Fault::device) {
            result.elsewhere.push_back(name);
            continue;
        }
        if (!model) return model.status();
        double worst = 0;
        LW_TRY(status_of(lw_model_verify(model->handle.get(), &worst), "golden vectors on " + name));
        if (!model->info.has_stream) continue;
        result.stream = true;
        LW_ASSIGN(Proof proof, prove_stream(*model));
        result.proofs.push_back(std::move(proof));
    }
    return result;
}

std::string text(const Proved &proved) {
    std::string out;
    for (const Proof &proof : proved.proofs) out += format("stream    %s: ", proof.variant.c_str()) + to_text(proof) + "\n";
    for (const std::string &name : proved.elsewhere) out += format("          %s: not proved here: run `longwave verify` there\n", name.c_str());
    return out;
}

Status write(const std::string &path, const std::vector<uint8_t> &bytes) {
    if (path != "-") return artifact::write_file_atomically(path, bytes);
    if (std::fwrite(bytes.data(), 1, bytes.size(), stdout) != bytes.size()) return Status::device("standard output cannot be written");
    return {};
}

Status compile(const Flags &flags) {
    const double start = now();
    LW_ASSIGN(compiler::Options options, options_of(flags));
    LW_ASSIGN(const package::Package package, package::read(flags.package));
    Progress progress;
    options.progress = [&](size_t done, size_t total, const std::string &what) { progress.show(done, total, what); };
    auto compiled = compiler::compile(package, options);
    progress.finish();
    if (!compiled) return compiled.status();
    ordered_json report = ordered_json::parse(compiled->report, nullptr, false);
    if (report.is_discarded()) return Status::internal("the compile report is no JSON");

    Proved proved;
    if (!flags.no_proof) {
        LW_ASSIGN(proved, prove(*compiled, report));
    }
    const std::string path = flags.output.empty() ? package.name + ".lw" : flags.output;
    FILE *out = path == "-" ? stderr : stdout;
    if (flags.json) {
        report["proof"] = {{"holds", proved.hold()}, {"variants", ordered_json::array()}, {"not_proved_here", proved.elsewhere}};
        for (const Proof &proof : proved.proofs) report["proof"]["variants"].push_back(to_json(proof));
        report["output"] = path;
    } else {
        std::fprintf(out, "%s%s", report_text(report).c_str(), text(proved).c_str());
    }
    // A file on disk is a promise: none is written when the proof fails.
    if (!proved.hold()) {
        if (flags.json) std::fprintf(out, "%s\n", report.dump().c_str());
        return Status::check("the stream does not equal the whole; nothing was written");
    }
    if (!flags.sign.empty()) {
        LW_ASSIGN(const PublicKey key, sign(compiled->artifact, flags.sign));
        if (flags.json) report["signed_by"] = to_hex(key);
        else std::fprintf(out, "signed    by %s\n", to_hex(key).c_str());
    }
    LW_TRY(write(path, compiled->artifact));
    if (flags.json) {
        std::fprintf(out, "%s\n", report.dump().c_str());
        return {};
    }
    const ordered_json build = report.value("build", ordered_json::object());
    const size_t compiled_kernels = build.value("kernels_compiled", size_t{0}), cached = build.value("kernels_cached", size_t{0});
    std::fprintf(out, "wrote     %s  %s · %s, %zu of %zu kernels from the cache\n", path.c_str(), bytes_text(compiled->artifact.size()).c_str(),
                 seconds_text(now() - start).c_str(), cached, cached + compiled_kernels);
    return {};
}

} // namespace

Command add_compile(CommandLine &program) {
    auto flags = std::make_shared<Flags>();
    CommandLine *app = program.add_subcommand("compile", "Compile a model package into an artifact");
    app->add_option("package", flags->package, "Folder with model.json and weights.safetensors")->required();
    app->add_option("-o,--output", flags->output, "Artifact to write; - for stdout (default: <model name>.lw)");
    app->add_option("--target", flags->targets, "x86-64-v2,x86-64-v3,x86-64-v4 or host (default: all levels of this architecture)");
    app->add_option("--block", flags->block, "Input ticks a stream call (default: the least common multiple of the hops)")
        ->check(range(1, 1 << 24));
    app->add_option("--length", flags->length, "Longest whole sequence in input ticks (default: one second of audio, or the longest kernel)")
        ->check(range(1, 1 << 24));
    auto *stream = app->add_flag("--stream", flags->stream, "A model that cannot stream is an error (default: it gets whole sequences only)");
    app->add_flag("--no-stream", flags->no_stream, "Whole sequences only")->excludes(stream);
    app->add_flag("--no-whole", flags->no_whole, "A stream only");
    app->add_option("--convolution", flags->convolution,
                    "Force one algorithm: direct, right_angle, partitioned, nonuniform (default: the planner chooses)")
        ->check(one_of({"direct", "right_angle", "partitioned", "nonuniform"}));
    app->add_option("--sign", flags->sign, "File with a secret key, 64 hexadecimal digits (openssl rand -hex 32): sign the artifact (Ed25519)");
    app->add_option("--dump-after", flags->dump_after, "Print the graph after this pass to stderr");
    app->add_flag("--timings", flags->timings, "Print the time of every pass to stderr");
    app->add_flag("--json", flags->json, "The report and the proof as one JSON object");
    app->add_flag("--no-proof", flags->no_proof, "Skip running the artifact (golden vectors, stream = whole)");
    app->add_option("--cache", flags->cache, "Folder of compiled kernels (default: the user's cache folder)");
    app->add_option("--jobs", flags->jobs, "Kernels compiled at once (default: number of processors)")->check(range(1, 1024));
    app->add_option("--kgen", flags->kgen, "The kernel compiler (default: longwave-kgen beside this program)");
    return {app, [flags] { return compile(*flags); }};
}

} // namespace longwave::cli
