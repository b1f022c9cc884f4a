#include "schedules/halide/kernel.h"
#include "schedules/halide/dispatch.h"
#include "schedules/halide/lowered.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>

namespace longwave::schedules {
namespace {

// LLVM assembly that Halide wrote for one machine, for a clang that compiles it for another.

// The same functions without a machine: no triple, CPU or features, so that the flags of clang
// decide. Attributes that clang 19 cannot read yet are left out too. They are promises to the
// optimiser, and code without them means the same.
std::string without_machine(const std::string &assembly) {
    static const std::regex machine(R"re("(target-cpu|target-features|tune-cpu)"="[^"]*" ?)re");
    static const std::regex promises(R"( captures\([^)]*\)| initializes\(\([^)]*\)\)|\bsamesign )");
    static const std::regex conversion(
        R"(\b(fptrunc|fpext) ((nnan|ninf|nsz|arcp|contract|afn|reassoc|fast) )+)");
    std::istringstream lines(assembly);
    std::string out, line;
    while (std::getline(lines, line)) {
        if (line.starts_with("target triple")) continue;
        if (line.starts_with("attributes #")) line = std::regex_replace(line, machine, "");
        line = std::regex_replace(line, promises, "");
        out += std::regex_replace(line, conversion, "$1 ") + '\n';
    }
    return out;
}

const targets::Target &find_target(const std::string &name) {
    if (const targets::Target *target = targets::find(name)) return *target;
    if (const targets::Target *target = targets::find_gpu(name)) return *target;
    throw SpecError("unknown target '" + name + "'");
}

const Schedule &schedule_for(const std::string &name, const targets::Target &target) {
    if (const Schedule *found = find_schedule(name, target.kind)) return *found;
    const bool gpu = target.kind == targets::Kind::gpu;
    if (find_schedule(name, gpu ? targets::Kind::cpu : targets::Kind::gpu))
        throw SpecError("kernel '" + name + "' has no schedule for a " +
                        (gpu ? "GPU: leave target " + target.name + " out" : "CPU"));
    throw SpecError("unknown kernel '" + name + "'");
}

void write_file(const std::string &path, const char *bytes, size_t size) {
    std::ofstream file(path, std::ios::binary);
    file.write(bytes, static_cast<std::streamsize>(size));
    if (!file.flush()) throw SpecError("cannot write " + path);
}

void remove_machine(const std::string &path) {
    std::ifstream file(path);
    std::stringstream text;
    if (!(text << file.rdbuf())) throw SpecError("cannot read " + path);
    const std::string assembly = without_machine(text.str());
    write_file(path, assembly.data(), assembly.size());
}

// What LLVM does for every function, where Halide has no option for it. Must come before LLVM starts.
// noredzone: Linux keeps the 128 bytes below the stack for functions that call none, but Windows does not.
// Its exceptions and its calls into a thread (QueueUserAPC2) write there.
void set_llvm_options() { setenv("HL_LLVM_ARGS", "-force-attribute=noredzone", 1); }

std::string compile_object(const BuiltKernel &kernel, const CompileOutput &output) {
    set_llvm_options();
    const KernelBuilder &builder = *kernel.builder;
    const Halide::Module lowered = builder.pipeline().compile_to_module(
        builder.arguments(), output.symbol, Halide::Target(kernel.target->halide),
        Halide::LinkageType::ExternalPlusArgv);
    const Halide::Module module =
        with_integer_floor(with_unaligned_arguments(with_shared_memory(builder, lowered)));
    const uint64_t scratch = scratch_bytes(kernel.name, module);
    const bool assembly = !kernel.target->clang.empty();
    std::map<Halide::OutputFileType, std::string> files = {
        {assembly ? Halide::OutputFileType::llvm_assembly : Halide::OutputFileType::object, output.file}};
    if (!output.statement.empty()) files[Halide::OutputFileType::stmt] = output.statement;
    module.compile(files);
    if (assembly) remove_machine(output.file);
    return kernel.signature(scratch);
}

GpuKernel lowered_kernel(const BuiltKernel &kernel, const CompileOutput &output) {
    Halide::Pipeline pipeline = kernel.builder->pipeline();
    NarrowDivisions divisions;
    pipeline.add_custom_lowering_pass(&divisions, {});
    const Halide::Module module = pipeline.compile_to_module(kernel.builder->arguments(), output.symbol,
                                                             Halide::Target(gpu_target(*kernel.builder)),
                                                             Halide::LinkageType::ExternalPlusArgv);
    if (!output.statement.empty()) module.compile({{Halide::OutputFileType::stmt, output.statement}});
    return gpu_kernel(kernel.name, *kernel.builder, module);
}

std::string compile_module(const BuiltKernel &kernel, const CompileOutput &output) {
    const GpuKernel gpu = kernel.builder->written ? written_kernel(kernel.name, *kernel.builder)
                                                  : lowered_kernel(kernel, output);
    write_file(output.file, reinterpret_cast<const char *>(gpu.module.data()), gpu.module.size() * 4);
    nlohmann::json signature = nlohmann::json::parse(kernel.signature(0));
    signature["gpu"] = gpu.dispatch;
    signature["gpu"]["variants"] = kernel.builder->variants();
    return signature.dump();
}

} // namespace

namespace {

// Arguments that memory may hold as float16, as the schedule of a GPU says.
nlohmann::json may_be_fp16(const nlohmann::json &args, Fp16 sides) {
    const auto has = [&](Fp16 side) {
        return (static_cast<uint8_t>(sides) & static_cast<uint8_t>(side)) != 0;
    };
    nlohmann::json numbers = nlohmann::json::array();
    for (size_t i = 0; i < args.size(); i++) {
        const bool input = args[i].at("kind") == "input", output = args[i].at("kind") == "output";
        if (args[i].at("elem") == "f32" && ((input && has(Fp16::inputs)) || (output && has(Fp16::outputs))))
            numbers.push_back(i);
    }
    return numbers;
}

} // namespace

std::string BuiltKernel::signature(uint64_t scratch) const {
    nlohmann::json signature = signature_json(*builder, scratch);
    if (target->kind == targets::Kind::gpu)
        signature["fp16"] = may_be_fp16(signature.at("args"), schedule->fp16);
    const std::vector<std::string> names = builder->argument_names();
    for (const std::vector<std::string> &group : builder->layout_groups()) {
        nlohmann::json numbers = nlohmann::json::array();
        for (size_t i = 0; i < names.size(); i++)
            if (std::count(group.begin(), group.end(), names[i])) numbers.push_back(i);
        signature["layout_groups"].push_back(numbers);
    }
    if (builder->sectors_by_row() > ideal_sectors) signature["sectors_by_row"] = builder->sectors_by_row();
    if (builder->prefers_one_order()) signature["prefers_one_order"] = true;
    return signature.dump();
}

BuiltKernel build_kernel(const nlohmann::json &spec, const std::string &target,
                         const nlohmann::json &structures) {
    BuiltKernel kernel;
    kernel.target = &find_target(target);
    if (!spec.is_object() || !spec.contains("kernel") || !spec.at("kernel").is_string())
        throw SpecError("a specification is an object with a text 'kernel'");
    kernel.name = spec.at("kernel");
    kernel.schedule = &schedule_for(kernel.name, *kernel.target);
    // The builder keeps references into the specification, which must stay where they are.
    kernel.spec = std::make_unique<nlohmann::json>(spec);
    kernel.builder = std::make_unique<KernelBuilder>(kernel.name, *kernel.spec, *kernel.target);
    kernel.builder->structures = structures;
    kernel.schedule->build(*kernel.builder);
    kernel.builder->finish();
    return kernel;
}

std::string compile_kernel(const BuiltKernel &kernel, const CompileOutput &output) {
    const bool gpu = kernel.target->kind == targets::Kind::gpu;
    return gpu ? compile_module(kernel, output) : compile_object(kernel, output);
}

} // namespace longwave::schedules
