// longwave-kgen: one kernel specification in, one object file or SPIR-V module and its signature out. One process per kernel,
// because names and therefore bytes of Halide's output depend on what the same process compiled before.
#include "schedules/halide/dispatch.h"
#include "schedules/halide/divisions.h"
#include "schedules/halide/lowered.h"
#include "schedules/halide/registry.h"
#include "schedules/halide/merge_allocations.h"
#include <cstdio>
#include <fstream>
#include <iostream>

using namespace longwave;

namespace {

struct Options {
    std::string spec, target, symbol = "kernel", out, statement, structures;
};

int usage(const std::string &problem) {
    std::cerr << "longwave-kgen: " << problem
              << "\nusage: longwave-kgen --spec JSON --target NAME [--symbol NAME] -o OUT.o|OUT.spv "
                 "[--statement OUT.stmt] [--structures FILE.json]\n";
    return 2;
}

// Returns an empty text or what is wrong.
std::string parse(int argc, char **argv, Options &options) {
    for (int i = 1; i < argc; i++) {
        const std::string flag = argv[i];
        std::string *value = flag == "--spec"         ? &options.spec
                             : flag == "--target"     ? &options.target
                             : flag == "--symbol"     ? &options.symbol
                             : flag == "-o"           ? &options.out
                             : flag == "--statement"  ? &options.statement
                             : flag == "--structures" ? &options.structures
                                                      : nullptr;
        if (!value) return "unknown option '" + flag + "'";
        if (++i == argc) return "option '" + flag + "' needs a value";
        *value = argv[i];
    }
    if (options.spec.empty() || options.target.empty() || options.out.empty())
        return "--spec, --target and -o are needed";
    const std::string suffix = targets::find_gpu(options.target) ? ".spv" : ".o";
    if (options.out.size() <= suffix.size() || !options.out.ends_with(suffix))
        return "the output must be named *" + suffix;
    return {};
}

const targets::Target &find_target(const std::string &name) {
    if (const targets::Target *target = targets::find(name)) return *target;
    if (const targets::Target *target = targets::find_gpu(name)) return *target;
    throw schedules::SpecError("unknown target '" + name + "'");
}

schedules::BuildFunction find_schedule(const std::string &name, const targets::Target &target) {
    if (const schedules::BuildFunction build = schedules::find_kernel(name, target.kind)) return build;
    const bool gpu = target.kind == targets::Kind::gpu;
    if (schedules::find_kernel(name, gpu ? targets::Kind::cpu : targets::Kind::gpu))
        throw schedules::SpecError("kernel '" + name + "' has no schedule for a " +
                                   (gpu ? "gpu: leave target " + target.name + " out" : "processor"));
    throw schedules::SpecError("unknown kernel '" + name + "'");
}

void write(const std::string &path, const char *bytes, size_t size) {
    std::ofstream file(path, std::ios::binary);
    file.write(bytes, static_cast<std::streamsize>(size));
    if (!file.flush()) throw schedules::SpecError("cannot write " + path);
}

// An object file for a CPU. Returns the signature.
std::string compile_object(const std::string &name, const schedules::KernelBuilder &builder,
                           const Options &options) {
    const Halide::Module lowered = builder.pipeline().compile_to_module(
        builder.arguments(), options.symbol, Halide::Target(builder.target.halide),
        Halide::LinkageType::ExternalPlusArgv);
    const Halide::Module module =
        schedules::with_unaligned_arguments(schedules::with_shared_memory(builder, lowered));
    const uint64_t scratch = schedules::scratch_bytes(name, module);
    std::map<Halide::OutputFileType, std::string> files = {{Halide::OutputFileType::object, options.out}};
    if (!options.statement.empty()) files[Halide::OutputFileType::stmt] = options.statement;
    module.compile(files);
    return schedules::signature_json(builder, scratch);
}

// A SPIR-V module for a gpu. Returns the signature and how it is dispatched.
std::string compile_module(const std::string &name, const schedules::KernelBuilder &builder,
                           const Options &options) {
    Halide::Pipeline pipeline = builder.pipeline();
    schedules::NarrowDivisions divisions;
    pipeline.add_custom_lowering_pass(&divisions, {});
    const Halide::Module module = pipeline.compile_to_module(builder.arguments(), options.symbol,
                                                             Halide::Target(schedules::gpu_target(builder)),
                                                             Halide::LinkageType::ExternalPlusArgv);
    if (!options.statement.empty()) module.compile({{Halide::OutputFileType::stmt, options.statement}});
    const schedules::GpuKernel kernel = schedules::gpu_kernel(name, builder, module);
    write(options.out, reinterpret_cast<const char *>(kernel.module.data()), kernel.module.size() * 4);
    return kernel.signature;
}

void compile(const Options &options) {
    const nlohmann::json spec = nlohmann::json::parse(options.spec);
    const targets::Target &target = find_target(options.target);
    if (!spec.is_object() || !spec.contains("kernel") || !spec.at("kernel").is_string())
        throw schedules::SpecError("a specification is an object with a text 'kernel'");
    const std::string name = spec.at("kernel");
    const schedules::BuildFunction build = find_schedule(name, target);

    schedules::KernelBuilder builder(name, spec, target);
    if (!options.structures.empty()) { // for measuring other values than schedules/long_conv/ has
        std::ifstream file(options.structures);
        builder.structures = nlohmann::json::parse(file);
    }
    build(builder);
    builder.finish();

    const bool gpu = target.kind == targets::Kind::gpu;
    const std::string signature =
        (gpu ? compile_module(name, builder, options) : compile_object(name, builder, options)) + "\n";
    write(options.out.substr(0, options.out.rfind('.')) + ".json", signature.data(), signature.size());
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    if (const std::string problem = parse(argc, argv, options); !problem.empty()) return usage(problem);
    auto fail = [](const std::string &kind, std::string text) {
        for (char &c : text)
            if (c == '\n') c = ' ';
        std::cerr << "longwave-kgen: " << kind << text << '\n';
        return 1;
    };
    try {
        compile(options);
        return 0;
    } catch (const schedules::SpecError &e) {
        return fail("", e.what());
    } catch (const nlohmann::json::exception &e) {
        return fail("specification: ", e.what());
    } catch (const Halide::Error &e) { // not a std::exception
        return fail("Halide: ", e.what());
    } catch (const std::exception &e) {
        return fail("", e.what());
    }
}
