// V13, indices and enumerations, and V11, the kernels a plan was made for.
#include "formats/artifact/abi.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/rules.h"
#include "formats/artifact/text.h"
#include <algorithm>
#include <cstring>

namespace longwave::artifact {

// ---- V13 ----

using Steps = flatbuffers::Vector<flatbuffers::Offset<fb::Step>>;

static Broken indices_of_steps(const fb::Plan &plan, const fb::Entry &entry, const Steps *steps) {
    for (uint32_t i = 0; i < count(steps); ++i) {
        const fb::Step &step = *steps->Get(i);
        if (step.kind() > fb::StepKind::MAX)
            return broken(13, "unknown kind of step: step, kind", i, static_cast<uint64_t>(step.kind()));
        if (step.kind() == fb::StepKind::call && step.kernel() >= plan.kernels()->size())
            return broken(13, "a step names no kernel: step, kernel", i, step.kernel());
        for (uint32_t a = 0; a < count(step.args()); ++a) {
            const fb::Binding &binding = *step.args()->Get(a);
            if (binding.place() && binding.place()->space() > fb::Space::MAX)
                return broken(13, "unknown space of an argument: step, argument", i, a);
            if (!binding.scalar()) continue;
            if (binding.scalar()->kind() > fb::ScalarKind::MAX)
                return broken(13, "unknown kind of scalar: step, argument", i, a);
            if (binding.scalar()->kind() == fb::ScalarKind::length &&
                binding.scalar()->add() >= count(entry.inputs()))
                return broken(13, "a length names no input: step, argument", i, a);
        }
    }
    return {};
}

static Broken indices_of_entry(const fb::Plan &plan, const fb::Entry &entry, uint32_t e) {
    if (entry.kind() > fb::EntryKind::MAX)
        return broken(13, "unknown kind of entry: entry, kind", e, static_cast<uint64_t>(entry.kind()));
    if (entry.device() > (entry.kind() == fb::EntryKind::prepare ? fb::DeviceKind::cpu : fb::DeviceKind::MAX))
        return broken(13, "device of an entry: entry, device", e, static_cast<uint64_t>(entry.device()));
    for (uint32_t i = 0; i < count(entry.inputs()); ++i) {
        const fb::InputPort &port = *entry.inputs()->Get(i);
        if (port.input() >= plan.inputs()->size())
            return broken(13, "an input port names no input: port, input", i, port.input());
        if (!port.place() || port.place()->space() > fb::Space::MAX)
            return broken(13, "place of an input: port", i);
    }
    for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
        const fb::OutputPort &port = *entry.outputs()->Get(i);
        if (!port.place() || port.place()->space() > fb::Space::MAX)
            return broken(13, "place of an output: port", i);
    }
    if (Broken b = indices_of_steps(plan, entry, entry.steps())) return b;
    return indices_of_steps(plan, entry, entry.rebuild());
}

// What a caller sees of an entry is the same for all of its kind.
static bool same_ports(const fb::Entry &a, const fb::Entry &b) {
    if (count(a.outputs()) != count(b.outputs()) || count(a.inputs()) != count(b.inputs())) return false;
    for (uint32_t i = 0; i < count(a.inputs()); ++i)
        if (a.inputs()->Get(i)->input() != b.inputs()->Get(i)->input()) return false;
    for (uint32_t i = 0; i < count(a.outputs()); ++i) {
        const fb::OutputPort &p = *a.outputs()->Get(i), &q = *b.outputs()->Get(i);
        if (!equal(*p.name(), *q.name()) || p.width() != q.width() || p.clock_num() != q.clock_num() ||
            p.clock_den() != q.clock_den() || p.delay() != q.delay() || p.whole() != q.whole() ||
            p.sample_rate() != q.sample_rate() || p.lag() != q.lag())
            return false;
    }
    return true;
}

static Broken indices_of_golden(const fb::Plan &plan, const fb::Golden &golden, uint32_t g) {
    if (golden.entry() >= plan.entries()->size())
        return broken(13, "a golden vector names no entry: vector, entry", g, golden.entry());
    const fb::Entry &entry = *plan.entries()->Get(golden.entry());
    if (count(golden.inputs()) != count(entry.inputs()))
        return broken(13, "inputs of a golden vector: vector, inputs", g, count(golden.inputs()));
    if (count(golden.outputs()) > cap::ports)
        return broken(13, "outputs of a golden vector: vector, outputs", g, count(golden.outputs()));
    for (uint32_t t = 0; t < count(golden.inputs()); ++t) {
        const fb::GoldenTensor &tensor = *golden.inputs()->Get(t);
        if (tensor.port() != t)
            return broken(13, "golden inputs are not in the ports' order: vector, tensor", g, t);
        if (tensor.width() != plan.inputs()->Get(entry.inputs()->Get(t)->input())->width())
            return broken(13, "width of a golden input: vector, tensor", g, t);
    }
    for (uint32_t t = 0; t < count(golden.outputs()); ++t) {
        const fb::GoldenTensor &tensor = *golden.outputs()->Get(t);
        if (tensor.port() >= count(entry.outputs()))
            return broken(13, "a golden output names no port: vector, tensor", g, t);
        if (tensor.width() != entry.outputs()->Get(tensor.port())->width())
            return broken(13, "width of a golden output: vector, tensor", g, t);
    }
    return {};
}

static Broken indices_of_decision(const fb::Plan &plan) {
    const fb::Decision *decision = plan.decision();
    if (!decision) return {};
    const uint32_t labels = count(plan.labels());
    for (uint32_t i = 0; i < count(decision->ignore()); ++i)
        if (decision->ignore()->Get(i) >= labels)
            return broken(13, "an ignored label is not there: label, labels", decision->ignore()->Get(i),
                          labels);
    for (uint32_t i = 0; i < count(decision->thresholds()); ++i)
        if (decision->thresholds()->Get(i)->label() >= labels)
            return broken(13, "a threshold's label is not there: label, labels",
                          decision->thresholds()->Get(i)->label(), labels);
    return {};
}

static Broken indices_of_together(const fb::Plan &plan, const fb::Kernel &kernel, uint32_t k) {
    if (count(kernel.together()) > cap::together)
        return broken(13, "a kernel has too many for several streams: kernel, found", k,
                      count(kernel.together()));
    uint32_t before = 1;
    for (uint32_t t = 0; t < count(kernel.together()); ++t) {
        const fb::Together &many = *kernel.together()->Get(t);
        if (many.kernel() >= plan.kernels()->size() ||
            count(plan.kernels()->Get(many.kernel())->together()) > 0)
            return broken(13, "no kernel for several streams: of kernel, named", k, many.kernel());
        if (many.streams() <= before || many.streams() > cap::streams_together)
            return broken(13, "streams of a kernel: of kernel, streams", k, many.streams());
        before = many.streams();
        if (many.strides()->size() != kernel.args()->size())
            return broken(13, "strides of a kernel for several streams: of kernel, found", k,
                          many.strides()->size());
    }
    return {};
}

static Broken enumerations(const fb::Plan &plan) {
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        if (Broken b = indices_of_together(plan, *plan.kernels()->Get(k), k)) return b;
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        for (uint32_t a = 0; a < plan.kernels()->Get(k)->args()->size(); ++a) {
            const fb::KernelArg &arg = *plan.kernels()->Get(k)->args()->Get(a);
            if (arg.kind() > fb::ArgKind::MAX || arg.elem() > fb::Elem::MAX)
                return broken(13, "unknown kind or type of an argument: kernel, argument", k, a);
        }
    for (uint32_t i = 0; i < plan.inputs()->size(); ++i)
        if (plan.inputs()->Get(i)->kind() > fb::InputKind::MAX)
            return broken(13, "unknown kind of input: input", i);
    for (uint32_t i = 0; i < count(plan.state()); ++i)
        if (plan.state()->Get(i)->kind() > fb::StateKind::MAX || plan.state()->Get(i)->elem() > fb::Elem::f64)
            return broken(13, "unknown kind or type of a field of the state: field", i);
    return {};
}

Broken v13_indices(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const uint32_t segment = plan.variants()->Get(v)->segment();
        if (detached(*plan.variants()->Get(v))) {
            if (segment != 0)
                return broken(13, "a code variant without code names a segment: variant, segment", v,
                              segment);
            continue;
        }
        if (segment >= plan.segments()->size() ||
            plan.segments()->Get(segment)->kind() != fb::SegmentKind::code)
            return broken(13, "a code variant names no code segment: variant, segment", v, segment);
    }
    if (Broken b = enumerations(plan)) return b;
    const fb::Entry *first[static_cast<size_t>(fb::EntryKind::MAX) + 1] = {};
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (Broken b = indices_of_entry(plan, entry, e)) return b;
        const fb::Entry *&of_kind = first[static_cast<size_t>(entry.kind())];
        if (!of_kind) of_kind = &entry;
        if (!same_ports(*of_kind, entry))
            return broken(13, "two entries of a kind differ in inputs or outputs: entry", e);
    }
    for (uint32_t g = 0; g < count(plan.golden()); ++g)
        if (Broken b = indices_of_golden(plan, *plan.golden()->Get(g), g)) return b;
    return indices_of_decision(plan);
}

// ---- V11 ----

// A kernel takes the scratch it was compiled to take and asks nobody: what the plan gives has to be
// enough.
static Broken scratch_rule(const Subject &s, const fb::CodeVariant &variant, uint32_t v) {
    if (!s.request.file || detached(variant)) return {}; // verify_front: the writer's own
    const uint8_t *image = s.request.file + s.plan->segments()->Get(variant.segment())->offset();
    for (uint32_t k = 0; k < variant.entry()->size(); ++k) {
        uint64_t need;
        memcpy(&need, image + variant.entry()->Get(k) - need_bytes, sizeof need); // V9: inside
        if (need > variant.scratch()->Get(k))
            return broken(11, "a kernel's code needs more scratch than the plan gives: variant, kernel", v,
                          k);
    }
    return {};
}

// The last of a kernel and those that do its work for several streams.
static uint32_t last_called(const fb::Plan &plan, uint32_t kernel) {
    uint32_t last = kernel;
    const auto *together = plan.kernels()->Get(kernel)->together();
    for (uint32_t t = 0; t < count(together); ++t)
        last = std::max<uint32_t>(last, together->Get(t)->kernel());
    return last;
}

// Where an entry is a GPU's, kernels that its own steps alone call come last and have no code.
static uint32_t kernels_with_code(const fb::Plan &plan) {
    uint32_t called = 0;
    bool all = true;
    for (const fb::Entry *entry : *plan.entries()) {
        const bool gpu = entry->device() != fb::DeviceKind::cpu;
        if (gpu) all = false;
        for (const auto *steps : {entry->steps(), entry->rebuild()})
            for (uint32_t i = 0; i < count(steps); ++i)
                if ((!gpu || steps->Get(i)->cpu()) && steps->Get(i)->kind() == fb::StepKind::call)
                    called = std::max(called, last_called(plan, steps->Get(i)->kernel()) + 1);
    }
    return all ? plan.kernels()->size() : called;
}

Broken v11_kernels(const Subject &s) {
    const fb::Plan &plan = *s.plan;
    for (uint32_t k = 0; k < plan.kernels()->size(); ++k)
        if (plan.kernels()->Get(k)->abi() != kernel_abi(*plan.kernels()->Get(k)))
            return broken(11, "the ABI hash is not that of the argument list: kernel, hash", k,
                          plan.kernels()->Get(k)->abi());
    const uint32_t kernels = kernels_with_code(plan);
    for (uint32_t k = 0; k < kernels; ++k)
        for (const fb::KernelArg *arg : *plan.kernels()->Get(k)->args())
            if (arg->elem() == fb::Elem::f16) return broken(11, "a kernel of CPUs takes float16: kernel", k);
    for (uint32_t v = 0; v < plan.variants()->size(); ++v) {
        const fb::CodeVariant &variant = *plan.variants()->Get(v);
        const uint32_t functions = detached(variant) ? 0 : kernels;
        if (variant.entry()->size() != functions)
            return broken(11, "kernels of a code variant: found, expected", variant.entry()->size(),
                          functions);
        if (variant.scratch()->size() != kernels)
            return broken(11, "scratch sizes of a code variant: found, expected", variant.scratch()->size(),
                          kernels);
        if (Broken b = scratch_rule(s, variant, v)) return b;
    }
    return {};
}

} // namespace longwave::artifact
