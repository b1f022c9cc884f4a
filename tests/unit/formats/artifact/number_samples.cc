// Samples of the rules about counts, sizes, segments, indices, the state and values: V1 to V9, V11,
// V13, V15, V17 to V20.
#include "formats/artifact/hash.h"
#include "tests/support/named_state.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <cstring>

namespace longwave::test {
namespace {

using artifact::Header;

template <class T> void add_many(std::vector<std::unique_ptr<T>> &list, size_t index, size_t times) {
    const T copy = *list[index];
    for (size_t i = 0; i < times; ++i) list.push_back(std::make_unique<T>(copy));
}

// A rebuild of clears alone, each run again so often.
void clears_alone(Draft &d, uint64_t bytes, uint32_t times, size_t steps) {
    fb::EntryT &large = entry(d, large_stream);
    large.cache_bytes = bytes;
    large.rebuild.clear();
    for (size_t i = 0; i < steps; ++i) {
        large.rebuild.push_back(zero("clear", fb::Space::cache, 0, bytes));
        large.rebuild.back()->replay_from = times;
    }
}

const Case counts[] = {
    {"65,536 steps", 6, [](Draft &d) { repeat(entry(d, run).steps, 1, 65536 - 6); }},
    {"2^20 + 1 tiles", 6, [](Draft &d) { step(d, run, 0).tiles = (1 << 20) + 1; }},
    {"a rebuild that goes back 2^52 blocks, times steps that make 2^64 of them", 6,
     [](Draft &d) {
         fb::EntryT &large = entry(d, large_stream);
         fb::StepT &far = *large.rebuild[0];
         far.replay_from = 0xffffffff, far.replay_to = 0xfffffffe;
         far.period = large.period = 1 << 20;
         repeat(large.rebuild, 0, 4095);
     }},
    {"a rebuild whose steps together go back too far", 6,
     [](Draft &d) {
         fb::StepT &far = *entry(d, large_stream).rebuild[0];
         far.replay_from = (1 << 26) - 1, far.replay_to = (1 << 26) - 2;
         repeat(entry(d, large_stream).rebuild, 0, 1);
     }},
    {"257 input ports", 6, [](Draft &d) { add_many(entry(d, run).inputs, 0, 256); }},
    {"257 output ports", 6, [](Draft &d) { add_many(entry(d, run).outputs, 0, 256); }},
    {"65 arguments of a kernel", 6, [](Draft &d) { add_many(d.plan.kernels[k_copy]->args, 0, 62); }},
    {"65,536 kernels", 6, [](Draft &d) { add_many(d.plan.kernels, k_copy, 65536 - 8); }},
    {"65 segments", 6,
     [](Draft &d) {
         for (int i = 0; i < 63; ++i) d.segments.push_back({fb::SegmentKind::code, std::vector<uint8_t>(64)});
     }},
    {"65 entries", 6, [](Draft &d) { add_many(d.plan.entries, run, 60); }},
    {"257 inputs", 6, [](Draft &d) { add_many(d.plan.inputs, 0, 256); }},
    {"65,536 labels", 6, [](Draft &d) { d.plan.labels.resize(65536, "a"); }},
    {"65,536 fields of the state", 6, [](Draft &d) { add_many(d.plan.state, 0, 65536 - 3); }},
    {"129 golden vectors", 6, [](Draft &d) { golden(d), add_many(d.plan.golden, 0, 128); }},
    {"an input of 2^24 + 1 values", 6, [](Draft &d) { d.plan.inputs[0]->width = (1 << 24) + 1; }},
    {"a negative stride of a single element", 7,
     [](Draft &d) { d.plan.kernels[k_mean]->args[0]->dims[0] = fb::Dim(1, -1); }},
    {"2^48 elements in one place", 7,
     [](Draft &d) { d.plan.kernels[k_mean]->args[0]->dims = {fb::Dim(1 << 24, 0), fb::Dim(1 << 24, 0)}; }},
    {"weights over 2^40", 7, [](Draft &d) { d.plan.weights_bytes = (1ull << 40) + 64; }},
    {"a rebuild that clears 2^64 bytes", 14, [](Draft &d) { clears_alone(d, 1ull << 40, 1 << 24, 1); }},
    {"a rebuild whose two steps clear 2^64 bytes", 14,
     [](Draft &d) { clears_alone(d, 1ull << 40, 1 << 23, 2); }},
};

const Case index_numbers[] = {
    {"an output in an unknown space", 13,
     [](Draft &d) { into(*entry(d, stream).outputs[0]->place, static_cast<fb::Space>(5)); }},
    {"two streams of which one has an output less", 13,
     [](Draft &d) { entry(d, small_stream).outputs.pop_back(); }},
    {"two runs of which one has an input more", 13,
     [](Draft &d) { add_many(d.plan.entries, run, 1), add_many(d.plan.entries.back()->inputs, 0, 1); }},
    {"two runs of other inputs", 13,
     [](Draft &d) {
         add_many(d.plan.inputs, 0, 1), d.plan.inputs[1]->name = "more";
         add_many(d.plan.entries, run, 1), d.plan.entries.back()->inputs[0]->input = 1;
     }},
    {"two streams of which one has twice the rows", 13,
     [](Draft &d) { entry(d, small_stream).outputs[0]->clock_num = 2; }},
    {"two streams of which one has half the rows", 13,
     [](Draft &d) { entry(d, small_stream).outputs[0]->clock_den = 2; }},
    {"a golden vector of 257 outputs", 13, [](Draft &d) { add_many(golden(d).outputs, 0, 256); }},
    {"golden inputs out of order", 13, [](Draft &d) { golden(d).inputs[0]->port = 1; }},
    {"a golden output of another width", 13, [](Draft &d) { golden(d).outputs[0]->width = 2; }},
    {"a variant's segment is far behind", 13, [](Draft &d) { d.plan.variants[0]->segment = 65535; }},
    {"a field of 2^41 bytes", 15, [](Draft &d) { d.plan.state[0]->dims = {1 << 21, 1 << 18}; }},
    {"a state without a stream", 15,
     [](Draft &d) {
         for (const size_t e : {large_stream, small_stream, stream})
             d.plan.entries.erase(d.plan.entries.begin() + static_cast<long>(e));
     }},
    {"a refractory time of more than an hour", 18, [](Draft &d) { decision(d).refractory_ms = 3.7e6f; }},
    {"2^24 + 1 rows for a decision", 18, [](Draft &d) { decision(d).min_count = (1 << 24) + 1; }},
    {"a sample rate above 10 MHz", 18, [](Draft &d) { d.plan.inputs[0]->sample_rate = 10'000'001; }},
};

const Case tokens[] = {
    {"a vocabulary of 2^31 ids", 18, [](Draft &d) { d.plan.inputs[0]->vocabulary = 0x80000000; }},
    {"ids in pairs", 18,
     [](Draft &d) {
         d.plan.inputs[0]->width = 2;
         d.plan.state[0]->dims[1] = 2;
         for (auto &e : d.plan.entries) {
             e->arena_bytes += 64;
             fb::Place &p = *e->inputs[0]->place;
             p = fb::Place(p.offset(), 2 * p.slot_bytes(), 0, p.slots(), 0, p.space());
             e->inputs[0]->row_bytes = 8;
         }
     }},
};

const Case lone_state[] = {
    {"derived past in a state of one stream", 15,
     [](Draft &d) { d.plan.state[1]->kind = fb::StateKind::spectra; }},
};

Draft lone_named() { return named_state(audio_model(), 4, 4); }

// Nothing but a plan: the output of its stream is its input.
Draft bare_model() {
    Draft d;
    d.plan.name = "bare";
    d.plan.producer = "tests";
    d.plan.computation.assign(32, 7);
    add_input(d, "x", fb::InputKind::features);
    add_field(d, "input", "x", fb::StateKind::history, {16, 1});
    auto copy = std::make_unique<fb::EntryT>();
    copy->kind = fb::EntryKind::stream;
    copy->block = 16;
    copy->inputs.push_back(input_port(place(fb::Space::state, 0), 16, 4));
    copy->outputs.push_back(output_port("y", place(fb::Space::state, 0), 1, 16, 1, 1));
    d.plan.entries.push_back(std::move(copy));
    return d;
}

std::vector<uint8_t> with_header(std::vector<uint8_t> bytes, const std::function<void(Header &)> &edit) {
    Header header;
    memcpy(&header, bytes.data(), sizeof header);
    edit(header);
    memcpy(bytes.data(), &header, sizeof header);
    return patch(std::move(bytes), 0, {0x89}); // renews the root
}

// A list of 8-byte numbers, which begins at a word that is none of them here.
template <class Table>
std::vector<uint8_t> misaligned(std::vector<uint8_t> bytes, const Table &of, flatbuffers::voffset_t list) {
    uint8_t *field =
        const_cast<uint8_t *>(reinterpret_cast<const flatbuffers::Table &>(of).GetAddressOf(list));
    for (uint32_t by = 4;; by += 4) { // another list, whose elements would begin between two numbers
        uint32_t size = 0;
        memcpy(&size, field + by, sizeof size);
        if (size < 1 || size > 3 || reinterpret_cast<uintptr_t>(field + by + 4) % 8 == 0) continue;
        flatbuffers::WriteScalar(field, by);
        return patch(bytes, 0, {0x89});
    }
}

std::vector<uint8_t> misaligned_scratch() {
    std::vector<uint8_t> bytes = audio_model().bytes();
    const fb::Plan *plan = fb::GetPlan(bytes.data() + artifact::header_bytes);
    return misaligned(std::move(bytes), *plan->variants()->Get(0), fb::CodeVariant::VT_SCRATCH);
}

std::vector<uint8_t> misaligned_strides() {
    std::vector<uint8_t> bytes = together_model().bytes();
    const fb::Plan *plan = fb::GetPlan(bytes.data() + artifact::header_bytes);
    for (const fb::Kernel *kernel : *plan->kernels())
        if (kernel->together() && kernel->together()->size() > 0)
            return misaligned(std::move(bytes), *kernel->together()->Get(0), fb::Together::VT_STRIDES);
    return {};
}

void hashes(Samples &samples, const std::vector<uint8_t> &good) {
    const auto rewritten = [&](const char *name, int rule, void (*edit)(fb::PlanT &)) {
        samples.push_back({name, rule, rewrite(good, edit)});
    };
    const auto patched = [&](const char *name, int rule, auto edit) {
        std::vector<uint8_t> bytes = good;
        edit(*fb::GetPlan(bytes.data() + artifact::header_bytes));
        samples.push_back({name, rule, patch(bytes, 0, {0x89})});
    };
    const auto set = [](const auto &table, flatbuffers::voffset_t field, uint64_t value) {
        const auto *changed = reinterpret_cast<const flatbuffers::Table *>(&table);
        const_cast<flatbuffers::Table *>(changed)->SetField(field, value, ~value);
    };
    const auto shorten = [](const flatbuffers::Vector<uint8_t> &list) {
        flatbuffers::WriteScalar(const_cast<uint8_t *>(list.data()) - 4, list.size() - 1);
    };
    patched("a segment's hash of 31 bytes", 6,
            [&](const fb::Plan &p) { shorten(*p.segments()->Get(0)->hash()); });
    patched("a layout of 31 bytes", 6, [&](const fb::Plan &p) { shorten(*p.layout()); });
    patched("a segment without bytes", 8, [&](const fb::Plan &p) {
        set(*p.segments()->Get(1), fb::Segment::VT_SIZE, 0);
        set(p, fb::Plan::VT_WEIGHTS_BYTES, 0);
    });
    rewritten("an ABI hash that is not that of its kernel", 11, [](fb::PlanT &p) { p.kernels[0]->abi ^= 1; });
    rewritten("a layout that is not that of the fields", 15, [](fb::PlanT &p) { p.layout[0] ^= 1; });
    rewritten("a segment against another hash", 19, [](fb::PlanT &p) { p.segments[0]->hash[31] ^= 1; });
    samples.push_back(
        {"the root of another plan", 19, patch(good, 48, {static_cast<uint8_t>(good[48] ^ 1)}, false)});
    samples.push_back({"weights that changed", 19, patch(good, good.size() - 1, {1})});
}

} // namespace

void number_samples(Samples &samples) {
    add_cases(samples, "counts", family_model, counts);
    add_cases(samples, "indices", family_model, index_numbers);
    add_cases(samples, "tokens", token_model, tokens);
    add_cases(samples, "saved state of a single stream", lone_named, lone_state);
    const std::vector<uint8_t> good = audio_model().bytes();
    Header header;
    memcpy(&header, good.data(), sizeof header);
    hashes(samples, good);
    samples.push_back({"scratch sizes between two numbers", 5, misaligned_scratch()});
    samples.push_back({"strides of streams between two numbers", 5, misaligned_strides()});
    samples.push_back(
        {"padding that is not zero", 8, patch(good, header.plan_offset + header.plan_bytes, {1})});
    Draft unknown_rate = audio_model();
    unknown_rate.plan.inputs[0]->kind = fb::InputKind::features;
    unknown_rate.plan.inputs[0]->sample_rate = 0;
    entry(unknown_rate, stream).outputs[0]->sample_rate = 48000;
    samples.push_back({"audio out of features without a rate", 0, unknown_rate.bytes()});
    std::vector<uint8_t> longer = bare_model().bytes();
    samples.push_back({"a plan without segments", 0, longer});
    longer.resize(longer.size() + 64);
    samples.push_back({"bytes behind a plan without segments", 8,
                       with_header(longer, [&](Header &h) { h.total_bytes = longer.size(); })});

    samples.push_back({"a file of 2^40 + 1 bytes", 1, good});
    samples.back().claimed_size = (1ull << 40) + 1;
    samples.push_back({"a plan of 2^30 + 1 bytes", 3, with_header(good, [](Header &h) {
                           h.total_bytes = 1ull << 31;
                           h.plan_bytes = (1 << 30) + 1;
                       })});
    samples.back().claimed_size = 1ull << 31;
    samples.push_back({"no file, whatever its size", 1, {}});
    samples.back().claimed_size = 1 << 20;
    samples.push_back({"a header that grew while it was read", 3, good});
    samples.back().front.assign(good.begin(),
                                good.begin() + static_cast<long>(header.plan_offset + header.plan_bytes));
    ++reinterpret_cast<Header *>(samples.back().front.data())->plan_bytes;

    const uint64_t needed = good.size() + 64 + 640; // derived bytes, and the arena of the run
    samples.push_back({"all the memory it needs", 0, good, needed});
    samples.push_back({"a byte less than it needs", 20, good, needed - 1});
    Draft large = audio_model();
    entry(large, stream).arena_bytes = 64 << 20;
    samples.push_back({"more memory than a small file may take", 20, large.bytes()});
}

} // namespace longwave::test
