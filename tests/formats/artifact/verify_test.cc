// Rules V1-V20: each has files that break it and nothing before it.
#include "formats/artifact/features.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/verify.h"
#include "tests/support/broken.h"
#include <cmath>
#include <doctest/doctest.h>
#include <functional>
#include <type_traits>

using namespace longwave;
using namespace longwave::test;
using artifact::Broken;
using artifact::Header;

namespace {

enum : size_t { prepare, stream, run };                             // entries of audio_model
enum : size_t { k_square, k_fir_stream, k_fir_run, k_sum, k_mean }; // its kernels
enum : size_t { code, weights };                                    // its segments

struct Case {
    const char *name;
    int rule;
    std::function<void(Draft &)> edit;
};

fb::StepT &step(Draft &d, size_t entry, size_t index) { return *d.plan.entries[entry]->steps[index]; }
fb::Place &place(Draft &d, size_t entry, size_t index, size_t arg) { return *step(d, entry, index).args[arg]->place; }
void move_to(fb::Place &p, uint64_t offset) { p = fb::Place(offset, p.slot_bytes(), p.tile_bytes(), p.slots(), p.slot_add(), p.space()); }
void into(fb::Place &p, fb::Space space) { p = fb::Place(p.offset(), p.slot_bytes(), p.tile_bytes(), p.slots(), p.slot_add(), space); }
fb::DecisionT &decision(Draft &d) {
    d.plan.decision = std::make_unique<fb::DecisionT>();
    fb::DecisionT &decision = *d.plan.decision;
    decision.output = "sums";
    decision.default_threshold = 0.5f;
    decision.release = 0.5f;
    decision.smoothing_ms = 100;
    decision.refractory_ms = 100;
    return decision;
}
fb::GoldenT &golden(Draft &d) {
    d.segments.push_back({fb::SegmentKind::golden, std::vector<uint8_t>(128, 0)});
    auto vector = std::make_unique<fb::GoldenT>();
    vector->entry = stream;
    vector->error_limit = 1e-5f;
    for (auto *list : {&vector->inputs, &vector->outputs}) {
        auto tensor = std::make_unique<fb::GoldenTensorT>();
        tensor->rows = 8;
        tensor->width = 1;
        tensor->offset = list == &vector->inputs ? 0 : 32;
        list->push_back(std::move(tensor));
    }
    d.plan.golden.push_back(std::move(vector));
    return *d.plan.golden.back();
}

const Case cases[] = {
    // V6
    {"rank 7", 6, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims.resize(7, fb::Dim(1, 0)); }},
    {"extent 0", 6, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(0, 1)}; }},
    {"extent over 2^24", 6, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim((1 << 24) + 1, 0)}; }},
    {"no entries", 6, [](Draft &d) { d.plan.entries.clear(); }},
    {"no inputs", 6, [](Draft &d) { d.plan.inputs.clear(); }},
    {"block 0", 6, [](Draft &d) { d.plan.entries[stream]->block = 0; }},
    {"block over 2^24", 6, [](Draft &d) { d.plan.entries[run]->block = (1 << 24) + 1; }},
    {"entry period 0", 6, [](Draft &d) { d.plan.entries[stream]->period = 0; }},
    {"entry period over 2^20", 6, [](Draft &d) { d.plan.entries[stream]->period = (1 << 20) + 1; }},
    {"more tiles in all than a plan may run", 6,
     [](Draft &d) {
         for (int i = 0; i < 17; ++i) {
             auto &steps = d.plan.entries[run]->steps;
             steps.insert(steps.begin(), std::make_unique<fb::StepT>(*steps[0]));
             steps[0]->tiles = 1 << 20;
         }
     }},
    {"a delay that keeps a finished stream pulling for minutes", 6, [](Draft &d) { d.plan.entries[stream]->outputs[0]->delay = (1 << 20) + 1; }},
    {"no tiles", 6, [](Draft &d) { step(d, stream, 0).tiles = 0; }},
    {"65 arguments", 6, [](Draft &d) { for (int i = 0; i < 64; ++i) step(d, stream, 0).args.push_back(constant(0)); }},
    {"17 code variants", 6, [](Draft &d) { for (int i = 0; i < 16; ++i) d.plan.variants.push_back(std::make_unique<fb::CodeVariantT>(*d.plan.variants[0])); }},
    {"17 streams", 6, [](Draft &d) { for (int i = 0; i < 16; ++i) d.plan.entries.push_back(std::make_unique<fb::EntryT>(*d.plan.entries[stream])); }},
    {"two prepares", 6, [](Draft &d) { d.plan.entries.push_back(std::make_unique<fb::EntryT>(*d.plan.entries[prepare])); }},
    {"input of width 0", 6, [](Draft &d) { d.plan.inputs[0]->width = 0; }},
    // V7
    {"derived bytes over 2^40", 7, [](Draft &d) { d.plan.derived_bytes = (1ull << 40) + 64; }},
    {"state bytes near 2^64", 7, [](Draft &d) { d.plan.state_bytes = ~0ull - 63; }},
    {"arena bytes near 2^63", 7, [](Draft &d) { d.plan.entries[run]->arena_bytes = 1ull << 63; }},
    {"element count overflows", 7, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(1 << 24, 1), fb::Dim(1 << 24, 1), fb::Dim(1 << 24, 1)}; }},
    {"negative stride", 7, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(9, -1)}; }},
    {"stride out of any space", 7, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(1 << 24, 0x7fffffff)}; }},
    {"scratch over 2^40", 7, [](Draft &d) { d.plan.variants[0]->scratch[0] = 1ull << 41; }},
    // V8
    {"weights of another size than the plan says", 8, [](Draft &d) { d.plan.weights_bytes = 60; }},
    {"two weight segments", 8, [](Draft &d) { d.segments.push_back(d.segments[weights]); }},
    {"weights without a segment", 8, [](Draft &d) { d.segments.pop_back(); }},
    {"two golden segments", 8, [](Draft &d) { golden(d); d.segments.push_back(d.segments.back()); }},
    {"unknown segment kind", 8, [](Draft &d) { d.segments.push_back({static_cast<fb::SegmentKind>(3), {1}}); }},
    // V9
    {"kernel starts behind its code", 9, [](Draft &d) { d.plan.variants[0]->entry[0] = static_cast<uint32_t>(d.segments[code].bytes.size()); }},
    {"kernel starts at 2^32 - 1", 9, [](Draft &d) { d.plan.variants[0]->entry[4] = 0xffffffff; }},
    {"golden tensor behind its segment", 9, [](Draft &d) { golden(d).outputs[0]->offset = 100; }},
    {"golden tensor at 2^64 - 4", 9, [](Draft &d) { golden(d).inputs[0]->offset = ~0ull - 3; }},
    {"golden tensor not aligned", 9, [](Draft &d) { golden(d).inputs[0]->offset = 2; }},
    {"golden tensor without rows", 9, [](Draft &d) { golden(d).inputs[0]->rows = 0; }},
    {"golden vector without its segment", 9, [](Draft &d) { golden(d); d.segments.pop_back(); }},
    // V10
    {"arena is read before it is written", 10, [](Draft &d) { auto &steps = d.plan.entries[run]->steps; std::swap(steps[1], steps[3]); }},
    {"output of a port nobody wrote", 10, [](Draft &d) { d.plan.entries[stream]->steps.pop_back(); }},
    {"output overlaps an input of its step", 10, [](Draft &d) { move_to(place(d, run, 1, 3), 64); }},
    {"written only in other blocks", 10, [](Draft &d) { step(d, stream, 1).phase = 0; }},
    {"history is not cleared", 10, [](Draft &d) { d.plan.entries[run]->steps.erase(d.plan.entries[run]->steps.begin()); }},
    {"a tensor runs into a live one", 10, [](Draft &d) {
         // The mean's output moved into the end of y, which is an output read later: 4 bytes within it are a nested write, so let it straddle the end.
         auto clear = std::make_unique<fb::StepT>();
         clear->kind = fb::StepKind::zero;
         clear->bytes = 16;
         clear->args.push_back(at(fb::Space::arena, 320 + 256 - 8));
         auto &steps = d.plan.entries[run]->steps;
         steps.insert(steps.begin() + 2, std::move(clear));
     }},
    // V11
    {"a variant with a kernel too few", 11, [](Draft &d) { d.plan.variants[0]->entry.pop_back(); }},
    {"a variant with a scratch size too many", 11, [](Draft &d) { d.plan.variants[0]->scratch.push_back(0); }},
    {"a variant without kernels", 11, [](Draft &d) { d.plan.variants[0]->entry.clear(); }},
    // V12
    {"an argument too few", 12, [](Draft &d) { step(d, stream, 0).args.pop_back(); }},
    {"a scalar for a buffer", 12, [](Draft &d) { step(d, stream, 0).args[0] = constant(0); }},
    {"a buffer for a scalar", 12, [](Draft &d) { step(d, stream, 0).args[2] = at(fb::Space::state, 0); }},
    {"neither scalar nor buffer", 12, [](Draft &d) { step(d, stream, 0).args[2] = std::make_unique<fb::BindingT>(); }},
    {"a place behind its space", 12, [](Draft &d) { move_to(place(d, stream, 0, 0), 192); }},
    {"a place at 2^64 - 64", 12, [](Draft &d) { move_to(place(d, stream, 0, 0), ~0ull - 63); }},
    {"a slot behind its space", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(fb::Space::state, 64, 9, 16); }},
    {"slots that overflow", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(fb::Space::state, 64, 3, 1ull << 63); }},
    {"no slots", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(fb::Space::state, 64, 0, 16); }},
    {"a tile behind its space", 12, [](Draft &d) { step(d, stream, 0).tiles = 2; step(d, stream, 0).args[3] = at(fb::Space::state, 64, 2, 16, 0, 128); }},
    {"misaligned", 12, [](Draft &d) { move_to(place(d, stream, 0, 3), 66); }},
    {"misaligned for a kernel that wants 64", 12, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[3]->alignment = 64; }},
    {"an alignment of 3", 12, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[3]->alignment = 5; }},
    {"weights are written", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(fb::Space::weights, 0); }},
    {"derived is written by a stream", 12, [](Draft &d) { step(d, stream, 0).args[3] = at(fb::Space::derived, 0); }},
    {"a run writes state", 12, [](Draft &d) { step(d, run, 3).args[2] = at(fb::Space::state, 0); }},
    {"position beyond its ring", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(5, 4, 0); }},
    {"negative position", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(4, 4, -4); }},
    {"scalar with modulus 0", 12, [](Draft &d) { step(d, stream, 0).args[2] = slot(0, 4, 0); }},
    {"length beyond its ring", 12, [](Draft &d) { step(d, run, 3).args[1] = length(65); }},
    {"length in a stream", 12, [](Draft &d) { step(d, stream, 0).args[2] = length(4); }},
    {"length with modulus 0", 12, [](Draft &d) { step(d, run, 3).args[1] = length(64, 1, 0); }},
    {"phase at its period", 12, [](Draft &d) { step(d, stream, 1).phase = 2; }},
    {"a period that does not divide the entry's", 12, [](Draft &d) { step(d, stream, 1).period = 3; }},
    {"a period in a run", 12, [](Draft &d) { d.plan.entries[run]->period = 2; step(d, run, 1).period = 2; }},
    {"zero without bytes", 12, [](Draft &d) { step(d, run, 0).bytes = 0; }},
    {"zero beyond its space", 12, [](Draft &d) { step(d, run, 0).bytes = 641; }},
    {"zero_tail in a stream", 12, [](Draft &d) { step(d, stream, 0).kind = fb::StepKind::zero_tail; step(d, stream, 0).args.resize(1); }},
    {"zero_tail by zero", 12, [](Draft &d) { step(d, run, 2).den = 0; }},
    {"an input port of other rows", 12, [](Draft &d) { d.plan.entries[stream]->inputs[0]->rows = 3; }},
    {"an input port of narrow rows", 12, [](Draft &d) { d.plan.entries[stream]->inputs[0]->row_bytes = 0; }},
    {"an input port in the arena of a stream", 12, [](Draft &d) { into(*d.plan.entries[stream]->inputs[0]->place, fb::Space::arena); }},
    {"an input port beyond its space", 12, [](Draft &d) { move_to(*d.plan.entries[run]->inputs[0]->place, 400); }},
    {"input slots that overlap", 12, [](Draft &d) { *d.plan.entries[stream]->inputs[0]->place = fb::Place(0, 8, 0, 4, 0, fb::Space::state); }},
    {"a stream with two input ports", 12, [](Draft &d) { auto &ports = d.plan.entries[stream]->inputs; ports.push_back(std::make_unique<fb::InputPortT>(*ports[0])); }},
    {"an entry without outputs", 12, [](Draft &d) { d.plan.entries[stream]->outputs.clear(); }},
    {"an output beyond its space", 12, [](Draft &d) { move_to(*d.plan.entries[stream]->outputs[0]->place, 184); }},
    {"an output whose rows do not fit its clock", 12, [](Draft &d) { d.plan.entries[stream]->outputs[0]->rows = 3; }},
    {"an output with clock 1/0", 12, [](Draft &d) { d.plan.entries[stream]->outputs[0]->clock_den = 0; }},
    {"an output of a stream without a time axis", 12, [](Draft &d) { d.plan.entries[stream]->outputs[0]->clock_num = 0; }},
    {"a run with room for fewer rows than it has", 12, [](Draft &d) { d.plan.entries[run]->outputs[0]->rows = 63; }},
    // V13
    {"a variant's segment is not there", 13, [](Draft &d) { d.plan.variants[0]->segment = 2; }},
    {"a variant's segment is not code", 13, [](Draft &d) { d.plan.variants[0]->segment = weights; }},
    {"a step's kernel is not there", 13, [](Draft &d) { step(d, stream, 0).kernel = 5; }},
    {"an unknown kind of step", 13, [](Draft &d) { step(d, stream, 0).kind = static_cast<fb::StepKind>(3); }},
    {"an unknown kind of entry", 13, [](Draft &d) { d.plan.entries[run]->kind = static_cast<fb::EntryKind>(3); }},
    {"an unknown element type", 13, [](Draft &d) { d.plan.kernels[0]->args[0]->elem = static_cast<fb::Elem>(3); }},
    {"an unknown kind of argument", 13, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->kind = static_cast<fb::ArgKind>(4); }},
    {"an unknown space", 13, [](Draft &d) { into(place(d, stream, 0, 0), static_cast<fb::Space>(5)); }},
    {"an unknown kind of scalar", 13, [](Draft &d) { *step(d, stream, 0).args[2]->scalar = fb::Scalar(static_cast<fb::ScalarKind>(3), 0, 0, 0, 1, 0); }},
    {"an unknown kind of input", 13, [](Draft &d) { d.plan.inputs[0]->kind = static_cast<fb::InputKind>(3); }},
    {"a port's input is not there", 13, [](Draft &d) { d.plan.entries[stream]->inputs[0]->input = 1; }},
    {"a port without place", 13, [](Draft &d) { d.plan.entries[stream]->inputs[0]->place.reset(); }},
    {"an output without place", 13, [](Draft &d) { d.plan.entries[stream]->outputs[0]->place.reset(); }},
    {"a length of an input that is not there", 13, [](Draft &d) { *step(d, run, 3).args[1]->scalar = fb::Scalar(fb::ScalarKind::length, 64, 1, 0, 1, 1); }},
    {"an ignored label is not there", 13, [](Draft &d) { decision(d).ignore = {3}; }},
    {"a threshold's label is not there", 13, [](Draft &d) { auto t = std::make_unique<fb::ThresholdT>(); t->label = 3; t->value = 0.5f; decision(d).thresholds.push_back(std::move(t)); }},
    {"a golden vector's entry is not there", 13, [](Draft &d) { golden(d).entry = 3; }},
    {"a golden vector of prepare", 13, [](Draft &d) { golden(d).entry = prepare; }},
    {"a golden output's port is not there", 13, [](Draft &d) { golden(d).outputs[0]->port = 2; }},
    {"a golden input of another width", 13, [](Draft &d) { golden(d).inputs[0]->width = 2; }},
    {"two runs that differ", 13, [](Draft &d) { auto other = std::make_unique<fb::EntryT>(*d.plan.entries[run]); other->outputs[0]->name = "z"; d.plan.entries.push_back(std::move(other)); }},
    // V14
    {"tiles of a zero step overlap", 14, [](Draft &d) { step(d, run, 0).tiles = 2; }},
    {"tiles write the same bytes", 14, [](Draft &d) { step(d, stream, 0).tiles = 2; }},
    {"tiles of prepare write the same bytes", 14, [](Draft &d) { step(d, prepare, 0).tiles = 3; }},
    // V15
    {"an arena of 641 bytes", 15, [](Draft &d) { d.plan.entries[run]->arena_bytes = 641; }},
    // V16
    {"a path for a name", 16, [](Draft &d) { d.plan.name = "../kws"; }},
    {"an empty name", 16, [](Draft &d) { d.plan.name = ""; }},
    {"a label with NUL", 16, [](Draft &d) { d.plan.labels[1] = std::string("a\0b", 3); }},
    {"a label with a control character", 16, [](Draft &d) { d.plan.labels[0] = "a\x1b[2Jb"; }},
    {"a label of cut UTF-8", 16, [](Draft &d) { d.plan.labels[0] = "caf\xc3"; }},
    {"a label of overlong UTF-8", 16, [](Draft &d) { d.plan.labels[0] = "\xe0\x80\xaf"; }},
    {"a surrogate", 16, [](Draft &d) { d.plan.inputs[0]->name = "\xed\xa0\x80"; }},
    {"a code point beyond Unicode", 16, [](Draft &d) { d.plan.variants[0]->target = "\xf4\x90\x80\x80"; }},
    {"a name of 257 bytes", 16, [](Draft &d) { d.plan.entries[stream]->outputs[0]->name = std::string(257, 'n'); }},
    {"a backslash in a step's name", 16, [](Draft &d) { step(d, stream, 0).name = "a\\b"; }},
    {"two outputs of one name", 16, [](Draft &d) { d.plan.entries[stream]->outputs[1]->name = "y"; }},
    // V17
    {"another processor's code", 17, [](Draft &d) { d.plan.variants[0]->machine = 243; }},
    {"code for features nobody has", 17, [](Draft &d) { d.plan.variants[0]->features = 1ull << 63; }},
    {"code for both x86-64 and arm64 features", 17, [](Draft &d) { d.plan.variants[0]->features = artifact::feature_arm_sve | artifact::feature_avx512f; }},
    {"no code at all", 17, [](Draft &d) { d.plan.variants.clear(); }},
    // V18
    {"threshold NaN", 18, [](Draft &d) { decision(d).default_threshold = NAN; }},
    {"threshold 0", 18, [](Draft &d) { decision(d).default_threshold = 0; }},
    {"a word's threshold above 1", 18, [](Draft &d) { auto t = std::make_unique<fb::ThresholdT>(); t->value = 1.5f; decision(d).thresholds.push_back(std::move(t)); }},
    {"release infinite", 18, [](Draft &d) { decision(d).release = INFINITY; }},
    {"negative smoothing", 18, [](Draft &d) { decision(d).smoothing_ms = -1; }},
    {"refractory NaN", 18, [](Draft &d) { decision(d).refractory_ms = NAN; }},
    {"golden limit 0", 18, [](Draft &d) { golden(d).error_limit = 0; }},
    {"audio without a sample rate", 18, [](Draft &d) { d.plan.inputs[0]->sample_rate = 0; }},
    {"tokens without a vocabulary", 18, [](Draft &d) { d.plan.inputs[0]->kind = fb::InputKind::tokens; }},
};

std::vector<uint8_t> u64(uint64_t value) {
    std::vector<uint8_t> bytes(8);
    for (int i = 0; i < 8; ++i) bytes[static_cast<size_t>(i)] = static_cast<uint8_t>(value >> 8 * i);
    return bytes;
}

} // namespace

static_assert(!std::is_aggregate_v<artifact::View> && !std::is_constructible_v<artifact::View, const Header *, const fb::Plan *, const uint8_t *>,
              "only verify() fills in a View");

TEST_CASE("verify: the artifacts the other tests start from are sound") {
    for (const Draft &draft : {audio_model(), family_model(), token_model(), spotter_model(), timing_model({})}) {
        const Broken broken = check(draft.bytes());
        CHECK_MESSAGE(!broken, "V", int(broken.rule), " ", broken.text, " ", broken.a, " ", broken.b);
    }
    Draft with = audio_model();
    decision(with), golden(with);
    const Broken broken = check(with.bytes());
    CHECK_MESSAGE(!broken, "V", int(broken.rule), " ", broken.text, " ", broken.a, " ", broken.b);
}

TEST_CASE("verify: every malformed plan is refused by the rule that names it") {
    for (const Case &c : cases) {
        Draft draft = audio_model();
        c.edit(draft);
        const Broken broken = check(draft.bytes());
        CHECK_MESSAGE(broken.rule == c.rule, c.name, ": V", int(broken.rule), " ", broken.text, " ", broken.a, " ", broken.b);
        CHECK(broken.text[0] != 0);
    }
}

TEST_CASE("verify: V1-V4, the header") {
    const std::vector<uint8_t> good = audio_model().bytes();
    struct {
        const char *name;
        int rule;
        size_t at;
        std::vector<uint8_t> with;
    } const header_cases[] = {
        {"magic of another format", 2, 0, {'P', 'K', 3, 4}},
        {"magic that lost its high bit", 2, 0, {0x09}},
        {"magic with a converted line ending", 2, 4, {'\n', '\n'}},
        {"major 1", 2, 8, {1, 0}},
        {"major 0", 2, 8, {0, 0}},
        {"minor 1", 2, 10, {1, 0}},
        {"header of 128 bytes", 2, 12, {128, 0, 0, 0}},
        {"declared size one more", 3, 16, u64(good.size() + 1)},
        {"declared size one less", 3, 16, u64(good.size() - 1)},
        {"declared size 2^63", 3, 16, u64(1ull << 63)},
        {"plan offset 0", 3, 24, u64(0)},
        {"plan offset 320", 3, 24, u64(320)},
        {"plan offset 2^64 - 1", 3, 24, u64(~0ull)},
        {"plan bytes beyond the file", 3, 32, u64(good.size())},
        {"plan bytes 2^64 - 1", 3, 32, u64(~0ull)},
        {"unknown flag", 4, 40, {2}},
        {"unknown flag in the high half", 4, 44, {1}},
        {"reserved byte", 4, 255, {1}},
        {"key without a signature", 4, 80, {1}},
        {"signature without the flag", 4, 112, {1}},
        {"plan bytes 8", 5, 32, u64(8)},
        {"file identifier", 5, 260, {'X'}},
        {"root offset beyond the plan", 5, 256, {0xff, 0xff, 0xff, 0x7f}},
        {"root offset 0", 5, 256, {0, 0, 0, 0}},
    };
    for (const auto &c : header_cases) {
        const Broken broken = check(patch(good, c.at, c.with));
        CHECK_MESSAGE(broken.rule == c.rule, c.name, ": V", int(broken.rule), " ", broken.text, " ", broken.a, " ", broken.b);
    }
    CHECK(check({}).rule == 1);
    CHECK(check(std::vector<uint8_t>(255)).rule == 1);
    CHECK(check(std::vector<uint8_t>(good.begin(), good.begin() + 17)).rule == 1);
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    CHECK(check(longer).rule == 3);
}

TEST_CASE("verify: V8, segments and padding") {
    const std::vector<uint8_t> good = audio_model().bytes();
    struct {
        const char *name;
        std::function<void(fb::PlanT &)> edit;
    } const segment_cases[] = {
        {"segments in the wrong order", [](fb::PlanT &p) { std::swap(p.segments[0], p.segments[1]); }},
        {"a gap", [](fb::PlanT &p) { p.segments[1]->offset += 64; }},
        {"an overlap", [](fb::PlanT &p) { p.segments[1]->offset -= 64; }},
        {"not aligned", [](fb::PlanT &p) { p.segments[0]->offset += 8; }},
        {"in the header", [](fb::PlanT &p) { p.segments[0]->offset = 64; }},
        {"offset 2^64 - 64", [](fb::PlanT &p) { p.segments[1]->offset = ~0ull - 63; }},
        {"size 2^64 - 1", [](fb::PlanT &p) { p.segments[1]->size = ~0ull; }},
        {"bytes behind the last segment",
         [](fb::PlanT &p) {
             p.segments[1]->size = 32;
             p.weights_bytes = 32;
         }},
    };
    for (const auto &c : segment_cases) {
        const Broken broken = check(rewrite(good, c.edit));
        CHECK_MESSAGE(broken.rule == 8, c.name, ": V", int(broken.rule), " ", broken.text, " ", broken.a, " ", broken.b);
    }
    Header header;
    memcpy(&header, good.data(), sizeof header);
    const size_t padding = header.plan_offset + header.plan_bytes;
    REQUIRE(padding % 64 != 0);
    CHECK(check(patch(good, padding, {1})).rule == 8);
}

TEST_CASE("verify: V11 and V19, hashes") {
    const std::vector<uint8_t> good = audio_model().bytes();
    for (size_t kernel : {size_t{0}, size_t{4}}) CHECK(check(rewrite(good, [&](fb::PlanT &p) { p.kernels[kernel]->abi ^= 1; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.kernels[0]->spec[0] = 'S'; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.kernels[k_fir_stream]->args[2]->high = 14; })).rule == 11);
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.kernels[k_fir_stream]->args[0]->dims[0] = fb::Dim(15, 1); })).rule == 11);

    CHECK(check(patch(good, good.size() - 1, {1})).rule == 19);                                 // weights
    CHECK(check(rewrite(good, [](fb::PlanT &p) { p.segments[0]->hash[31] ^= 1; })).rule == 19); // code against another hash
    CHECK(check(patch(good, 48, {static_cast<uint8_t>(good[48] ^ 1)}, false)).rule == 19);      // the root itself
    CHECK(check(rewrite(good, [](fb::PlanT &p) { std::swap(p.segments[0]->hash, p.segments[1]->hash); })).rule == 19);
    const Broken broken = check(patch(good, good.size() - 1, {1}));
    CHECK(broken.a == 1); // the segment
}

TEST_CASE("verify: V20, memory against the caller's limit") {
    const std::vector<uint8_t> good = audio_model().bytes();
    const uint64_t needed = good.size() + 64 + 640; // derived, and the arena of the run: more than the stream
    CHECK(!check(good, needed));
    CHECK(check(good, needed - 1).rule == 20);
    CHECK(check(good, 1).rule == 20);
    CHECK(check(good, needed - 1).a == needed);
}

TEST_CASE("verify: every truncation is refused") {
    for (const Draft &draft : {audio_model(), token_model()}) {
        const std::vector<uint8_t> good = draft.bytes();
        for (size_t n = 0; n < good.size(); ++n) {
            const Broken broken = check({good.begin(), good.begin() + static_cast<long>(n)});
            REQUIRE(broken.rule == (n < artifact::header_bytes ? 1 : 3));
        }
    }
}

TEST_CASE("verify: every flipped bit is noticed") {
    const std::vector<uint8_t> good = token_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    size_t accepted = 0;
    std::vector<uint8_t> bad = good;
    for (size_t bit = 0; bit < good.size() * 8; ++bit) {
        bad[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        accepted += !check(bad);
        bad[bit / 8] = good[bit / 8];
    }
    CHECK(accepted == 0);
}

// The same with the root hash renewed: what someone who can hash would try. Nothing may crash; what is accepted has passed every rule.
TEST_CASE("verify: every flipped bit of the plan, under a fresh hash, is refused or sound") {
    const std::vector<uint8_t> good = audio_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    size_t by_rule[21] = {};
    for (size_t bit = 0; bit < header.plan_bytes * 8; ++bit) {
        const size_t at = header.plan_offset + bit / 8;
        const Broken broken = check(patch(good, at, {static_cast<uint8_t>(good[at] ^ 1 << bit % 8)}));
        ++by_rule[broken.rule];
    }
    for (int rule : {5, 6, 7, 8, 11, 12, 13, 16, 19}) CHECK_MESSAGE(by_rule[rule] > 0, "no flip broke V", rule);
}

TEST_CASE("verify: a plan made to cost much is refused quickly") {
    SUBCASE("period 2^20 with many steps") {
        Draft draft = audio_model();
        fb::EntryT &entry = *draft.plan.entries[stream];
        entry.period = 1 << 20;
        for (int i = 0; i < 2000; ++i) entry.steps.push_back(std::make_unique<fb::StepT>(*entry.steps[0]));
        CHECK(check(draft.bytes()).rule == 10);
    }
    SUBCASE("many tables that share one long text") {
        // 100 kernels, each with a specification as long as a quarter of the plan, cannot be unless they share it.
        Draft draft = audio_model();
        flatbuffers::FlatBufferBuilder builder;
        const auto shared = builder.CreateString(std::string(4096, 's'));
        std::vector<flatbuffers::Offset<fb::Kernel>> kernels;
        const auto args = builder.CreateVector(std::vector<flatbuffers::Offset<fb::KernelArg>>{});
        for (int i = 0; i < 100; ++i) kernels.push_back(fb::CreateKernel(builder, shared, 0, args));
        const auto name = builder.CreateString("bomb");
        const auto kernel_list = builder.CreateVector(kernels);
        const auto inputs = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Input>>{fb::CreateInput(builder, name)});
        const auto variants = builder.CreateVector(std::vector<flatbuffers::Offset<fb::CodeVariant>>{});
        const auto segments = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Segment>>{});
        const auto steps = builder.CreateVector(std::vector<flatbuffers::Offset<fb::Step>>{});
        const auto entries =
            builder.CreateVector(std::vector<flatbuffers::Offset<fb::Entry>>{fb::CreateEntry(builder, fb::EntryKind::prepare, 0, 0, 0, 0, 0, steps)});
        const auto digest = builder.CreateVector(std::vector<uint8_t>(32));
        builder.Finish(fb::CreatePlan(builder, name, name, inputs, 0, kernel_list, variants, segments, entries, 0, 0, 0, 0, digest, digest), fb::PlanIdentifier());
        std::vector<uint8_t> bytes = draft.bytes();
        Header header;
        memcpy(&header, bytes.data(), sizeof header);
        bytes.resize(artifact::header_bytes);
        bytes.insert(bytes.end(), builder.GetBufferPointer(), builder.GetBufferPointer() + builder.GetSize());
        header.plan_bytes = builder.GetSize();
        header.total_bytes = bytes.size();
        memcpy(bytes.data(), &header, sizeof header);
        CHECK(check(patch(bytes, 0, {0x89})).rule == 6);
    }
}

TEST_CASE("verify: a copy of the front may differ from the file behind it") {
    const std::vector<uint8_t> good = audio_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    alignas(64) static uint8_t file[65536], front[65536];
    REQUIRE(good.size() <= sizeof file);
    memcpy(file, good.data(), good.size());
    memcpy(front, good.data(), header.plan_offset + header.plan_bytes);
    memset(file + header.plan_offset, 0xee, 64); // the file changes after the copy
    artifact::Request request;
    request.file = file;
    request.size = good.size();
    request.front = front;
    request.front_size = header.plan_offset + header.plan_bytes;
    artifact::View view;
    CHECK(!artifact::verify(request, &view));
    CHECK(reinterpret_cast<const uint8_t *>(&view.header()) == front);
    // A header that grew between measuring and copying would lead behind the copy.
    ++reinterpret_cast<Header *>(front)->plan_bytes;
    artifact::View none;
    CHECK(artifact::verify(request, &none).rule == 3);
    CHECK(!none);
}

TEST_CASE("verify: memory for the check that is not there is a status of its own") {
    const std::vector<uint8_t> good = audio_model().bytes();
    alignas(64) static uint8_t file[65536];
    memcpy(file, good.data(), good.size());
    const artifact::Memory none = {[](void *, size_t) -> void * { return nullptr; }, [](void *, void *, size_t) {}, nullptr};
    artifact::Request request;
    request.file = file;
    request.size = good.size();
    request.memory = &none;
    artifact::View view;
    const Broken broken = artifact::verify(request, &view);
    CHECK(broken.no_memory);
    CHECK(broken.rule == 0);
    CHECK(!view);
}
