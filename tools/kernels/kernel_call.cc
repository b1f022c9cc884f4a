#include "tools/kernels/kernel_call.h"
#include "compiler/codegen/code_image.h"
#include "runtime/platform/cpu.h"
#include <HalideRuntime.h>
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <random>
#include <sys/mman.h>

namespace longwave::kernels {

namespace {

halide_type_t type_of(schedules::Elem elem) {
    switch (elem) {
    case schedules::Elem::f32: return halide_type_of<float>();
    case schedules::Elem::f64: return halide_type_of<double>();
    case schedules::Elem::f16: return halide_type_t(halide_type_float, 16);
    case schedules::Elem::i32: return halide_type_of<int32_t>();
    }
    return {};
}

uint8_t *aligned(std::vector<uint8_t> &memory) {
    return reinterpret_cast<uint8_t *>((reinterpret_cast<uintptr_t>(memory.data()) + 63) / 64 * 64);
}

} // namespace

Tensor::Tensor(const schedules::KernelArg &arg) : arg_(arg) {
    size_t elements = 1;
    for (const schedules::Dim &dim : arg.dims)
        elements += static_cast<size_t>(dim.extent - 1) * static_cast<size_t>(dim.stride);
    bytes_ = bytes_of(arg.elem);
    memory_ = std::make_shared<std::vector<uint8_t>>(elements * bytes_ + 64);
    data_ = aligned(*memory_);
}

void Tensor::for_each(const std::function<void(const std::vector<int> &)> &f) const {
    std::vector<int> at(arg_.dims.size(), 0);
    for (;;) {
        f(at);
        size_t i = 0;
        while (i < at.size() && ++at[i] == extent(i)) at[i++] = 0;
        if (i == at.size()) return;
    }
}

std::vector<double> Tensor::numbers() const {
    std::vector<double> all;
    for_each([&](const std::vector<int> &at) { all.push_back(get(at)); });
    return all;
}

// Everything a call points to.
struct Kernel::Call {
    struct Scratch {
        char *base;
        uint64_t size, used;
    };
    std::vector<uint8_t> memory;
    Scratch scratch{};
    void *context = nullptr;
    std::vector<halide_buffer_t> buffers;
    std::vector<halide_dimension_t> dims;
};

Kernel::Kernel(std::shared_ptr<void> image, Entry entry, schedules::Signature signature)
    : image_(std::move(image)), entry_(std::move(entry)), signature_(std::move(signature)) {
    for (const schedules::KernelArg &arg : signature_.args) {
        if (arg.kind == schedules::ArgKind::scalar) scalars_[arg.name] = 0;
        tensors_.push_back(arg.kind == schedules::ArgKind::scalar ? Tensor() : Tensor(arg));
    }
}

Tensor &Kernel::operator[](std::string_view name) {
    const auto &args = signature_.args;
    const auto found =
        std::find_if(args.begin(), args.end(), [&](const auto &arg) { return arg.name == name; });
    return tensors_.at(static_cast<size_t>(found - args.begin()));
}

void Kernel::fill_inputs(uint32_t seed) {
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (Tensor &tensor : tensors_)
        if (tensor.data() && tensor.arg().kind == schedules::ArgKind::input)
            tensor.for_each([&](const std::vector<int> &at) { tensor.set(at, uniform(random)); });
}

void Kernel::prepare(const std::map<std::string, uint8_t *> &elsewhere) {
    call_ = std::make_shared<Call>();
    const auto shared = elsewhere.find("scratch");
    if (shared == elsewhere.end()) call_->memory.resize(signature_.scratch_bytes + 64);
    uint8_t *const scratch = shared == elsewhere.end() ? aligned(call_->memory) : shared->second;
    call_->scratch = {reinterpret_cast<char *>(scratch), signature_.scratch_bytes, 0};
    call_->context = &call_->scratch;
    size_t dims = 0;
    for (const schedules::KernelArg &arg : signature_.args) dims += arg.dims.size();
    call_->dims.reserve(dims);
    call_->buffers.reserve(signature_.args.size());
    arguments_ = {&call_->context};
    for (const schedules::KernelArg &arg : signature_.args) {
        if (arg.kind == schedules::ArgKind::scalar) {
            arguments_.push_back(&scalars_[arg.name]);
            continue;
        }
        halide_buffer_t buffer{};
        const auto place = elsewhere.find(arg.name);
        buffer.host = place == elsewhere.end() ? (*this)[arg.name].data() : place->second;
        buffer.type = type_of(arg.elem);
        buffer.dimensions = static_cast<int32_t>(arg.dims.size());
        buffer.dim = call_->dims.data() + call_->dims.size();
        for (const schedules::Dim &dim : arg.dims)
            call_->dims.emplace_back(0, static_cast<int32_t>(dim.extent), dim.stride);
        call_->buffers.push_back(buffer);
        arguments_.push_back(&call_->buffers.back());
    }
}

int Kernel::call(uint64_t *scratch_left) {
    prepare();
    const int code = entry_(arguments_.data());
    if (scratch_left) *scratch_left = call_->scratch.used;
    return code;
}

Expected<std::vector<Kernel>> load_kernels(const std::vector<std::string> &specs,
                                           const targets::Target &target, const std::string &kgen,
                                           const LoadOptions &load) {
    std::vector<compiler::KernelRequest> requests;
    for (const std::string &spec : specs) requests.push_back({spec, target.name});
    compiler::KernelCacheOptions options;
    options.kgen = kgen;
    options.structures = load.structures;
    options.folder = load.cache;
    LW_ASSIGN(auto compiled, compiler::compile_kernels(requests, options));
    std::vector<compiler::LinkedKernel> to_link;
    for (size_t i = 0; i < specs.size(); i++)
        to_link.push_back({&compiled[i].object, compiler::kernel_symbol(specs[i]) + "_argv",
                           compiled[i].signature.scratch_bytes});
    LW_ASSIGN(auto image, compiler::link_image(to_link, target));

    const size_t size = image.bytes.size();
    void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return Status::device("no memory for the code image");
    std::shared_ptr<void> owner(memory, [size](void *p) { munmap(p, size); });
    std::memcpy(memory, image.bytes.data(), size);
    if (mprotect(memory, size, PROT_READ | PROT_EXEC) != 0)
        return Status::device("the code image cannot be made executable");
    std::vector<Kernel> kernels;
    for (size_t i = 0; i < specs.size(); i++)
        kernels.emplace_back(
            owner, reinterpret_cast<int (*)(void **)>(static_cast<char *>(memory) + image.entries[i]),
            compiled[i].signature);
    return kernels;
}

bool host_runs(const targets::Target &target) {
    const artifact::Host host = platform::host();
    return host.machine == target.elf_machine && (target.features & ~host.features) == 0;
}

std::string find_kgen() {
    namespace fs = std::filesystem;
    if (const char *build = std::getenv("LONGWAVE_BUILD"))
        return (fs::path(build) / "longwave-kgen").string();
    fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
    // Installed: prefix/lib/longwave and prefix/bin.
    for (; folder.has_relative_path(); folder = folder.parent_path())
        for (const char *name : {"longwave-kgen", "bin/longwave-kgen"})
            if (fs::exists(folder / name)) return (folder / name).string();
    return "longwave-kgen";
}

} // namespace longwave::kernels
