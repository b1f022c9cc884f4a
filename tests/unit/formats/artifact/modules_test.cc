// What a GPU runs: V21, and what V8, V11 and V13 say of it.
#include "formats/artifact/modules.h"
#include "tests/support/tiny_gpu.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <cstring>
#include <doctest/doctest.h>

namespace modules_test {

using namespace longwave;
using namespace longwave::test;

namespace {

// The rule that its modules break; 0: none.
artifact::Broken check_modules(const Draft &draft) {
    const std::vector<uint8_t> bytes = draft.bytes();
    const std::vector<uint8_t> &segment = draft.segments.back().bytes;
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    artifact::ModulesView modules;
    return artifact::open_modules(*fb::GetPlan(bytes.data() + header.plan_offset),
                                  {segment.data(), segment.size()}, &modules);
}

struct ManifestCase {
    const char *name;
    std::function<void(fb::ModulesT &)> edit;
};

const ManifestCase manifests[] = {
    {"no target", [](fb::ModulesT &m) { m.target = ""; }},
    {"a target with a line break", [](fb::ModulesT &m) { m.target = "a\nb"; }},
    {"an unknown feature", [](fb::ModulesT &m) { m.features = 4; }},
    {"a target without threads", [](fb::ModulesT &m) { m.threads = 0; }},
    {"a target with more threads than there are", [](fb::ModulesT &m) { m.threads = 1025; }},
    {"a target with more shared memory than there is", [](fb::ModulesT &m) { m.shared_bytes = 2 << 20; }},
    {"a module of no kernel", [](fb::ModulesT &m) { m.modules[1]->kernel = 6; }},
    {"two modules of a kernel", [](fb::ModulesT &m) { m.modules[1]->kernel = 2; }},
    {"modules out of order", [](fb::ModulesT &m) { std::swap(m.modules[0], m.modules[1]); }},
    {"a kernel of a GPU entry without a module", [](fb::ModulesT &m) { m.modules.pop_back(); }},
    {"an entry point without a name", [](fb::ModulesT &m) { m.modules[0]->entry = ""; }},
    {"an entry point with a space", [](fb::ModulesT &m) { m.modules[0]->entry = "ma in"; }},
    {"an entry point of 257 bytes", [](fb::ModulesT &m) { m.modules[0]->entry.assign(257, 'x'); }},
    {"no workgroups", [](fb::ModulesT &m) { *m.modules[0]->grid = fb::Extent3(1, 0, 1); }},
    {"65,536 workgroups", [](fb::ModulesT &m) { *m.modules[0]->grid = fb::Extent3(1, 1, 65536); }},
    {"no threads", [](fb::ModulesT &m) { *m.modules[0]->local = fb::Extent3(64, 1, 0); }},
    {"more threads than the target has",
     [](fb::ModulesT &m) { *m.modules[0]->local = fb::Extent3(64, 2, 1); }},
    {"threads whose product overflows",
     [](fb::ModulesT &m) { *m.modules[0]->local = fb::Extent3(1024, 1024, 1024); }},
    {"more shared memory than the target has", [](fb::ModulesT &m) { m.modules[0]->shared_bytes = 16385; }},
    {"a descriptor too few", [](fb::ModulesT &m) { m.modules[0]->bindings.pop_back(); }},
    {"two buffers with one descriptor", [](fb::ModulesT &m) { m.modules[0]->bindings[1] = 0; }},
    {"scalars with a buffer's descriptor", [](fb::ModulesT &m) { m.modules[0]->bindings[2] = 0; }},
    {"a descriptor left out", [](fb::ModulesT &m) { m.modules[0]->bindings[3] = 4; }},
    {"descriptor 64", [](fb::ModulesT &m) { m.modules[0]->bindings[3] = 64; }},
    {"a table of streams with a buffer's descriptor", [](fb::ModulesT &m) { m.modules[0]->table = 1; }},
    {"a table of streams that leaves a descriptor out", [](fb::ModulesT &m) { m.modules[0]->table = 5; }},
    {"a table of streams with descriptor 64", [](fb::ModulesT &m) { m.modules[0]->table = 64; }},
    {"a word for overflows with a buffer's descriptor", [](fb::ModulesT &m) { m.modules[0]->overflow = 1; }},
    {"a word for overflows that leaves a descriptor out",
     [](fb::ModulesT &m) { m.modules[0]->overflow = 5; }},
    {"a word for overflows with descriptor 64", [](fb::ModulesT &m) { m.modules[0]->overflow = 64; }},
    {"no descriptors at all", [](fb::ModulesT &m) { m.modules[0]->bindings.assign(4, artifact::unbound); }},
    {"code behind the segment", [](fb::ModulesT &m) { m.modules[1]->size += 4; }},
    {"code far behind the segment", [](fb::ModulesT &m) { m.modules[1]->offset = 0xfffffff0u - 4096; }},
    {"code that is not aligned", [](fb::ModulesT &m) { m.modules[1]->offset += 2; }},
    {"code of no whole words", [](fb::ModulesT &m) { m.modules[1]->size -= 2; }},
    {"code shorter than a header", [](fb::ModulesT &m) { m.modules[1]->size = 16; }},
    {"code that does not begin as SPIR-V does",
     [](fb::ModulesT &m) { m.modules[1]->offset += 4, m.modules[1]->size -= 4; }},
};

const ManifestCase variants[] = {
    {"a variant of no kernel", [](fb::ModulesT &m) { m.variants[2]->kernel = 6; }},
    {"a variant of a kernel without a module", [](fb::ModulesT &m) { m.variants[0]->kernel = 1; }},
    {"variants out of order", [](fb::ModulesT &m) { std::swap(m.variants[0], m.variants[1]); }},
    {"nine modules of a kernel",
     [](fb::ModulesT &m) {
         while (m.variants.size() < 9)
             m.variants.push_back(std::make_unique<fb::ModuleT>(*m.variants.back()));
     }},
    {"a variant whose entry point has no name", [](fb::ModulesT &m) { m.variants[0]->entry = ""; }},
    {"a variant of no workgroups", [](fb::ModulesT &m) { *m.variants[1]->grid = fb::Extent3(0, 1, 1); }},
    {"a variant of more threads than the target has",
     [](fb::ModulesT &m) { *m.variants[1]->local = fb::Extent3(65, 1, 1); }},
    {"a variant of more shared memory than the target has",
     [](fb::ModulesT &m) { m.variants[0]->shared_bytes = 16385; }},
    {"a variant with other descriptors",
     [](fb::ModulesT &m) { std::swap(m.variants[0]->bindings[0], m.variants[0]->bindings[1]); }},
    {"a variant with a descriptor too many", [](fb::ModulesT &m) { m.variants[0]->bindings.push_back(4); }},
    {"a variant with a table of streams", [](fb::ModulesT &m) { m.variants[0]->table = 4; }},
    {"a variant with a word for overflows", [](fb::ModulesT &m) { m.variants[0]->overflow = 4; }},
    {"a variant behind the segment", [](fb::ModulesT &m) { m.variants[2]->size += 4; }},
    {"a variant that is not SPIR-V",
     [](fb::ModulesT &m) { m.variants[2]->offset += 4, m.variants[2]->size -= 4; }},
};

const ManifestCase chains[] = {
    {"a chain of no entry", [](fb::ModulesT &m) { m.chains[0]->entry = 2; }},
    {"a chain of an entry of the CPU", [](fb::ModulesT &m) { m.chains[0]->entry = 0; }},
    {"a chain of one step", [](fb::ModulesT &m) { m.chains[0]->steps = 1; }},
    {"a chain beyond the steps", [](fb::ModulesT &m) { m.chains[0]->first = 1; }},
    {"two chains with one step",
     [](fb::ModulesT &m) { m.chains.push_back(std::make_unique<fb::ChainT>(*m.chains[0])); }},
    {"a chain without threads", [](fb::ModulesT &m) { m.chains[0]->threads = 0; }},
    {"a chain of more threads than the target has", [](fb::ModulesT &m) { m.chains[0]->threads = 65; }},
    {"a chain of more shared memory than the target has",
     [](fb::ModulesT &m) { m.chains[0]->shared_bytes = 16385; }},
    {"a chain with a descriptor too few", [](fb::ModulesT &m) { m.chains[0]->descriptors.pop_back(); }},
    {"a chain with a descriptor too many", [](fb::ModulesT &m) { m.chains[0]->descriptors.push_back(2); }},
    {"a chain whose scalars are no part of the table",
     [](fb::ModulesT &m) { m.chains[0]->descriptors[2] = 2; }},
    {"a chain whose buffer is the table", [](fb::ModulesT &m) { m.chains[0]->descriptors[0] = 3; }},
    {"a chain with two regions behind a descriptor",
     [](fb::ModulesT &m) { m.chains[0]->descriptors[3] = 1; }},
    {"a chain that leaves a descriptor out",
     [](fb::ModulesT &m) {
         m.chains[0]->table = m.chains[0]->descriptors[2] = m.chains[0]->descriptors[6] = 4;
     }},
    {"a chain with descriptor 64", [](fb::ModulesT &m) { m.chains[0]->descriptors[0] = 64; }},
    {"a chain with table 64",
     [](fb::ModulesT &m) {
         m.chains[0]->table = 64;
         m.chains[0]->descriptors[2] = m.chains[0]->descriptors[6] = 255;
     }},
    {"a chain behind the segment", [](fb::ModulesT &m) { m.chains[0]->size += 4; }},
    {"a chain that is not SPIR-V", [](fb::ModulesT &m) { m.chains[0]->offset += 4, m.chains[0]->size -= 4; }},
};

// Of the plan of chain_model.
const Case chained_steps[] = {
    {"a chain of steps with two periods", 21, [](Draft &d) { step(d, 1, 1).period = 2; }},
    {"a chain of steps with two phases", 21, [](Draft &d) { step(d, 1, 1).phase = 1; }},
};

Draft chain_of_a_run() {
    fb::ModulesT manifest = gpu_manifest();
    manifest.chains = chain_manifest().chains;
    manifest.chains[0]->entry = gpu_run;
    return gpu_model(manifest);
}

// Two entries with a chain each, the second first.
Draft chains_out_of_order() {
    fb::ModulesT manifest = chain_manifest();
    manifest.chains.push_back(std::make_unique<fb::ChainT>(*manifest.chains[0]));
    manifest.chains[0]->entry = 2;
    Draft draft = chain_model(manifest);
    draft.plan.entries.push_back(std::make_unique<fb::EntryT>(*draft.plan.entries[1]));
    return draft;
}

const Case plans[] = {
    {"a step of a GPU entry with tiles", 21, [](Draft &d) { step(d, gpu_run, 1).tiles = 2; }},
    {"a buffer of a GPU entry that is not aligned", 21,
     [](Draft &d) { move_to(place(d, gpu_run, 1, 3), 324); }},
    {"a clear of half a word", 21, [](Draft &d) { step(d, gpu_run, 0).bytes = 30; }},
    {"a clear at half a word", 21, [](Draft &d) { move_to(place(d, gpu_run, 0, 0), 2); }},
    {"rows of half words", 21, [](Draft &d) { step(d, gpu_run, 2).row_bytes = 2; }},
    {"an arena of half words", 21, [](Draft &d) { entry(d, gpu_run).arena_bytes += 2; }},
    {"a port of half words", 21,
     [](Draft &d) {
         fb::Place &p = *entry(d, gpu_run).inputs[0]->place;
         move_to(p, 30);
     }},
    {"a module of float16 whose target needs no 16-bit storage", 21,
     [](Draft &d) { d.plan.kernels[5]->args[0]->elem = fb::Elem::f16; }},
    {"a stream of kernels without a table of streams", 21,
     [](Draft &d) {
         d.plan.entries.push_back(std::make_unique<fb::EntryT>(entry(d, stream)));
         d.plan.entries.back()->device = fb::DeviceKind::gpu;
     }},
    {"a port outside of the arena", 21,
     [](Draft &d) { into(*entry(d, gpu_run).inputs[0]->place, fb::Space::state); }},
};

const Case cases[] = {
    {"prepare on a GPU", 13, [](Draft &d) { entry(d, prepare).device = fb::DeviceKind::gpu; }},
    {"an unknown device", 13, [](Draft &d) { entry(d, run).device = static_cast<fb::DeviceKind>(2); }},
    {"an entry of the CPU calls a kernel without code", 11, [](Draft &d) { step(d, run, 3).kernel = 5; }},
    {"float16 in a kernel of processors", 11,
     [](Draft &d) { d.plan.kernels[4]->args[0]->elem = fb::Elem::f16; }},
    {"code for a kernel that only a GPU calls", 11,
     [](Draft &d) {
         d.plan.variants[0]->entry.push_back(d.plan.variants[0]->entry.back());
         d.plan.variants[0]->scratch.push_back(64);
     }},
    {"a segment of another kind yet", 8,
     [](Draft &d) { d.segments.back().kind = static_cast<fb::SegmentKind>(5); }},
};

// Steps of the mixed entry.
enum : size_t { m_history, m_there, m_fir, m_back, m_tail, m_again, m_mean, m_out };

void leave_out(Draft &d, size_t index) {
    auto &steps = entry(d, gpu_run).steps;
    steps.erase(steps.begin() + static_cast<ptrdiff_t>(index));
}

const Case mixed_cases[] = {
    {"what the device reads was not moved there", 10, [](Draft &d) { leave_out(d, m_there); }},
    {"what the device reads was moved in part", 10, [](Draft &d) { step(d, gpu_run, m_there).bytes = 284; }},
    {"what the CPU reads was not moved back", 10, [](Draft &d) { leave_out(d, m_back); }},
    {"an output that stays on the device", 10, [](Draft &d) { leave_out(d, m_out); }},
    {"what nobody has written is moved, and read", 10,
     [](Draft &d) { std::swap(entry(d, gpu_run).steps[m_fir], entry(d, gpu_run).steps[m_back]); }},
    {"what is cleared on the other side", 10, [](Draft &d) { step(d, gpu_run, m_history).cpu = false; }},
    {"a move beyond the arena", 12, [](Draft &d) { step(d, gpu_run, m_there).bytes = 644; }},
    {"a move of nothing", 12, [](Draft &d) { step(d, gpu_run, m_there).bytes = 0; }},
    {"a move of 2^64 - 4 bytes", 12, [](Draft &d) { step(d, gpu_run, m_there).bytes = ~0ull - 3; }},
    {"a move of derived tables", 12,
     [](Draft &d) { into(place(d, gpu_run, m_there, 0), fb::Space::derived); }},
    {"a move in tiles", 12, [](Draft &d) { step(d, gpu_run, m_there).tiles = 2; }},
    {"a move that the CPU computes", 12, [](Draft &d) { step(d, gpu_run, m_there).cpu = true; }},
    {"a move without a place", 12, [](Draft &d) { step(d, gpu_run, m_there).args.clear(); }},
    {"moves where no step is the CPU's", 12,
     [](Draft &d) {
         step(d, gpu_run, m_history).cpu = false;
         step(d, gpu_run, m_tail).cpu = false;
     }},
    {"a step of the CPU in an entry of the processor", 12, [](Draft &d) { step(d, run, 1).cpu = true; }},
    {"a step of the CPU in a stream", 12, [](Draft &d) { step(d, stream, 1).cpu = true; }},
    {"a step of the CPU in prepare", 12, [](Draft &d) { step(d, prepare, 0).cpu = true; }},
    {"a move in a run of the processor", 12,
     [](Draft &d) { entry(d, run).steps.push_back(std::make_unique<fb::StepT>(step(d, gpu_run, m_there))); }},
    {"the CPU calls a kernel of the device", 11,
     [](Draft &d) {
         step(d, gpu_run, m_mean).cpu = true;
         leave_out(d, m_again);
         leave_out(d, m_out - 1);
     }},
};

const Case mixed_order[] = {
    {"moved to the device behind its work", 21,
     [](Draft &d) { std::swap(entry(d, gpu_run).steps[m_there], entry(d, gpu_run).steps[m_fir]); }},
    {"moved back before its work", 21,
     [](Draft &d) { std::swap(entry(d, gpu_run).steps[m_mean], entry(d, gpu_run).steps[m_out]); }},
    {"a move of half words", 21, [](Draft &d) { step(d, gpu_run, m_out).bytes = 6; }},
    {"a move from half a word", 21, [](Draft &d) { move_to(place(d, gpu_run, m_out, 0), 574); }},
};

} // namespace

} // namespace modules_test

void longwave::test::modules_samples(Samples &samples) {
    for (const modules_test::ManifestCase &c : modules_test::manifests) {
        fb::ModulesT manifest = gpu_manifest();
        c.edit(manifest);
        samples.push_back({std::string("V21: ") + c.name, 21, gpu_model(manifest).bytes()});
    }
    const auto alone = [&](const char *group, Draft draft, const Case &c) {
        c.edit(draft);
        samples.push_back({std::string(group) + ": " + c.name, c.rule, draft.bytes()});
        samples.back().modules_alone = true;
    };
    for (const Case &c : modules_test::plans) alone("V21, entries", gpu_model(), c);
    for (const modules_test::ManifestCase &c : modules_test::variants) {
        fb::ModulesT manifest = variants_manifest();
        c.edit(manifest);
        alone("V21, variants", gpu_model(manifest), {c.name, 21, [](Draft &) {}});
    }
    for (const modules_test::ManifestCase &c : modules_test::chains) {
        fb::ModulesT manifest = chain_manifest();
        c.edit(manifest);
        alone("V21, chains", chain_model(manifest), {c.name, 21, [](Draft &) {}});
    }
    for (const Case &c : modules_test::chained_steps) alone("V21, chains", chain_model(chain_manifest()), c);
    alone("V21, chains", modules_test::chain_of_a_run(), {"a chain of an offline run", 21, [](Draft &) {}});
    alone("V21, chains", modules_test::chains_out_of_order(), {"chains out of order", 21, [](Draft &) {}});
    for (const Case &c : modules_test::mixed_order) alone("V21, moves", mixed_model(), c);
    add_cases(samples, "GPU entries", [] { return gpu_model(); }, modules_test::cases);
    add_cases(samples, "mixed entries", mixed_model, modules_test::mixed_cases);
}

namespace modules_test {

TEST_CASE("modules: a mixed entry is sound, needs format 2.3, and every move that it lacks or has too many "
          "is told") {
    const Draft draft = mixed_model();
    check_sound(draft);
    CHECK_FALSE(check_modules(draft));
    const std::vector<uint8_t> bytes = draft.bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    CHECK(header.minor == 3);
    check_cases([] { return mixed_model(); }, mixed_cases);
    for (const Case &c : mixed_order) {
        Draft broken = mixed_model();
        c.edit(broken);
        const artifact::Broken found = check_modules(broken);
        CHECK_MESSAGE(found.rule == c.rule, std::string(c.name), ": ", std::string(found.text));
    }
}

TEST_CASE("modules: those of a sound artifact are found, and it is of format 2.1") {
    const Draft draft = gpu_model();
    check_sound(draft);
    CHECK_FALSE(check_modules(draft));
    const std::vector<uint8_t> bytes = draft.bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    CHECK(header.minor == 1);
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + header.plan_offset);
    artifact::ModulesView modules;
    const std::vector<uint8_t> &segment = draft.segments.back().bytes;
    REQUIRE_FALSE(artifact::open_modules(plan, {segment.data(), segment.size()}, &modules));
    CHECK(modules.of_kernel(0) == nullptr);
    REQUIRE(modules.of_kernel(5) != nullptr);
    const artifact::Bytes code = modules.code(*modules.of_kernel(5));
    CHECK(code.size == gpu_code().size() - modules.code(*modules.of_kernel(2)).size);
    CHECK(memcmp(code.data, gpu_code().data() + gpu_code().size() - code.size, code.size) == 0);
}

TEST_CASE("modules: variants of a kernel are found by number, after its module") {
    const Draft draft = gpu_model(variants_manifest());
    check_sound(draft);
    CHECK_FALSE(check_modules(draft));
    const std::vector<uint8_t> bytes = draft.bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    artifact::ModulesView modules;
    const std::vector<uint8_t> &segment = draft.segments.back().bytes;
    REQUIRE_FALSE(artifact::open_modules(*fb::GetPlan(bytes.data() + header.plan_offset),
                                         {segment.data(), segment.size()}, &modules));
    CHECK(modules.variants_of(2) == 2);
    CHECK(modules.variants_of(5) == 3);
    CHECK(&modules.variant(5, 0) == modules.of_kernel(5));
    const auto &list = *modules.manifest().variants();
    CHECK(&modules.variant(2, 1) == list.Get(0));
    CHECK(&modules.variant(5, 1) == list.Get(1));
    CHECK(&modules.variant(5, 2) == list.Get(2));
}

TEST_CASE("modules: V21, each thing that can be wrong with a variant") {
    for (const ManifestCase &c : variants) {
        fb::ModulesT manifest = variants_manifest();
        c.edit(manifest);
        const artifact::Broken found = check_modules(gpu_model(manifest));
        CHECK_MESSAGE(found.rule == 21, std::string(c.name), ": ", std::string(found.text));
    }
}

TEST_CASE("modules: float16 needs 16-bit storage and a word for overflows, and is of format 2.3") {
    const auto with = [](uint32_t features, uint8_t overflow) {
        fb::ModulesT manifest = gpu_manifest();
        manifest.features = features;
        manifest.modules[1]->overflow = overflow;
        Draft draft = gpu_model(manifest);
        draft.plan.kernels[5]->args[0]->elem = fb::Elem::f16;
        return draft;
    };
    const Draft sound = with(artifact::gpu_storage_16, 3);
    check_sound(sound);
    CHECK_FALSE(check_modules(sound));
    const std::vector<uint8_t> bytes = sound.bytes();
    CHECK(bytes[10] == 3);
    CHECK(check_modules(with(0, 3)).rule == 21);
    CHECK(check_modules(with(artifact::gpu_storage_16, artifact::unbound)).rule == 21);
}

TEST_CASE("modules: an artifact without them is of format 2.0, as it was before there were any") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    CHECK(header.minor == 0);
}

TEST_CASE("modules: V21, each thing that can be wrong with a manifest") {
    for (const modules_test::ManifestCase &c : manifests) {
        fb::ModulesT manifest = gpu_manifest();
        c.edit(manifest);
        const artifact::Broken broken = check_modules(gpu_model(manifest));
        CHECK_MESSAGE(broken.rule == 21, std::string(c.name), ": ", std::string(broken.text));
    }
}

TEST_CASE("modules: V21, each thing that can be wrong with a chain") {
    CHECK_FALSE(check_modules(chain_model(chain_manifest())));
    for (const modules_test::ManifestCase &c : chains) {
        fb::ModulesT manifest = chain_manifest();
        c.edit(manifest);
        const artifact::Broken broken = check_modules(chain_model(manifest));
        CHECK_MESSAGE(broken.rule == 21, std::string(c.name), ": ", std::string(broken.text));
    }
    for (const Case &c : chained_steps) {
        Draft draft = chain_model(chain_manifest());
        c.edit(draft);
        const artifact::Broken broken = check_modules(draft);
        CHECK_MESSAGE(broken.rule == c.rule, std::string(c.name), ": ", std::string(broken.text));
    }
    CHECK(check_modules(chain_of_a_run()).rule == 21);
    CHECK(check_modules(chains_out_of_order()).rule == 21);
}

TEST_CASE("modules: V21, each thing that can be wrong with a GPU's entry") {
    for (const Case &c : plans) {
        Draft draft = gpu_model();
        c.edit(draft);
        const artifact::Broken broken = check_modules(draft);
        CHECK_MESSAGE(broken.rule == c.rule, std::string(c.name), ": ", std::string(broken.text));
    }
}

TEST_CASE("modules: what the artifact's own rules say of a GPU's entry") {
    check_cases([] { return gpu_model(); }, cases);
}

TEST_CASE("modules: a segment cut short or with other bytes in its manifest is refused or sound, never read "
          "beyond") {
    const Draft draft = gpu_model();
    const std::vector<uint8_t> bytes = draft.bytes();
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    const fb::Plan &plan = *fb::GetPlan(bytes.data() + header.plan_offset);
    const std::vector<uint8_t> &whole = draft.segments.back().bytes;
    artifact::ModulesView modules;
    for (size_t size = 0; size < whole.size(); size += size < 700 ? 1 : 97) {
        const std::vector<uint8_t> cut(whole.begin(), whole.begin() + static_cast<long>(size));
        CHECK(artifact::open_modules(plan, {cut.data(), cut.size()}, &modules).rule == 21);
    }
    uint64_t manifest = 0;
    memcpy(&manifest, whole.data(), 8);
    for (size_t at = 0; at < 8 + manifest; ++at)
        for (const uint8_t flip : {0x01, 0x80, 0xff}) {
            std::vector<uint8_t> other = whole;
            other[at] ^= flip;
            const artifact::Broken broken =
                artifact::open_modules(plan, {other.data(), other.size()}, &modules);
            CHECK((broken.rule == 0 || broken.rule == 21));
        }
}

TEST_CASE("modules: the writer refuses an artifact whose modules break the rule") {
    fb::ModulesT manifest = gpu_manifest();
    manifest.modules[0]->bindings[1] = 0;
    Draft draft = gpu_model(manifest);
    const auto written = artifact::write(std::move(draft.plan), std::move(draft.segments));
    REQUIRE_FALSE(written);
    CHECK(written.status().message().find("rule V21") != std::string::npos);
}

} // namespace modules_test
