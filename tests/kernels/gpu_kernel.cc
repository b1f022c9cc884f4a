#include "compiler/base/process.h"
#include "compiler/codegen/kernel_program.h"
#include "tests/kernels/vulkan.h"
#include "tests/support/compared.h"
#include <HalideRuntime.h>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>

namespace longwave::test {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

struct Folder {
    fs::path path;
    Folder() {
        std::string name = (fs::temp_directory_path() / "longwave-gpu-XXXXXX").string();
        if (mkdtemp(name.data())) path = name;
    }
    ~Folder() {
        std::error_code ignored;
        if (!path.empty()) fs::remove_all(path, ignored);
    }
};

schedules::KernelArg arg_of(const Json &json) {
    schedules::KernelArg arg;
    arg.name = json["name"];
    const std::string kind = json["kind"], elem = json["elem"];
    arg.kind = kind == "input"    ? schedules::ArgKind::input
               : kind == "output" ? schedules::ArgKind::output
               : kind == "inout"  ? schedules::ArgKind::inout
                                  : schedules::ArgKind::scalar;
    arg.elem = elem == "f32"   ? schedules::Elem::f32
               : elem == "f64" ? schedules::Elem::f64
                               : schedules::Elem::i32;
    for (const Json &dim : json["dims"]) arg.dims.push_back({dim[0], dim[1]});
    arg.high = json.value("high", 0), arg.multiple = json.value("multiple", 1);
    return arg;
}

size_t bytes_of_buffer(const schedules::KernelArg &arg) {
    size_t elements = 1;
    for (const schedules::Dim &dim : arg.dims)
        elements += static_cast<size_t>(dim.extent - 1) * static_cast<size_t>(dim.stride);
    return elements * bytes_of(arg.elem);
}

struct GpuModule {
    std::string spec; // of its first variant
    std::vector<uint32_t> words;
    schedules::Signature signature;
    Json gpu;

    // The form in which kernels of CPUs are called.
    int call(void **args) const {
        std::string why;
        VulkanDevice *device = VulkanDevice::get(why);
        std::vector<VulkanDevice::Buffer> buffers;
        std::vector<int32_t> scalars;
        for (size_t i = 0; i < signature.args.size(); i++) {
            const schedules::KernelArg &arg = signature.args[i];
            if (arg.kind == schedules::ArgKind::scalar) {
                scalars.push_back(*static_cast<const int32_t *>(args[i + 1]));
            } else if (const int binding = gpu["bindings"][i]; binding >= 0) {
                buffers.push_back({static_cast<uint32_t>(binding),
                                   static_cast<const halide_buffer_t *>(args[i + 1])->host,
                                   bytes_of_buffer(arg)});
            }
        }
        if (const int binding = gpu["scalars"]; binding >= 0)
            buffers.push_back({static_cast<uint32_t>(binding), scalars.data(), scalars.size() * 4});
        const VulkanDevice::Dispatch dispatch{
            words, gpu["entry"], {gpu["grid"][0], gpu["grid"][1], gpu["grid"][2]}, !gpu["features"].empty()};
        const std::string problem = device->run(dispatch, buffers);
        if (problem.empty()) compared(spec);
        else fmt::print(stderr, "{}: {}\n", device->name(), problem);
        return problem.empty() ? 0 : -1;
    }
};

std::string with_variant(const std::string &spec, size_t variant) {
    Json document = Json::parse(spec);
    document["variant"] = variant;
    return document.dump();
}

Expected<std::shared_ptr<GpuModule>> load_module(const std::string &spec, const targets::Target &target,
                                                 const std::string &kgen) {
    const Folder folder;
    const std::string module = (folder.path / "kernel.spv").string();
    LW_ASSIGN(const auto program, compiler::KernelProgram::at(kgen));
    LW_ASSIGN(const auto compiled, program->run({"--spec", spec, "--target", target.name, "-o", module}));
    if (compiled.exit_code != 0) {
        const bool none = compiled.output.find("has no schedule for a GPU") != std::string::npos;
        return Status(none ? Fault::usage : Fault::internal, compiled.output);
    }
    if (const auto valid = compiler::run_process({"spirv-val", "--target-env", "vulkan1.1", module});
        valid && valid->exit_code != 0)
        return Status::check(fmt::format("spirv-val: {}", valid->output));
    LW_ASSIGN(const auto bytes, compiler::read_bytes(module));
    auto loaded = std::make_shared<GpuModule>();
    loaded->words.resize(bytes.size() / 4);
    std::memcpy(loaded->words.data(), bytes.data(), bytes.size());
    std::ifstream file(folder.path / "kernel.json");
    const Json json = Json::parse(file);
    for (const Json &arg : json["args"]) loaded->signature.args.push_back(arg_of(arg));
    loaded->gpu = json["gpu"];
    return loaded;
}

} // namespace

Expected<std::vector<kernels::Kernel>>
load_gpu_kernels(const std::string &spec, const targets::Target &target, const std::string &kgen) {
    std::vector<kernels::Kernel> variants;
    size_t count = 1;
    for (size_t v = 0; v < count; v++) {
        LW_ASSIGN(const auto loaded, load_module(v ? with_variant(spec, v) : spec, target, kgen));
        if (v == 0) count = loaded->gpu["variants"];
        loaded->spec = spec;
        variants.emplace_back(
            loaded, [loaded](void **args) { return loaded->call(args); }, loaded->signature);
    }
    return variants;
}

} // namespace longwave::test
