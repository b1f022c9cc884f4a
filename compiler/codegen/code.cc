#include "compiler/codegen/code.h"
#include "compiler/codegen/code_image.h"
#include "compiler/codegen/kernel_cache.h"
#include "compiler/plan/entry_plan.h"
#include "formats/artifact/rules.h"
#include "formats/base/status.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

namespace longwave::compiler {
namespace {

// How many rows of a sequence one kernel can address.

// The largest number a kernel is specified by: rows, rings, lengths.
uint64_t largest_parameter(const std::string &spec) {
    const auto parsed = nlohmann::json::parse(spec, nullptr, false);
    const auto params = parsed.is_object() ? parsed.find("params") : parsed.end();
    uint64_t largest = 0;
    if (params == parsed.end()) return largest;
    for (const auto &value : *params)
        if (value.is_number_unsigned()) largest = std::max(largest, value.get<uint64_t>());
    return largest;
}

// Fault::usage, with the way out, for an entry whose capacity or block asks a kernel for more rows
// than any can address.
Status check_extents(const std::vector<EntryPlan> &entries) {
    for (const EntryPlan &entry : entries) {
        if (entry.kind == EntryPlan::Kind::prepare) continue; // as long as the model, whatever was asked for
        const bool run = entry.kind == EntryPlan::Kind::run;
        for (const Step &step : entry.steps) {
            const uint64_t largest = step.kind == Step::Kind::call ? largest_parameter(step.spec) : 0;
            if (largest <= artifact::cap::extent) continue;
            return Status::usage(fmt::format("{} of {} ticks: step {} needs {} rows at once, and a kernel "
                                             "takes at most {}; pass a smaller {}",
                                             run ? "--length: a whole sequence" : "--block: a block",
                                             entry.block, step.name, largest, artifact::cap::extent,
                                             run ? "--length" : "--block"));
        }
    }
    return Status::ok();
}

// Every value that a plan ever passes as this scalar is one that the kernel accepts.
bool accepts(const schedules::KernelArg &arg, const Scalar &s, uint32_t tiles) {
    if (s.kind == Scalar::Kind::length || s.kind == Scalar::Kind::rows)
        return s.value <= arg.high && arg.multiple == 1;
    const int64_t tile = int64_t{s.tile_mul} * (tiles - 1), slot = int64_t{s.modulus - 1} * s.mul;
    const bool whole = s.value % arg.multiple == 0 && (tiles == 1 || s.tile_mul % arg.multiple == 0) &&
                       (s.kind == Scalar::Kind::constant || s.modulus == 1 || s.mul % arg.multiple == 0);
    const int64_t low = s.value + std::min<int64_t>(tile, 0), high = s.value + std::max<int64_t>(tile, 0);
    if (s.kind == Scalar::Kind::constant) return whole && s.value >= 0 && s.value <= arg.high;
    return whole && low + std::min<int64_t>(slot, 0) >= 0 && high + std::max<int64_t>(slot, 0) <= arg.high;
}

// Rows of one element may start anywhere; all other buffers start on a cache line, and the code
// assumes it.
uint16_t alignment_of(const schedules::KernelArg &arg) {
    return arg.elem == Elem::f32 && !arg.dims.empty() && arg.dims[0].extent > 1 ? 64 : 0;
}

} // namespace

void align_arguments(schedules::Signature &signature) {
    for (auto &arg : signature.args)
        arg.alignment = arg.kind == schedules::ArgKind::scalar ? 0 : alignment_of(arg);
}

namespace {

// Plan and kernel must agree on the arguments of a step.
Status check_step(const Step &step, const schedules::Signature &signature) {
    const auto &args = signature.args;
    if (args.size() != step.args.size())
        return Status::internal(fmt::format("step {}: kernel takes {} arguments, the plan has {} ({})",
                                            step.name, args.size(), step.args.size(), step.spec));
    for (size_t a = 0; a < args.size(); a++) {
        const auto *scalar = std::get_if<Scalar>(&step.args[a]);
        if ((scalar != nullptr) != (args[a].kind == schedules::ArgKind::scalar))
            return Status::internal(fmt::format("step {}: argument {} ({}) is a {} in the kernel ({})",
                                                step.name, a, args[a].name, scalar ? "buffer" : "scalar",
                                                step.spec));
        if (scalar && !accepts(args[a], *scalar, step.tiles))
            return Status::internal(
                fmt::format("step {}: argument {} ({}) takes values that the kernel does not accept ({})",
                            step.name, a, args[a].name, step.spec));
    }
    return Status::ok();
}

} // namespace

Status check_steps(const std::vector<std::string> &specs, const std::vector<EntryPlan> &entries,
                   const std::vector<schedules::Signature> &signatures, devices::CodeContainer container) {
    std::map<std::string, size_t> index;
    for (size_t i = 0; i < specs.size(); i++) index[specs[i]] = i;
    for (const auto &entry : entries)
        for (const auto *steps : {&entry.steps, &entry.rebuild})
            for (const auto &step : *steps)
                if (step.kind == Step::Kind::call && device_of(entry, step).code == container)
                    LW_TRY(check_step(step, signatures[index[step.spec]]));
    return Status::ok();
}

bool same_arguments(const schedules::Signature &a, const schedules::Signature &b) {
    return std::equal(
        a.args.begin(), a.args.end(), b.args.begin(), b.args.end(), [](const auto &x, const auto &y) {
            return x.kind == y.kind && x.elem == y.elem &&
                   std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(), y.dims.end(),
                              [](auto p, auto q) { return p.extent == q.extent && p.stride == q.stride; });
        });
}

Expected<Code> compile_code(const Specs &all, const std::vector<EntryPlan> &entries,
                            const std::vector<targets::Target> &targets, KernelCacheOptions options) {
    LW_TRY(check_extents(entries));
    const std::vector<std::string> specs(all.all.begin(), all.all.begin() + static_cast<ptrdiff_t>(all.cpus));
    std::vector<KernelRequest> requests;
    for (const auto &target : targets)
        for (const auto &spec : specs) requests.push_back({spec, target.name});
    Code code;
    options.no_cache = [&](const std::string &why) { code.no_cache = why; };
    LW_ASSIGN(auto kernels, compile_kernels(requests, options));

    for (const auto &kernel : kernels) (kernel.cached ? code.cached : code.compiled)++;
    for (size_t i = 0; i < specs.size(); i++) code.signatures.push_back(kernels[i].signature);
    for (auto &signature : code.signatures) align_arguments(signature);
    LW_TRY(check_steps(specs, entries, code.signatures, devices::CodeContainer::machine_code));
    for (size_t t = 0; t < targets.size(); t++) {
        TargetCode linked{.target = targets[t]};
        std::vector<LinkedKernel> to_link;
        for (size_t i = 0; i < specs.size(); i++) {
            const CompiledKernel &kernel = kernels[t * specs.size() + i];
            if (!same_arguments(kernel.signature, kernels[i].signature))
                return Status::internal(fmt::format("kernel {} has another argument list on {} than on {}",
                                                    specs[i], targets[t].name, targets[0].name));
            linked.kernel_bytes.push_back(code_bytes(kernel.object, targets[t]));
            linked.scratch.push_back((kernel.signature.scratch_bytes + 63) / 64 * 64);
            to_link.push_back({&kernel.object,
                               kernel_symbol(specs[i]) + "_argv", // Halide's `int f(void **args)`
                               linked.scratch.back()});
        }
        LW_ASSIGN(auto image, link_image(to_link, targets[t]));
        linked.image = std::move(image.bytes);
        linked.entries = std::move(image.entries);
        code.targets.push_back(std::move(linked));
    }
    return code;
}

} // namespace longwave::compiler
