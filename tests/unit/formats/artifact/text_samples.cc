// Samples of the rules about texts, and about what a GPU runs: V16 and V21.
#include "tests/support/tiny_gpu.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <cstring>

namespace longwave::test {
namespace {

const Case texts[] = {
    {"two continuation bytes", 16, [](Draft &d) { d.plan.labels[0] = "\xbf\x80"; }},
    {"a first byte of five", 16, [](Draft &d) { d.plan.labels[0] = "\xf8\x90\x80\x80"; }},
    {"a second byte that continues nothing", 16, [](Draft &d) { d.plan.labels[0] = "\xc3\x28"; }},
    {"a letter in two bytes", 16, [](Draft &d) { d.plan.labels[0] = "\xc1\x81"; }},
    {"a letter in three bytes", 16, [](Draft &d) { d.plan.labels[0] = "\xe0\x81\x81"; }},
    {"a control character in the producer", 16, [](Draft &d) { d.plan.producer = "a\x01"; }},
    {"a control character in the certificates", 16, [](Draft &d) { d.plan.certificates = "{\x01}"; }},
    {"a control character in the output of the decision", 16, [](Draft &d) { decision(d).output = "a\x01"; }},
    {"a control character in the specification of a kernel", 16,
     [](Draft &d) { d.plan.kernels[0]->spec = "{\x01}"; }},
    {"a line break in a name", 16, [](Draft &d) { d.plan.labels[0] = "a\nb"; }},
    {"a carriage return in a document", 16, [](Draft &d) { d.plan.report = "a\rb"; }},
    {"a zero in a document", 16, [](Draft &d) { d.plan.report = std::string("a\0b", 3); }},
};

// Labels that are one text, longer together than the plan.
std::vector<uint8_t> shared_text() {
    Draft d = audio_model();
    d.plan.labels.assign(200, "a");
    d.plan.labels.back() = std::string(250, 'b');
    std::vector<uint8_t> bytes = d.bytes();
    const auto *labels = fb::GetPlan(bytes.data() + artifact::header_bytes)->labels();
    const uint8_t *text = reinterpret_cast<const uint8_t *>(labels->Get(199));
    for (uint32_t i = 0; i < 199; ++i) {
        uint8_t *at = const_cast<uint8_t *>(labels->Data()) + 4 * i;
        flatbuffers::WriteScalar(at, static_cast<flatbuffers::uoffset_t>(text - at));
    }
    return patch(bytes, 0, {0x89});
}

// ---- modules ----

std::vector<uint8_t> code_behind(const std::vector<uint8_t> &segment) {
    const auto *all = fb::GetModules(segment.data() + 8);
    return {segment.begin() + all->modules()->Get(0)->offset(), segment.end()};
}

// The manifest changed; its modules' offsets count from the first of them.
void remake(Draft &d, const std::function<void(fb::ModulesT &)> &edit) {
    std::vector<uint8_t> &segment = d.segments.back().bytes;
    fb::ModulesT manifest;
    fb::GetModules(segment.data() + 8)->UnPackTo(&manifest);
    const std::vector<uint8_t> code = code_behind(segment);
    const uint32_t first = manifest.modules[0]->offset;
    for (auto &module : manifest.modules) module->offset -= first;
    edit(manifest);
    segment = modules_segment(std::move(manifest), code);
}

void version(Draft &d, uint32_t version) {
    std::vector<uint8_t> &segment = d.segments.back().bytes;
    memcpy(&segment[segment.size() - code_behind(segment).size() + 4], &version, sizeof version);
}

const Case manifests[] = {
    {"an entry point with a delete character", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[0]->entry = "m\x7f"; }); }},
    {"no workgroups along x", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { *m.modules[0]->grid = fb::Extent3(0, 1, 1); }); }},
    {"65,536 workgroups along x", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { *m.modules[0]->grid = fb::Extent3(65536, 1, 1); }); }},
    {"65,536 workgroups along y", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { *m.modules[0]->grid = fb::Extent3(1, 65536, 1); }); }},
    {"a table of streams with descriptor 100", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[0]->table = 100; }); }},
    {"a word for overflows with descriptor 100", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[0]->overflow = 100; }); }},
    {"a module between two words", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[1]->offset += 2, m.modules[1]->size -= 4; }); }},
    {"SPIR-V before 1.0", 21, [](Draft &d) { version(d, 0x0000ff00); }},
    {"SPIR-V of a version to come", 21, [](Draft &d) { version(d, 0x00010700); }},
    {"SPIR-V of no version", 21, [](Draft &d) { version(d, 0x00010301); }},
    {"a manifest of 16 bytes", 21, [](Draft &d) { d.segments.back().bytes[0] = 16, d.segments.back().bytes[1] = 0; }},
    {"a manifest longer than its segment", 21, [](Draft &d) { d.segments.back().bytes[6] = 1; }},
    {"a manifest of another identifier", 21, [](Draft &d) { d.segments.back().bytes[12] = 'X'; }},
    {"scalars with two descriptors", 21,
     [](Draft &d) {
         d.plan.kernels[5]->args.push_back(std::make_unique<fb::KernelArgT>(scalar_arg(1)));
         remake(d, [](fb::ModulesT &m) { m.modules[1]->bindings.push_back(3); });
     }},
    {"float16 without a word for overflows", 21,
     [](Draft &d) {
         d.plan.kernels[5]->args[0]->elem = fb::Elem::f16;
         remake(d, [](fb::ModulesT &m) { m.features = 2; });
     }},
    {"slots of half words", 21, [](Draft &d) { place(d, gpu_run, 1, 3) = fb::Place(320, 4, 0, 1, 0, fb::Space::arena); }},
    {"slots of a port of half words", 21,
     [](Draft &d) { *entry(d, gpu_run).inputs[0]->place = fb::Place(32, 2, 0, 1, 0, fb::Space::arena); }},
    {"rows of a port of half words", 21, [](Draft &d) { entry(d, gpu_run).inputs[0]->row_bytes = 6; }},
    {"an output port of half words", 21, [](Draft &d) { move_to(*entry(d, gpu_run).outputs[0]->place, 322); }},
};

const Case streams[] = {
    {"a GPU stream that clears", 21,
     [](Draft &d) { d.plan.entries[1]->steps.push_back(zero("clear", fb::Space::arena, 0, 16)); }},
    {"a GPU stream without a table of streams", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[0]->table = 255; }); }},
    {"a GPU stream with a word for overflows", 21,
     [](Draft &d) { remake(d, [](fb::ModulesT &m) { m.modules[0]->overflow = 5; }); }},
};

} // namespace

void text_samples(Samples &samples) {
    add_cases(samples, "texts", audio_model, texts);
    samples.push_back({"texts that are longer together than the plan", 16, shared_text()});
    const auto alone = [&](const char *group, Draft draft, const Case &c) {
        c.edit(draft);
        samples.push_back({std::string(group) + ": " + c.name, c.rule, draft.bytes()});
        samples.back().modules_alone = true;
    };
    for (const Case &c : manifests) alone("manifests", gpu_model(), c);
    for (const Case &c : streams) alone("GPU streams", gpu_stream_model(), c);
    samples.push_back({"a GPU stream", 0, gpu_stream_model().bytes()});
    samples.push_back({"a mixed run", 0, mixed_model().bytes()});
}

} // namespace longwave::test
