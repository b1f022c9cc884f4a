#include "formats/artifact/modules.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules_schema.h"
#include "formats/artifact/rules.h"
#include "formats/base/same_bytes.h"
#include "formats/spirv/spirv.h"
#include <cstring>

namespace longwave::artifact {
namespace {

// What Vulkan asks of every device, or no device gives more of: beyond these a number is no
// program's.
constexpr uint32_t most_groups = 65535, most_threads = 1024, most_shared = 1u << 20, most_bindings = 64;
constexpr uint32_t least_module = 4 * spirv_header; // bytes
constexpr uint32_t newest_spirv = 0x00010600;

Broken printable(const flatbuffers::String &name, const char *what, uint32_t m) {
    if (name.size() == 0 || name.size() > cap::name) return broken(21, what, m, name.size());
    for (const char c : name)
        if (c <= ' ' || c > '~') return broken(21, what, m, uint8_t(c));
    return {};
}

bool within(const fb::Extent3 &extent, uint32_t most) {
    return extent.x() >= 1 && extent.x() <= most && extent.y() >= 1 && extent.y() <= most &&
           extent.z() >= 1 && extent.z() <= most;
}

Broken shape_rule(const fb::Modules &all, const fb::Module &module, uint32_t m) {
    if (!within(*module.grid(), most_groups)) return broken(21, "workgroups of a module: module", m);
    if (!within(*module.local(), most_threads))
        return broken(21, "threads of a module's workgroup: module", m);
    const uint64_t threads = uint64_t{module.local()->x()} * module.local()->y() * module.local()->z();
    if (threads > all.threads())
        return broken(21, "threads of a module's workgroup, more than its target has: module, threads", m,
                      threads);
    if (module.shared_bytes() > all.shared_bytes())
        return broken(21, "shared bytes of a module, more than its target has: module, bytes", m,
                      module.shared_bytes());
    return {};
}

// Each buffer has a descriptor of its own, all scalars one, the table of streams one, and there are
// no others.
Broken bindings_rule(const fb::Kernel &kernel, const fb::Module &module, uint32_t m) {
    const auto &bindings = *module.bindings();
    if (bindings.size() != kernel.args()->size())
        return broken(21, "descriptors of a module: module, found", m, bindings.size());
    uint64_t taken = 0;
    uint32_t scalars = most_bindings, different = 0;
    for (uint32_t a = 0; a < bindings.size(); ++a) {
        const uint32_t binding = bindings.Get(a);
        const bool scalar = kernel.args()->Get(a)->kind() == fb::ArgKind::scalar;
        if (binding == unbound) continue;
        if (binding >= most_bindings) return broken(21, "descriptor of an argument: module, argument", m, a);
        if (scalar && binding == scalars) continue;
        if ((taken >> binding & 1) || (scalar && scalars != most_bindings))
            return broken(21, "descriptor of an argument is another's: module, argument", m, a);
        if (scalar) scalars = binding;
        taken |= uint64_t{1} << binding;
        ++different;
    }
    if (different == 0) return broken(21, "a module has no descriptor: module", m);
    if (const uint32_t table = module.table(); table != unbound) {
        if (table >= most_bindings || (taken >> table & 1))
            return broken(21, "descriptor of a module's table of streams: module, descriptor", m, table);
        taken |= uint64_t{1} << table;
        ++different;
    }
    if (const uint32_t word = module.overflow(); word != unbound) {
        if (word >= most_bindings || (taken >> word & 1))
            return broken(21, "descriptor of a module's word for overflows: module, descriptor", m, word);
        taken |= uint64_t{1} << word;
        ++different;
    }
    if (different < most_bindings && taken != (uint64_t{1} << different) - 1)
        return broken(21, "descriptors of a module leave one out: module, descriptors", m, different);
    return {};
}

bool takes_halves(const fb::Kernel &kernel) {
    for (const fb::KernelArg *arg : *kernel.args())
        if (arg->elem() == fb::Elem::f16) return true;
    return false;
}

// A device is asked for 16-bit storage where there are float16, and an overflow of one is told.
Broken halves_rule(const fb::Modules &all, const fb::Kernel &kernel, const fb::Module &module, uint32_t m) {
    if (!takes_halves(kernel)) return {};
    if (!(all.features() & gpu_storage_16))
        return broken(21, "a module of float16, and its target does not need 16-bit storage: module", m);
    if (module.overflow() == unbound)
        return broken(21, "a module of float16 without a word for overflows: module", m);
    return {};
}

template <class ModuleOrChain>
Broken code_rule(const Bytes &segment, const ModuleOrChain &module, uint32_t m) {
    if (module.offset() % 4 != 0 || module.size() % 4 != 0 || module.size() < least_module ||
        !checked::inside(module.offset(), module.size(), segment.size))
        return broken(21, "a module lies outside its segment: module, offset", m, module.offset());
    uint32_t words[2];
    memcpy(words, segment.data + module.offset(), sizeof words);
    if (words[0] != spirv_magic) return broken(21, "a module is not SPIR-V: module, first word", m, words[0]);
    if (words[1] < 0x00010000 || words[1] > newest_spirv || (words[1] & 0xff) != 0)
        return broken(21, "SPIR-V of another version: module, version", m, words[1]);
    return {};
}

Broken module_rule(const fb::Plan &plan, const fb::Modules &all, const Bytes &segment, uint32_t m) {
    const fb::Module &module = *all.modules()->Get(m);
    if (module.kernel() >= plan.kernels()->size())
        return broken(21, "a module names no kernel: module, kernel", m, module.kernel());
    if (m > 0 && module.kernel() <= all.modules()->Get(m - 1)->kernel())
        return broken(21, "modules are not in the order of their kernels: module, kernel", m,
                      module.kernel());
    if (Broken b = printable(*module.entry(), "name of a module's entry: module, byte", m)) return b;
    if (Broken b = shape_rule(all, module, m)) return b;
    const fb::Kernel &kernel = *plan.kernels()->Get(module.kernel());
    if (Broken b = bindings_rule(kernel, module, m)) return b;
    if (Broken b = halves_rule(all, kernel, module, m)) return b;
    return code_rule(segment, module, m);
}

bool same_descriptors(const flatbuffers::Vector<uint8_t> &a, const flatbuffers::Vector<uint8_t> &b) {
    return a.size() == b.size() && same_bytes(a.data(), b.data(), a.size());
}

// A variant takes the place of a module: whoever binds buffers for one binds them for the other.
Broken variant_rule(const ModulesView &view, const Bytes &segment, uint32_t v) {
    const fb::Modules &all = view.manifest();
    const fb::Module &variant = *all.variants()->Get(v);
    const fb::Module *module = view.of_kernel(variant.kernel());
    if (!module)
        return broken(21, "a variant of a kernel without a module: variant, kernel", v, variant.kernel());
    if (v > 0 && variant.kernel() < all.variants()->Get(v - 1)->kernel())
        return broken(21, "variants are not in the order of their kernels: variant, kernel", v,
                      variant.kernel());
    if (v >= most_variants - 1 && variant.kernel() == all.variants()->Get(v + 1 - most_variants)->kernel())
        return broken(21, "too many variants of a kernel: variant, kernel", v, variant.kernel());
    if (Broken b = printable(*variant.entry(), "name of a variant's entry: variant, byte", v)) return b;
    if (Broken b = shape_rule(all, variant, v)) return b;
    if (!same_descriptors(*variant.bindings(), *module->bindings()) || variant.table() != module->table() ||
        variant.overflow() != module->overflow())
        return broken(21, "descriptors of a variant differ from its module's: variant, kernel", v,
                      variant.kernel());
    return code_rule(segment, variant, v);
}

bool one_a_stream(const fb::Entry &entry, fb::Space space) {
    return entry.kind() == fb::EntryKind::stream && space != fb::Space::weights &&
           space != fb::Space::derived;
}

// Descriptors begin at multiples of 64; a dispatch is all of a call; fills are made of words. What
// each stream has of its own is found through the table, by the word.
Broken step_rule(const ModulesView &view, const fb::Entry &entry, const fb::Step &step, uint32_t e,
                 uint32_t i) {
    if (step.cpu()) return {};
    const bool stream = entry.kind() == fb::EntryKind::stream;
    if (stream && step.kind() != fb::StepKind::call)
        return broken(21, "a stream of a GPU has calls alone: entry, step", e, i);
    if (step.kind() == fb::StepKind::call && !view.of_kernel(step.kernel()))
        return broken(21, "a kernel of a GPU entry has no module: entry, step", e, i);
    if (stream && view.of_kernel(step.kernel())->table() == unbound)
        return broken(21, "a kernel of a GPU stream has no table of streams: entry, step", e, i);
    if (stream && view.of_kernel(step.kernel())->overflow() != unbound)
        return broken(21, "a stream of a GPU has no word for overflows: entry, step", e, i);
    if (step.kind() == fb::StepKind::call && step.tiles() != 1)
        return broken(21, "a step of a GPU entry is one dispatch, without tiles: entry, step", e, i);
    const uint64_t unit = step.kind() == fb::StepKind::call ? segment_alignment : 4;
    for (uint32_t a = 0; a < count(step.args()); ++a) {
        const fb::Place *place = step.args()->Get(a)->place();
        if (!place) continue;
        const uint64_t of = one_a_stream(entry, place->space()) ? 4 : unit;
        if (place->offset() % of != 0 || place->slot_bytes() % of != 0)
            return broken(21, "a place of a GPU entry is not aligned: entry, step", e, i);
    }
    if (step.kind() != fb::StepKind::call && (step.bytes() % 4 != 0 || step.row_bytes() % 4 != 0))
        return broken(21, "a GPU clears and copies whole words: entry, step", e, i);
    return {};
}

// Between two steps of the CPU: moves to the device, its work, moves back.
Broken order_rule(const fb::Entry &entry, uint32_t e) {
    int last = 0;
    for (uint32_t i = 0; i < count(entry.steps()); ++i) {
        const fb::Step &step = *entry.steps()->Get(i);
        const int now = step.cpu() || step.kind() == fb::StepKind::to_device ? 0
                        : step.kind() == fb::StepKind::to_cpu                ? 2
                                                                             : 1;
        if (now < last && !step.cpu())
            return broken(21, "moves of a mixed entry are out of order: entry, step", e, i);
        last = now;
    }
    return {};
}

// Rows of ports are copied by the word.
Broken port_rule(const fb::Entry &entry, const fb::Place &place, uint32_t row_bytes, uint32_t e) {
    if (place.offset() % 4 != 0 || place.slot_bytes() % 4 != 0 || row_bytes % 4 != 0)
        return broken(21, "a port of a GPU entry is not aligned: entry", e);
    if (entry.kind() == fb::EntryKind::run && place.space() != fb::Space::arena)
        return broken(21, "a port of a GPU entry does not lie in its arena: entry", e);
    return {};
}

Broken entries_rule(const fb::Plan &plan, const ModulesView &view) {
    for (uint32_t e = 0; e < plan.entries()->size(); ++e) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.device() != fb::DeviceKind::gpu) continue;
        if (entry.arena_bytes() % 4 != 0) return broken(21, "arena of a GPU entry: entry", e);
        for (const auto *steps : {entry.steps(), entry.rebuild()})
            for (uint32_t i = 0; i < count(steps); ++i)
                if (Broken b = step_rule(view, entry, *steps->Get(i), e, i)) return b;
        if (Broken b = order_rule(entry, e)) return b;
        for (uint32_t i = 0; i < count(entry.inputs()); ++i) {
            const fb::InputPort &port = *entry.inputs()->Get(i);
            if (Broken b = port_rule(entry, *port.place(), port.row_bytes(), e)) return b;
        }
        for (uint32_t i = 0; i < count(entry.outputs()); ++i) {
            const fb::OutputPort &port = *entry.outputs()->Get(i);
            if (Broken b = port_rule(entry, *port.place(), port.row_bytes(), e)) return b;
        }
    }
    return {};
}

// Whether one descriptor reaches both: of the state the same field.
bool same_region(const fb::Plan &plan, const fb::Place &a, const fb::Place &b) {
    if (a.space() != b.space()) return false;
    if (a.space() != fb::Space::state) return true;
    for (uint32_t f = 0; f < count(plan.state()); ++f) {
        const uint64_t begin = plan.state()->Get(f)->offset();
        if ((a.offset() < begin) != (b.offset() < begin)) return false;
    }
    return true;
}

// What the arguments of a chain are bound to: each descriptor to one region, scalars to the table.
struct ChainDescriptors {
    const fb::Plan &plan;
    const fb::Chain &chain;
    const fb::Place *first[most_bindings] = {}; // that has the descriptor
    uint32_t next = 0;                          // argument

    Broken add(const fb::Binding &argument, uint32_t c) {
        if (next == chain.descriptors()->size())
            return broken(21, "descriptors of a chain: chain, found", c, next);
        const uint32_t a = next++, descriptor = chain.descriptors()->Get(a);
        if (descriptor == unbound) return {};
        const bool table = descriptor == chain.table();
        if (descriptor >= most_bindings || table != (argument.scalar() != nullptr))
            return broken(21, "descriptor of a chain's argument: chain, argument", c, a);
        if (table) return {};
        const fb::Place *&known = first[descriptor];
        if (!known) known = argument.place();
        if (!same_region(plan, *known, *argument.place()))
            return broken(21, "descriptor of a chain's argument is another region's: chain, argument", c, a);
        return {};
    }
    Broken finish(uint32_t c) const {
        if (next != chain.descriptors()->size())
            return broken(21, "descriptors of a chain: chain, arguments", c, next);
        if (chain.table() >= most_bindings)
            return broken(21, "descriptor of a chain's table of streams: chain, descriptor", c,
                          chain.table());
        for (uint32_t d = 0; d < most_bindings; ++d)
            if ((first[d] != nullptr) != (d < chain.table()))
                return broken(21, "descriptors of a chain leave one out: chain, descriptor", c, d);
        return {};
    }
};

Broken chain_rule(const fb::Plan &plan, const fb::Modules &all, const Bytes &segment, uint32_t c) {
    const fb::Chain &chain = *all.chains()->Get(c);
    if (chain.entry() >= plan.entries()->size())
        return broken(21, "a chain names no entry: chain, entry", c, chain.entry());
    const fb::Entry &entry = *plan.entries()->Get(chain.entry());
    if (entry.device() != fb::DeviceKind::gpu || entry.kind() != fb::EntryKind::stream)
        return broken(21, "a chain is of no stream of a GPU: chain, entry", c, chain.entry());
    const uint32_t end = uint32_t{chain.first()} + chain.steps();
    if (chain.steps() < 2 || end > count(entry.steps()))
        return broken(21, "steps of a chain: chain, first step", c, chain.first());
    if (c > 0) {
        const fb::Chain &before = *all.chains()->Get(c - 1);
        if (before.entry() > chain.entry() ||
            (before.entry() == chain.entry() && before.first() + before.steps() > chain.first()))
            return broken(21, "chains are out of order, or share a step: chain, first step", c,
                          chain.first());
    }
    if (chain.threads() < 1 || chain.threads() > all.threads())
        return broken(21, "threads of a chain: chain, threads", c, chain.threads());
    if (chain.shared_bytes() > all.shared_bytes())
        return broken(21, "shared bytes of a chain, more than its target has: chain, bytes", c,
                      chain.shared_bytes());
    ChainDescriptors descriptors{plan, chain};
    for (uint32_t i = chain.first(); i < end; ++i) {
        const fb::Step &step = *entry.steps()->Get(i), &first = *entry.steps()->Get(chain.first());
        if (step.period() != first.period() || step.phase() != first.phase())
            return broken(21, "steps of a chain fire in different blocks: chain, step", c, i);
        for (const fb::Binding *argument : *step.args())
            if (Broken b = descriptors.add(*argument, c)) return b;
    }
    if (Broken b = descriptors.finish(c)) return b;
    return code_rule(segment, chain, c);
}

// The manifest at the head of the segment, as a flatbuffer.
Broken read_manifest(const Bytes &segment, const fb::Modules **out) {
    uint64_t size = 0;
    if (segment.size >= 8) memcpy(&size, segment.data, 8);
    if (size < 32 || !checked::inside(8, size, segment.size))
        return broken(21, "size of the modules' manifest: bytes, segment", size, segment.size);
    flatbuffers::Verifier::Options options;
    options.max_depth = 8;
    options.max_tables = static_cast<flatbuffers::uoffset_t>(size / 16 + 64);
    options.check_nested_flatbuffers = false;
    flatbuffers::Verifier verifier(segment.data + 8, size, options);
    if (!fb::VerifyModulesBuffer(verifier))
        return broken(21, "the modules' manifest is not a well-formed flatbuffer: bytes", size);
    *out = fb::GetModules(segment.data + 8);
    return {};
}

} // namespace

const fb::Module *ModulesView::of_kernel(uint32_t kernel) const {
    const auto &modules = *modules_->modules(); // in the order of their kernels
    uint32_t low = 0, high = modules.size();
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (modules.Get(middle)->kernel() < kernel) low = middle + 1;
        else high = middle;
    }
    return low < modules.size() && modules.Get(low)->kernel() == kernel ? modules.Get(low) : nullptr;
}

uint32_t ModulesView::variants_of(uint32_t kernel) const {
    uint32_t found = 1;
    for (uint32_t v = 0; v < count(modules_->variants()); ++v)
        found += modules_->variants()->Get(v)->kernel() == kernel;
    return found;
}

const fb::Module &ModulesView::variant(uint32_t kernel, uint32_t number) const {
    if (number == 0) return *of_kernel(kernel);
    uint32_t v = 0;
    while (modules_->variants()->Get(v)->kernel() != kernel) ++v;
    return *modules_->variants()->Get(v + number - 1);
}

uint32_t ModulesView::chain_count() const { return count(modules_->chains()); }

const fb::Chain &ModulesView::chain(uint32_t index) const { return *modules_->chains()->Get(index); }

Bytes ModulesView::code(const fb::Chain &chain) const {
    return {segment_.data + chain.offset(), chain.size()};
}

Bytes ModulesView::code(const fb::Module &module) const {
    return {segment_.data + module.offset(), module.size()};
}

Broken open_modules(const fb::Plan &plan, const Bytes &segment, ModulesView *out) {
    ModulesView opened;
    opened.segment_ = segment;
    if (Broken b = read_manifest(segment, &opened.modules_)) return b;
    const fb::Modules &all = *opened.modules_;
    if (Broken b = printable(*all.target(), "target of the modules: -, byte", 0)) return b;
    if ((all.features() & ~known_gpu_features) != 0)
        return broken(21, "the modules need a feature this version does not know: features", all.features());
    if (all.threads() < 1 || all.threads() > most_threads || all.shared_bytes() > most_shared)
        return broken(21, "limits of the modules' target: threads, shared bytes", all.threads(),
                      all.shared_bytes());
    for (uint32_t m = 0; m < all.modules()->size(); ++m)
        if (Broken b = module_rule(plan, all, segment, m)) return b;
    for (uint32_t v = 0; v < count(all.variants()); ++v)
        if (Broken b = variant_rule(opened, segment, v)) return b;
    if (Broken b = entries_rule(plan, opened)) return b;
    for (uint32_t c = 0; c < count(all.chains()); ++c)
        if (Broken b = chain_rule(plan, all, segment, c)) return b;
    *out = opened;
    return {};
}

} // namespace longwave::artifact
