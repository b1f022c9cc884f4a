// The rules about the plan's numbers and names: each has plans that break it and nothing before it.
#include "formats/artifact/features.h"
#include "tests/support/named_state.h"
#include "tests/unit/formats/artifact/corpus.h"
#include <cmath>
#include <doctest/doctest.h>

namespace plan_rules_test {

using namespace longwave;
using namespace longwave::test;

namespace {

std::unique_ptr<fb::ThresholdT> threshold(uint16_t label, float value) {
    auto t = std::make_unique<fb::ThresholdT>();
    t->label = label;
    t->value = value;
    return t;
}

void repeat_entry(Draft &d, size_t index, int times) {
    for (int i = 0; i < times; ++i) d.plan.entries.push_back(std::make_unique<fb::EntryT>(entry(d, index)));
}

const Case caps[] = {
    {"rank 7", 6, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims.resize(7, fb::Dim(1, 0)); }},
    {"extent 0", 6, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(0, 1)}; }},
    {"extent over 2^24", 6,
     [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim((1 << 24) + 1, 0)}; }},
    {"no entries", 6, [](Draft &d) { d.plan.entries.clear(); }},
    {"no inputs", 6, [](Draft &d) { d.plan.inputs.clear(); }},
    {"block 0", 6, [](Draft &d) { entry(d, stream).block = 0; }},
    {"block over 2^24", 6, [](Draft &d) { entry(d, run).block = (1 << 24) + 1; }},
    {"a block that is no multiple of the smallest", 6, [](Draft &d) { entry(d, small_stream).block = 3; }},
    {"entry period 0", 6, [](Draft &d) { entry(d, stream).period = 0; }},
    {"entry period 2^20", 6, [](Draft &d) { entry(d, stream).period = 1 << 20; }},
    {"an entry period twice that of its steps", 6, [](Draft &d) { entry(d, stream).period = 4; }},
    {"an entry period that is not that of its outputs", 6,
     [](Draft &d) { entry(d, large_stream).outputs[1]->period = 2; }},
    {"an entry period that is not that of its rebuild", 6,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->period = 2; }},
    {"step period 0", 6, [](Draft &d) { step(d, stream, 1).period = 0; }},
    {"a period that does not divide the entry's", 6, [](Draft &d) { step(d, stream, 1).period = 3; }},
    {"periods without a common multiple up to 2^20", 6,
     [](Draft &d) {
         repeat(entry(d, stream).steps, 1, 2);
         step(d, stream, 2).period = 1021;
         step(d, stream, 3).period = 1031;
         entry(d, stream).period = 2 * 1021 * 1031;
     }},
    {"a period in a run", 6, [](Draft &d) { entry(d, run).period = 2, step(d, run, 1).period = 2; }},
    {"a period in a prepare", 6,
     [](Draft &d) { entry(d, prepare).period = 2, step(d, prepare, 0).period = 2; }},
    {"more tiles in all than a plan may run", 6,
     [](Draft &d) {
         repeat(entry(d, run).steps, 0, 17);
         for (auto &s : entry(d, run).steps) s->tiles = 1 << 20;
     }},
    {"more firings in all than a rebuild may run again", 6,
     [](Draft &d) {
         entry(d, large_stream).rebuild[0]->replay_from = 1 << 20;
         entry(d, large_stream).rebuild[0]->tiles = 17;
     }},
    {"a rebuild step that runs nothing again", 6,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->replay_to = 1; }},
    {"a rebuild step that runs backwards", 6,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->replay_to = 2; }},
    {"a step of a block that replays", 6, [](Draft &d) { step(d, stream, 0).replay_from = 1; }},
    {"a step of a block that replays backwards", 6, [](Draft &d) { step(d, stream, 0).replay_to = 1; }},
    {"a run that rebuilds", 6,
     [](Draft &d) { entry(d, run).rebuild = std::move(entry(d, large_stream).rebuild); }},
    {"a run that takes no less than more than it can", 6, [](Draft &d) { entry(d, run).least = 65; }},
    {"a stream with least ticks", 6, [](Draft &d) { entry(d, stream).least = 1; }},
    {"a delay that keeps a finished stream pulling for minutes", 6,
     [](Draft &d) { entry(d, stream).outputs[0]->delay = (1 << 20) + 1; }},
    {"no tiles", 6, [](Draft &d) { step(d, stream, 0).tiles = 0; }},
    {"65 arguments", 6,
     [](Draft &d) {
         for (int i = 0; i < 64; ++i) step(d, stream, 0).args.push_back(constant(0));
     }},
    {"17 code variants", 6,
     [](Draft &d) {
         for (int i = 0; i < 16; ++i)
             d.plan.variants.push_back(std::make_unique<fb::CodeVariantT>(*d.plan.variants[0]));
     }},
    {"a code hash of 31 bytes", 6, [](Draft &d) { d.plan.variants[0]->image.assign(31, 1); }},
    {"17 streams", 6, [](Draft &d) { repeat_entry(d, stream, 14); }},
    {"two prepares", 6, [](Draft &d) { repeat_entry(d, prepare, 1); }},
    {"input of width 0", 6, [](Draft &d) { d.plan.inputs[0]->width = 0; }},
    {"a computation of 31 bytes", 6, [](Draft &d) { d.plan.computation.pop_back(); }},
};

const Case sizes[] = {
    {"derived bytes over 2^40", 7, [](Draft &d) { d.plan.derived_bytes = (1ull << 40) + 64; }},
    {"state bytes near 2^64", 7, [](Draft &d) { d.plan.state_bytes = ~0ull - 63; }},
    {"arena bytes near 2^63", 7, [](Draft &d) { entry(d, run).arena_bytes = 1ull << 63; }},
    {"cache bytes over 2^40", 7, [](Draft &d) { entry(d, large_stream).cache_bytes = (1ull << 40) + 64; }},
    {"element count overflows", 7,
     [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims.assign(3, fb::Dim(1 << 24, 1)); }},
    {"negative stride", 7, [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(9, -1)}; }},
    {"stride out of any space", 7,
     [](Draft &d) { d.plan.kernels[k_square]->args[0]->dims = {fb::Dim(1 << 24, 0x7fffffff)}; }},
    {"scratch over 2^40", 7, [](Draft &d) { d.plan.variants[0]->scratch[0] = 1ull << 41; }},
    {"a scalar that accepts nothing", 7, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->high = -1; }},
    {"a scalar of multiples of 0", 7, [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->multiple = 0; }},
    {"a scalar of multiples of -4", 7,
     [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->multiple = -4; }},
};

const Case container[] = {
    {"weights of another size than the plan says", 8, [](Draft &d) { d.plan.weights_bytes = 60; }},
    {"two weight segments", 8, [](Draft &d) { d.segments.push_back(d.segments[weights]); }},
    {"weights without a segment", 8, [](Draft &d) { d.segments.pop_back(); }},
    {"two golden segments", 8, [](Draft &d) { golden(d), d.segments.push_back(d.segments.back()); }},
    {"two recipes", 8,
     [](Draft &d) { d.segments.insert(d.segments.end(), 2, {fb::SegmentKind::recipe, {1}}); }},
    {"unknown segment kind", 8,
     [](Draft &d) { d.segments.push_back({static_cast<fb::SegmentKind>(5), {1}}); }},
    {"kernel starts behind its code", 9,
     [](Draft &d) { d.plan.variants[0]->entry[0] = static_cast<uint32_t>(d.segments[code].bytes.size()); }},
    {"kernel starts at 2^32 - 1", 9, [](Draft &d) { d.plan.variants[0]->entry[4] = 0xffffffff; }},
    {"a kernel starts where nothing can stand before it", 9,
     [](Draft &d) { d.plan.variants[0]->entry[2] = 7; }},
    {"golden tensor behind its segment", 9, [](Draft &d) { golden(d).outputs[0]->offset = 100; }},
    {"golden tensor at 2^64 - 4", 9, [](Draft &d) { golden(d).inputs[0]->offset = ~0ull - 3; }},
    {"golden tensor not aligned", 9, [](Draft &d) { golden(d).inputs[0]->offset = 2; }},
    {"golden tensor without rows", 9, [](Draft &d) { golden(d).inputs[0]->rows = 0; }},
    {"golden input that stores more rows than it has", 9, [](Draft &d) { golden(d).inputs[0]->stored = 9; }},
    {"golden input whose stored rows are not its first ones", 9,
     [](Draft &d) { golden(d).inputs[0]->stored = 4, d.plan.golden[0]->inputs[0]->first = 1; }},
    {"golden output whose stored rows reach behind its last one", 9,
     [](Draft &d) { golden(d).outputs[0]->stored = 4, d.plan.golden[0]->outputs[0]->first = 5; }},
    {"golden input that repeats for hours", 9,
     [](Draft &d) { golden(d).inputs[0]->stored = 4, d.plan.golden[0]->inputs[0]->rows = (1 << 24) + 1; }},
    {"golden vector without its segment", 9, [](Draft &d) { golden(d), d.segments.pop_back(); }},
    {"golden outputs that name the same bytes often, for a check to hold them all", 9,
     [](Draft &d) {
         fb::GoldenT &vector = golden(d);
         for (int i = 0; i < 4; ++i)
             vector.outputs.push_back(std::make_unique<fb::GoldenTensorT>(*vector.outputs[0]));
     }},
    {"a variant with a kernel too few", 11, [](Draft &d) { d.plan.variants[0]->entry.pop_back(); }},
    {"a variant with a scratch size too many", 11,
     [](Draft &d) { d.plan.variants[0]->scratch.push_back(0); }},
    {"less scratch than a kernel was compiled to need", 11,
     [](Draft &d) { d.plan.variants[0]->scratch[k_square] = 63; }},
    {"a kernel that needs scratch entered in the place of one that needs none", 11,
     [](Draft &d) { d.plan.variants[0]->entry[k_sum] = d.plan.variants[0]->entry[k_square]; }},
    {"code in the program, and kernels in the file", 11,
     [](Draft &d) { d.plan.variants[0]->image.assign(32, 1); }},
    {"code in the program, with a scratch size too few", 11,
     [](Draft &d) {
         d.plan.variants[0]->image.assign(32, 1);
         d.plan.variants[0]->entry.clear();
         d.plan.variants[0]->scratch.pop_back();
     }},
    {"a variant without kernels", 11, [](Draft &d) { d.plan.variants[0]->entry.clear(); }},
    {"another processor's code", 17, [](Draft &d) { d.plan.variants[0]->machine = 243; }},
    {"code for features nobody has", 17, [](Draft &d) { d.plan.variants[0]->features = 1ull << 63; }},
    {"code for both x86-64 and arm64 features", 17,
     [](Draft &d) { d.plan.variants[0]->features = artifact::feature_arm_sve | artifact::feature_avx512f; }},
    {"no code at all", 17, [](Draft &d) { d.plan.variants.clear(); }},
};

const Case indices[] = {
    {"a variant's segment is not there", 13, [](Draft &d) { d.plan.variants[0]->segment = 2; }},
    {"code in the program, and a segment for it", 13,
     [](Draft &d) {
         d.plan.variants[0]->image.assign(32, 1);
         d.plan.variants[0]->segment = weights;
     }},
    {"a variant's segment is not code", 13, [](Draft &d) { d.plan.variants[0]->segment = weights; }},
    {"a step's kernel is not there", 13, [](Draft &d) { step(d, stream, 0).kernel = 8; }},
    {"a rebuild step's kernel is not there", 13,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->kernel = 8; }},
    {"an unknown kind of step", 13, [](Draft &d) { step(d, stream, 0).kind = static_cast<fb::StepKind>(5); }},
    {"an unknown kind of entry", 13, [](Draft &d) { entry(d, run).kind = static_cast<fb::EntryKind>(3); }},
    {"an unknown element type", 13,
     [](Draft &d) { d.plan.kernels[0]->args[0]->elem = static_cast<fb::Elem>(4); }},
    {"a field of the state of float16", 13, [](Draft &d) { d.plan.state[0]->elem = fb::Elem::f16; }},
    {"float16 for a processor", 11, [](Draft &d) { d.plan.kernels[0]->args[0]->elem = fb::Elem::f16; }},
    {"an unknown kind of argument", 13,
     [](Draft &d) { d.plan.kernels[k_fir_stream]->args[2]->kind = static_cast<fb::ArgKind>(4); }},
    {"an unknown space", 13, [](Draft &d) { into(place(d, stream, 0, 0), static_cast<fb::Space>(5)); }},
    {"an unknown kind of scalar", 13,
     [](Draft &d) {
         *step(d, stream, 0).args[2]->scalar = fb::Scalar(static_cast<fb::ScalarKind>(6), 0, 0, 0, 1, 0);
     }},
    {"an unknown kind of input", 13,
     [](Draft &d) { d.plan.inputs[0]->kind = static_cast<fb::InputKind>(3); }},
    {"an unknown kind of field", 13, [](Draft &d) { d.plan.state[0]->kind = static_cast<fb::StateKind>(3); }},
    {"an unknown type of field", 13, [](Draft &d) { d.plan.state[0]->elem = static_cast<fb::Elem>(3); }},
    {"a port's input is not there", 13, [](Draft &d) { entry(d, stream).inputs[0]->input = 1; }},
    {"a port without place", 13, [](Draft &d) { entry(d, stream).inputs[0]->place.reset(); }},
    {"a port in an unknown space", 13,
     [](Draft &d) { into(*entry(d, stream).inputs[0]->place, static_cast<fb::Space>(5)); }},
    {"an output without place", 13, [](Draft &d) { entry(d, stream).outputs[0]->place.reset(); }},
    {"a length of an input that is not there", 13,
     [](Draft &d) { *step(d, run, 3).args[1]->scalar = fb::Scalar(fb::ScalarKind::length, 64, 1, 0, 1, 1); }},
    {"an ignored label is not there", 13, [](Draft &d) { decision(d).ignore = {3}; }},
    {"a threshold's label is not there", 13,
     [](Draft &d) { decision(d).thresholds.push_back(threshold(3, 0.5f)); }},
    {"a golden vector's entry is not there", 13, [](Draft &d) { golden(d).entry = 5; }},
    {"a golden vector of prepare", 13, [](Draft &d) { golden(d).entry = prepare; }},
    {"a golden output's port is not there", 13, [](Draft &d) { golden(d).outputs[0]->port = 2; }},
    {"a golden input of another width", 13, [](Draft &d) { golden(d).inputs[0]->width = 2; }},
    {"two runs that differ", 13,
     [](Draft &d) { repeat_entry(d, run, 1), d.plan.entries.back()->outputs[0]->name = "z"; }},
    {"two streams with outputs of other names", 13,
     [](Draft &d) { entry(d, small_stream).outputs[0]->name = "z"; }},
    {"two streams with outputs of other widths", 13,
     [](Draft &d) { entry(d, small_stream).outputs[1]->width = 2; }},
    {"two streams of different delay", 13, [](Draft &d) { entry(d, small_stream).outputs[0]->delay = 1; }},
    {"two streams whose rows come for other wholes of ticks", 13,
     [](Draft &d) { entry(d, small_stream).outputs[0]->whole = 2; }},
    {"two streams with audio and without", 13,
     [](Draft &d) { entry(d, small_stream).outputs[0]->sample_rate = 1000; }},
    {"two streams whose audio lags by other samples", 13,
     [](Draft &d) {
         entry(d, stream).outputs[0]->sample_rate = entry(d, small_stream).outputs[0]->sample_rate = 1000;
         entry(d, large_stream).outputs[0]->sample_rate = 1000;
         entry(d, small_stream).outputs[0]->lag = 1;
     }},
};

const Case state[] = {
    {"a run with a cache", 15, [](Draft &d) { entry(d, run).cache_bytes = 64; }},
    {"prepare with a cache", 15, [](Draft &d) { entry(d, prepare).cache_bytes = 64; }},
    {"a cache of 65 bytes", 15, [](Draft &d) { entry(d, large_stream).cache_bytes = 65; }},
    {"a cache that nothing rebuilds", 15, [](Draft &d) { entry(d, large_stream).rebuild.clear(); }},
    {"an arena of 641 bytes", 15, [](Draft &d) { entry(d, run).arena_bytes = 641; }},
    {"a state of 130 bytes", 15, [](Draft &d) { d.plan.state_bytes = 130; }},
    {"a state with room to spare", 15, [](Draft &d) { d.plan.state_bytes += 64; }},
    {"a field of rank 0", 15, [](Draft &d) { d.plan.state[0]->dims.clear(); }},
    {"a field of rank 7", 15, [](Draft &d) { d.plan.state[0]->dims.resize(7, 1); }},
    {"a field with extent 0", 15, [](Draft &d) { d.plan.state[0]->dims[1] = 0; }},
    {"a field whose size overflows", 15, [](Draft &d) { d.plan.state[0]->dims.assign(6, 0xffffffff); }},
    {"a field larger than the state", 15, [](Draft &d) { d.plan.state[2]->dims[0] = 9; }},
    {"a field not aligned", 15, [](Draft &d) { d.plan.state[1]->offset = 68; }},
    {"fields that overlap", 15, [](Draft &d) { d.plan.state[1]->offset = 0; }},
    {"fields with a gap between them", 15,
     [](Draft &d) { d.plan.state[2]->offset = 192, d.plan.state_bytes = 256; }},
    {"fields out of order", 15, [](Draft &d) { std::swap(d.plan.state[0], d.plan.state[1]); }},
    {"a field at 2^64 - 64", 15, [](Draft &d) { d.plan.state[2]->offset = ~0ull - 63; }},
    {"a field too few", 15, [](Draft &d) { d.plan.state.pop_back(); }},
    {"derived past that several stream entries share", 15,
     [](Draft &d) { d.plan.state[1]->kind = fb::StateKind::spectra; }},
    {"a field that begins behind the weights", 15,
     [](Draft &d) { d.plan.state[0]->initial = d.plan.weights_bytes; }},
    {"a field that begins with 2^64 - 1", 15, [](Draft &d) { d.plan.state[2]->initial = ~0ull; }},
    {"a field whose last byte is behind the weights", 15,
     [](Draft &d) { d.plan.state[1]->initial = d.plan.weights_bytes - 3; }},
    {"a history channel by channel without a saved form", 15, [](Draft &d) { d.plan.state[0]->ring = 8; }},
    {"derived bytes without prepare", 15, [](Draft &d) { d.plan.entries.erase(d.plan.entries.begin()); }},
    {"prepare without derived bytes", 15, [](Draft &d) { d.plan.derived_bytes = 0; }},
};

Draft named_family() { return named_state(family_model(), 8, 4); }

// The first field, a history, with its rows channel by channel.
void by_channel(Draft &d, std::vector<uint32_t> dims, uint32_t ring, uint32_t row) {
    fb::StateFieldT &field = *d.plan.state[0];
    field.dims = std::move(dims), field.ring = ring, field.row = row;
}

const Case saved_state[] = {
    {"a model's hash of 31 bytes", 6, [](Draft &d) { d.plan.identity->model.pop_back(); }},
    {"a weights' hash of no bytes", 6, [](Draft &d) { d.plan.identity->weights.clear(); }},
    {"two fields of one name", 15,
     [](Draft &d) { d.plan.state[1]->layer = "0", d.plan.state[1]->name = "audio"; }},
    {"layers that descend", 15, [](Draft &d) { d.plan.state[0]->layer = "3"; }},
    {"derived past", 15, [](Draft &d) { d.plan.state[1]->kind = fb::StateKind::spectra; }},
    {"a history of rank 1", 15, [](Draft &d) { d.plan.state[0]->dims = {16}; }},
    {"more rows needed than kept", 15, [](Draft &d) { d.plan.state[0]->needs = d.plan.state[0]->keeps + 1; }},
    {"more rows kept than there are", 15, [](Draft &d) { d.plan.state[0]->keeps = 17; }},
    {"a ring of more rows than slots", 15, [](Draft &d) { by_channel(d, {1, 16}, 17, 1); }},
    {"slots that repeat a ring twice", 15, [](Draft &d) { by_channel(d, {1, 16}, 7, 1); }},
    {"a saved row of fewer elements than channels", 15, [](Draft &d) { by_channel(d, {2, 8}, 8, 1); }},
    {"a saved row of 2^24 + 1 elements", 15, [](Draft &d) { by_channel(d, {1, 16}, 16, (1 << 24) + 1); }},
    {"more rows kept than a ring of channels has", 15,
     [](Draft &d) { by_channel(d, {1, 16}, 15, 1), d.plan.state[0]->keeps = 16; }},
    {"a carry channel by channel", 15,
     [](Draft &d) { by_channel(d, {1, 16}, 16, 1), d.plan.state[0]->kind = fb::StateKind::carry; }},
    {"a clock of 0", 15, [](Draft &d) { d.plan.state[0]->clock_num = 0; }},
    {"a clock by 0", 15, [](Draft &d) { d.plan.state[1]->clock_den = 0; }},
};

// Two scalars of the host, of which the first has two fields.
Draft with_scalars() {
    Draft d = named_family();
    for (const uint16_t scalar : {0, 1, 0}) {
        auto field = std::make_unique<fb::StateFieldT>();
        field->layer = "x" + std::to_string(d.plan.state.size());
        field->name = "value";
        field->kind = fb::StateKind::carry;
        field->elem = fb::Elem::f32;
        field->dims = {3};
        field->offset = d.plan.state_bytes;
        field->scalar = scalar;
        d.plan.state_bytes += 64;
        d.plan.state.push_back(std::move(field));
    }
    for (const char *name : {"gain", "mix"}) {
        auto scalar = std::make_unique<fb::HostScalarT>();
        scalar->name = name;
        scalar->unit = "dB";
        scalar->initial = 0.5f, scalar->low = -1, scalar->high = 1;
        d.plan.scalars.push_back(std::move(scalar));
    }
    return d;
}
fb::StateFieldT &field_of_scalar(Draft &d) { return *d.plan.state.back(); }

const Case host_scalars[] = {
    {"257 scalars", 6,
     [](Draft &d) {
         while (d.plan.scalars.size() < 257)
             d.plan.scalars.push_back(std::make_unique<fb::HostScalarT>(*d.plan.scalars[0]));
     }},
    {"a field of a scalar that is not there", 15, [](Draft &d) { field_of_scalar(d).scalar = 2; }},
    {"a field of scalar 65,535", 15, [](Draft &d) { field_of_scalar(d).scalar = 65535; }},
    {"a scalar in a history", 15, [](Draft &d) { d.plan.state[0]->scalar = 0; }},
    {"a scalar in a history of three", 15,
     [](Draft &d) { field_of_scalar(d).kind = fb::StateKind::history, field_of_scalar(d).dims = {3, 1}; }},
    {"a scalar of int32", 15, [](Draft &d) { field_of_scalar(d).elem = fb::Elem::i32; }},
    {"a scalar of two numbers", 15, [](Draft &d) { field_of_scalar(d).dims = {2}; }},
    {"a scalar of three by one numbers", 15, [](Draft &d) { field_of_scalar(d).dims = {3, 1}; }},
    {"a scalar without a field", 15, [](Draft &d) { d.plan.state[d.plan.state.size() - 2]->scalar = 0; }},
    {"scalars without an identity", 15, [](Draft &d) { d.plan.identity.reset(); }},
    {"two scalars of one name", 16, [](Draft &d) { d.plan.scalars[1]->name = "gain"; }},
    {"a scalar with a path for a name", 16, [](Draft &d) { d.plan.scalars[0]->name = "a/b"; }},
    {"a unit with a control character", 16, [](Draft &d) { d.plan.scalars[1]->unit = "d\x1b"; }},
    {"a scalar that begins below its range", 18, [](Draft &d) { d.plan.scalars[0]->initial = -1.5f; }},
    {"a scalar that begins above its range", 18, [](Draft &d) { d.plan.scalars[1]->initial = 1.5f; }},
    {"a range that ends before it begins", 18,
     [](Draft &d) { d.plan.scalars[0]->low = 1, d.plan.scalars[0]->high = 0; }},
    {"a scalar that begins with NaN", 18, [](Draft &d) { d.plan.scalars[0]->initial = std::nanf(""); }},
    {"a scalar from NaN", 18, [](Draft &d) { d.plan.scalars[0]->low = std::nanf(""); }},
    {"a scalar to NaN", 18, [](Draft &d) { d.plan.scalars[0]->high = std::nanf(""); }},
    {"a scalar up to infinity", 18, [](Draft &d) { d.plan.scalars[0]->high = INFINITY; }},
    {"a scalar from minus infinity", 18, [](Draft &d) { d.plan.scalars[0]->low = -INFINITY; }},
};

const Case names[] = {
    {"a path for a name", 16, [](Draft &d) { d.plan.name = "../kws"; }},
    {"an empty name", 16, [](Draft &d) { d.plan.name = ""; }},
    {"a label with NUL", 16, [](Draft &d) { d.plan.labels[1] = std::string("a\0b", 3); }},
    {"a label with a control character", 16, [](Draft &d) { d.plan.labels[0] = "a\x1b[2Jb"; }},
    {"C1 control characters, U+009B: what some terminals take for ESC [", 16,
     [](Draft &d) {
         d.plan.labels[0] = "a\xc2\x9b"
                            "2J";
     }},
    {"C1 control characters, U+0080", 16, [](Draft &d) { d.plan.name = "a\xc2\x80"; }},
    {"C1 control characters, U+009F", 16, [](Draft &d) { step(d, stream, 0).name = "a\xc2\x9f"; }},
    {"C1 control characters in a document", 16, [](Draft &d) { d.plan.report = "{\"a\":\"\xc2\x85\"}"; }},
    {"a line separator", 16, [](Draft &d) { d.plan.labels[0] = "a\xe2\x80\xa8"; }},
    {"a mark that turns the direction of what follows", 16,
     [](Draft &d) { d.plan.labels[0] = "a\xe2\x80\xae"; }},
    {"an isolate that turns the direction of what follows", 16,
     [](Draft &d) { d.plan.labels[0] = "a\xe2\x81\xa7"; }},
    {"a label of cut UTF-8", 16, [](Draft &d) { d.plan.labels[0] = "caf\xc3"; }},
    {"a label of overlong UTF-8", 16, [](Draft &d) { d.plan.labels[0] = "\xe0\x80\xaf"; }},
    {"a label of overlong UTF-8 in two bytes", 16, [](Draft &d) { d.plan.labels[0] = "\xc1\xbf"; }},
    {"a continuation byte alone", 16, [](Draft &d) { d.plan.labels[0] = "\xbf"; }},
    {"a surrogate", 16, [](Draft &d) { d.plan.inputs[0]->name = "\xed\xa0\x80"; }},
    {"a code point beyond Unicode", 16, [](Draft &d) { d.plan.variants[0]->target = "\xf4\x90\x80\x80"; }},
    {"a name of 257 bytes", 16, [](Draft &d) { entry(d, stream).outputs[0]->name = std::string(257, 'n'); }},
    {"a backslash in a step's name", 16, [](Draft &d) { step(d, stream, 0).name = "a\\b"; }},
    {"a backslash in a rebuild step's name", 16,
     [](Draft &d) { entry(d, large_stream).rebuild[0]->name = "a\\b"; }},
    {"a control character in a field's layer", 16, [](Draft &d) { d.plan.state[0]->layer = "a\tb"; }},
    {"a path for a field's name", 16, [](Draft &d) { d.plan.state[0]->name = "a/b"; }},
    {"a control character in the layer that fixes a length", 16,
     [](Draft &d) { entry(d, run).fixed = "\x7f"; }},
    {"two outputs of one name", 16, [](Draft &d) { entry(d, stream).outputs[1]->name = "y"; }},
};

const Case values[] = {
    {"threshold NaN", 18, [](Draft &d) { decision(d).default_threshold = NAN; }},
    {"threshold 0", 18, [](Draft &d) { decision(d).default_threshold = 0; }},
    {"a word's threshold above 1", 18,
     [](Draft &d) { decision(d).thresholds.push_back(threshold(0, 1.5f)); }},
    {"release infinite", 18, [](Draft &d) { decision(d).release = INFINITY; }},
    {"negative smoothing", 18, [](Draft &d) { decision(d).smoothing_ms = -1; }},
    {"refractory NaN", 18, [](Draft &d) { decision(d).refractory_ms = NAN; }},
    {"a smoothing window of an hour of fast rows: gigabytes in a spotter", 18,
     [](Draft &d) { decision(d).smoothing_ms = 3.6e6f, d.plan.inputs[0]->sample_rate = 10'000'000; }},
    {"golden limit 0", 18, [](Draft &d) { golden(d).error_limit = 0; }},
    {"error limit of the plan above 1", 18, [](Draft &d) { d.plan.error_limit = 2; }},
    {"error limit of the plan NaN", 18, [](Draft &d) { d.plan.error_limit = NAN; }},
    {"audio without a sample rate", 18, [](Draft &d) { d.plan.inputs[0]->sample_rate = 0; }},
    {"an output with a sample rate above 10 MHz", 18,
     [](Draft &d) { entry(d, run).outputs[0]->sample_rate = 10'000'001; }},
    {"an output with a sample rate that is not that of its rows", 18,
     [](Draft &d) { entry(d, run).outputs[0]->sample_rate = 1001; }},
    {"audio that lags by hours", 18,
     [](Draft &d) {
         entry(d, run).outputs[0]->sample_rate = 1000;
         entry(d, run).outputs[0]->lag = 0xffffffff;
     }},
    {"a lag of rows that are no audio", 18, [](Draft &d) { entry(d, run).outputs[0]->lag = 1; }},
    {"tokens without a vocabulary", 18, [](Draft &d) { d.plan.inputs[0]->kind = fb::InputKind::tokens; }},
    {"sample limit 0", 18, [](Draft &d) { d.plan.sample_limit = 0; }},
    {"sample limit NaN", 18, [](Draft &d) { d.plan.sample_limit = NAN; }},
    {"sample limit infinite", 18, [](Draft &d) { d.plan.sample_limit = INFINITY; }},
    {"negative sample limit", 18, [](Draft &d) { d.plan.sample_limit = -1; }},
};

} // namespace

} // namespace plan_rules_test

void longwave::test::plan_samples(Samples &samples) {
    add_cases(samples, "V6", family_model, plan_rules_test::caps);
    add_cases(samples, "V7", family_model, plan_rules_test::sizes);
    add_cases(samples, "container", audio_model, plan_rules_test::container);
    add_cases(samples, "V13", family_model, plan_rules_test::indices);
    add_cases(samples, "V15", family_model, plan_rules_test::state);
    add_cases(samples, "saved state", plan_rules_test::named_family, plan_rules_test::saved_state);
    add_cases(samples, "scalars of the host", plan_rules_test::with_scalars, plan_rules_test::host_scalars);
    add_cases(samples, "V16", family_model, plan_rules_test::names);
    add_cases(samples, "V18", audio_model, plan_rules_test::values);
}

namespace plan_rules_test {

TEST_CASE("verify: V6, how many and how large") { check_cases(family_model, caps); }
TEST_CASE("verify: V7, sizes by checked arithmetic") { check_cases(family_model, sizes); }
TEST_CASE("verify: V8, V9, V11 and V17, segments, code and golden vectors") {
    check_cases(audio_model, container);
}
TEST_CASE("verify: V13, indices and enumerations") { check_cases(family_model, indices); }
TEST_CASE("verify: V15, the state and what lies beside it") { check_cases(family_model, state); }
TEST_CASE("verify: V6 and V15, what a saved state depends on") {
    check_sound(named_family());
    Draft channels = named_family();
    by_channel(channels, {1, 16}, 16, 1);
    check_sound(channels);
    check_cases(named_family, saved_state);
}
TEST_CASE("verify: V6, V15, V16 and V18, scalars of the host") {
    check_sound(with_scalars());
    check_cases(with_scalars, host_scalars);
}
TEST_CASE("verify: V16, names and documents") { check_cases(family_model, names); }
TEST_CASE("verify: V18, values that are computed with") { check_cases(audio_model, values); }

TEST_CASE("verify: names may hold any script, and marks that only say which way it runs") {
    Draft draft = audio_model();
    draft.plan.labels = {"d\xc2\xa0"
                         "e",
                         "\xe8\xaf\xad", "\xd7\xa9\xe2\x80\x8f"};
    step(draft, stream, 0).name = "layer/\xf0\x9f\x8e\xa4";
    check_sound(draft);
}

TEST_CASE("verify: an output may be audio, and the rate of features may be unknown") {
    Draft draft = audio_model();
    entry(draft, stream).outputs[0]->sample_rate = 1000;
    entry(draft, stream).outputs[0]->lag = 1 << 20;
    check_sound(draft);
    draft.plan.inputs[0]->kind = fb::InputKind::features;
    draft.plan.inputs[0]->sample_rate = 0;
    entry(draft, stream).outputs[0]->sample_rate = 48000;
    check_sound(draft);
}

TEST_CASE("verify: with a single stream entry, the state may hold derived past") {
    Draft draft = audio_model();
    draft.plan.state[1]->kind = fb::StateKind::spectra;
    check_sound(draft);
}

} // namespace plan_rules_test
