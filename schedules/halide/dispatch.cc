#include "schedules/halide/dispatch.h"
#include "schedules/gpu/assemble.h"
#include "schedules/halide/module_blob.h"
#include <algorithm>
#include <array>
#include <set>

namespace longwave::schedules {

using namespace Halide;

namespace {

struct Dispatch {
    std::string entry;
    std::array<int, 3> grid{}, local{};
    std::vector<std::string> buffers; // in the order of their bindings
};

// The host code that Halide made holds one call of its runtime for each dispatch.
class Dispatches : public Internal::IRVisitor {
public:
    explicit Dispatches(std::string kernel) : kernel_(std::move(kernel)) {}
    std::vector<Dispatch> found;

private:
    using Internal::IRVisitor::visit;
    void visit(const Internal::For *op) override {
        require(false, "loop '" + op->name + "' would run outside of the kernel");
    }
    void visit(const Internal::Allocate *op) override {
        require(false, "intermediate '" + op->name + "' lies outside of the kernel");
    }
    void visit(const Internal::Call *op) override {
        if (op->name == "halide_vulkan_run") add(op->args);
        Internal::IRVisitor::visit(op);
    }
    // state, entry, grid, workgroup, shared bytes, sizes of the arguments, arguments, which of them
    // are buffers
    void add(const std::vector<Expr> &args) {
        require(args.size() == 12, "a dispatch of another form than Halide 21 makes");
        Dispatch dispatch;
        const auto *entry = args[1].as<Internal::StringImm>();
        require(entry, "a dispatch without a name");
        dispatch.entry = entry->value;
        for (size_t i = 0; i < 3; i++) {
            dispatch.grid[i] = constant(args[2 + i]);
            dispatch.local[i] = constant(args[5 + i]);
        }
        const auto *list = args[10].as<Internal::Call>();
        require(list && list->is_intrinsic(Internal::Call::make_struct), "a dispatch without arguments");
        for (const Expr &arg : list->args) {
            const auto *buffer = arg.as<Internal::Variable>();
            if (!buffer) continue; // the end of the list
            const std::string suffix = ".buffer";
            const std::string &name = buffer->name;
            require(name.size() > suffix.size() && name.ends_with(suffix), "'" + name + "' is not a buffer");
            dispatch.buffers.push_back(name.substr(0, name.size() - suffix.size()));
        }
        require(dispatch.buffers.size() + 1 == list->args.size(),
                "a value was computed outside of the kernel");
        found.push_back(dispatch);
    }
    int constant(const Expr &e) const {
        const auto value = Internal::as_const_int(Internal::simplify(e));
        require(value.has_value() && *value > 0 && *value < 1 << 30, "a dispatch of no constant size");
        return static_cast<int>(*value);
    }
    void require(bool condition, const std::string &what) const {
        if (!condition) throw SpecError(kernel_ + ": " + what);
    }
    std::string kernel_;
};

void check_limits(const std::string &kernel, const targets::Target &target, const Dispatch &dispatch,
                  const SpirvKernel &spirv) {
    const auto at_most = [&](int64_t value, int64_t limit, const std::string &what) {
        if (value > limit)
            throw SpecError(kernel + ": " + std::to_string(value) + " " + what + ", " + target.name +
                            " has " + std::to_string(limit));
    };
    at_most(static_cast<int64_t>(spirv.shared_bytes), target.shared_bytes, "bytes of shared memory");
    at_most(int64_t{1} * dispatch.local[0] * dispatch.local[1] * dispatch.local[2], target.threads,
            "threads in a workgroup");
    at_most(dispatch.local[2], target.group_depth, "threads in the depth of a workgroup");
    for (const int count : dispatch.grid) at_most(count, target.group_count, "workgroups along a dimension");
    at_most(spirv.storage_buffers, target.buffers, "buffers");
}

} // namespace

std::string gpu_target(const KernelBuilder &builder) {
    const auto wide = [](const auto &buffer) { return buffer.type() == Float(64); };
    const bool inputs = std::any_of(builder.buffers().begin(), builder.buffers().end(), wide);
    const bool outputs = std::any_of(builder.output_buffers().begin(), builder.output_buffers().end(),
                                     [](const auto &output) { return output.type == Float(64); });
    return builder.target.halide + (inputs || outputs ? "-vk_float64" : "");
}

GpuKernel gpu_kernel(const std::string &kernel, const KernelBuilder &builder, const Module &module) {
    Dispatches dispatches(kernel);
    for (const Internal::LoweredFunc &function : module.functions()) function.body.accept(&dispatches);
    if (dispatches.found.size() != 1)
        throw SpecError(kernel + ": " + std::to_string(dispatches.found.size()) +
                        " dispatches, expected one");
    const Dispatch &dispatch = dispatches.found.front();

    const Buffer<> blob = module.get_device_code_buffer();
    if (!blob.defined()) throw SpecError(kernel + ": Halide made no device code");
    SpirvKernel spirv = read_blob(static_cast<const uint8_t *>(blob.data()), blob.size_in_bytes());
    const SpirvFacts facts = read_facts(spirv.words);
    const auto expect = [&](bool condition, const char *what) {
        if (!condition) throw SpecError(kernel + ": " + what);
    };
    expect(spirv.entry == dispatch.entry, "host code and module name different entry points");
    expect(spirv.uniform_buffers == 0, "a scalar was left outside of the scalars' buffer");
    expect(spirv.storage_buffers == facts.binding.size() && facts.binding.size() == dispatch.buffers.size(),
           "host code and module have different buffers");
    for (size_t i = 0; i < 3; i++)
        expect(facts.local[i] == static_cast<uint32_t>(dispatch.local[i]), "two sizes of a workgroup");
    check_limits(kernel, builder.target, dispatch, spirv);

    const auto binding = [&](const std::string &name) {
        const auto found = facts.binding.find(name);
        return found == facts.binding.end() ? -1 : static_cast<int>(found->second);
    };
    nlohmann::json bindings = nlohmann::json::array();
    for (const std::string &name : builder.argument_names())
        bindings.push_back(name.empty() ? -1 : binding(name));
    std::set<int> used;
    for (const nlohmann::json &one : bindings)
        if (one != -1) used.insert(one.get<int>());
    const int scalars = binding(KernelBuilder::scalars_buffer);
    if (scalars >= 0) used.insert(scalars);
    expect(used.size() == facts.binding.size(), "a buffer of the module is not an argument");
    const bool wide = gpu_target(builder) != builder.target.halide;
    nlohmann::json members = {{"entry", spirv.entry},
                              {"grid", dispatch.grid},
                              {"local", dispatch.local},
                              {"shared_bytes", spirv.shared_bytes},
                              {"bindings", bindings},
                              {"scalars", scalars},
                              {"features", wide ? nlohmann::json{"shaderFloat64"} : nlohmann::json::array()}};
    if (builder.exact_sums) spirv.words = without_contraction(spirv.words);
    return {std::move(spirv.words), std::move(members)};
}

GpuKernel written_kernel(const std::string &kernel, const KernelBuilder &builder) {
    const gpu::Program program = builder.written();
    const std::vector<std::string> arguments = builder.argument_names();
    if (program.buffers().size() != arguments.size())
        throw SpecError(kernel + ": internal: its buffers are not its arguments");
    Dispatch dispatch{.entry = program.entry()};
    nlohmann::json bindings = nlohmann::json::array();
    for (size_t i = 0; i < arguments.size(); i++) bindings.push_back(i);
    for (size_t i = 0; i < 3; i++) {
        dispatch.grid[i] = static_cast<int>(program.grid()[i]);
        dispatch.local[i] = static_cast<int>(program.local()[i]);
    }
    const uint64_t shared_bytes = uint64_t{program.shared_floats()} * sizeof(float);
    check_limits(kernel, builder.target, dispatch,
                 {.shared_bytes = shared_bytes, .storage_buffers = static_cast<uint32_t>(arguments.size())});
    const std::vector<uint32_t> module = gpu::assemble(program);
    return {builder.exact_sums ? without_contraction(module) : module,
            {{"entry", dispatch.entry},
             {"grid", dispatch.grid},
             {"local", dispatch.local},
             {"shared_bytes", shared_bytes},
             {"bindings", bindings},
             {"scalars", -1},
             {"features", nlohmann::json::array()}}};
}

} // namespace longwave::schedules
