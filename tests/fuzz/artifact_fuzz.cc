// Artifacts: verify -> View -> lw_model_open_memory -> stream and run. What must hold: any bytes
// are verified or break a numbered rule; what is verified reaches no byte outside its spaces;
// opening takes no more memory than the caller's limit; an opened model streams, runs and ends with
// the statuses its interface names. Every input is tried as it is and with its hashes renewed
// (plan_mutator.h): hashes keep accidents out, not people. Machine code is run only where
// known_code.h allows it; mutated code never is.
#include "formats/artifact/geometry.h"
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_generated.h"
#include "formats/artifact/verify.h"
#include "longwave/audio_stream.h"
#include "longwave/batch.h"
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include "tests/fuzz/known_code.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/plan_mutator.h"
#include "tests/fuzz/reach.h"
#include "tests/support/filter_options.h"
#include "tests/support/spotter_options.h"
#include <algorithm>
#include <cstring>
#include <memory>

using namespace longwave;
using fuzz::must;

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size)
    __attribute__((weak)); // libFuzzer's own; not there in a replay

namespace {

constexpr uint64_t memory_limit = 1 << 20;

// Counts what is held, so that the limit can be held against it.
struct Counter {
    uint64_t held = 0, most = 0;
    lw_allocator allocator = {[](void *context, size_t size, size_t alignment) -> void * {
                                  auto *counter = static_cast<Counter *>(context);
                                  if (size > 64 * memory_limit) return nullptr;
                                  counter->held += size;
                                  counter->most = std::max(counter->most, counter->held);
                                  return aligned_alloc(alignment,
                                                       (size + alignment - 1) / alignment * alignment);
                              },
                              [](void *context, void *memory, size_t size) {
                                  if (memory) static_cast<Counter *>(context)->held -= size;
                                  free(memory);
                              },
                              this};
};

struct Free {
    void operator()(uint8_t *p) const { free(p); }
};

// Exactly as long as the file: what is read behind its end is noticed.
std::unique_ptr<uint8_t, Free> aligned_copy(const std::vector<uint8_t> &bytes) {
    void *memory = nullptr;
    must(posix_memalign(&memory, 64, std::max<size_t>(bytes.size(), 1)) == 0, "memory");
    if (!bytes.empty()) memcpy(memory, bytes.data(), bytes.size());
    return std::unique_ptr<uint8_t, Free>(static_cast<uint8_t *>(memory));
}

void stream(const lw_model *model, const lw_input_info &input) {
    lw_stream_options options{};
    options.struct_size = sizeof options;
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    lw_stream *stream = nullptr;
    if (lw_stream_create(model, &options, &stream) != LW_OK) return;
    constexpr size_t ticks = 40;
    if (input.width > 1000) return lw_stream_destroy(stream);
    const std::vector<float> samples(ticks * input.width,
                                     input.kind == LW_INPUT_TOKENS ? 0.0f : 0.5f); // 0.0f is the id 0
    lw_stream_row row{};
    row.struct_size = sizeof row;
    const auto pull = [&] {
        lw_status status = LW_OK;
        for (int i = 0; i < 500 && status == LW_OK; ++i) status = lw_stream_pull(stream, &row);
        return status;
    };
    lw_status status = LW_OK;
    for (size_t done = 0, taken = 0; done < ticks && status == LW_OK; done += taken) {
        status = lw_stream_push(stream, samples.data() + done * input.width, ticks - done, &taken);
        must(status == LW_OK || status == LW_DEVICE, "push runs blocks or names the kernel that failed");
        if (status == LW_OK) pull();
    }
    if (status == LW_OK && lw_stream_finish(stream) == LW_OK) {
        status = pull();
        must(status == LW_OK || status == LW_END || status == LW_DEVICE,
             "a finished stream gives rows, then its end");
    }
    lw_stream_destroy(stream);
}

// Streams that run together, more than one kernel serves, the first a block ahead.
void streams_together(const lw_model *model, const lw_input_info &input) {
    lw_batch *batch = nullptr;
    if (input.width > 1000 || lw_batch_create(model, &batch) != LW_OK) return;
    lw_stream_options options{};
    options.struct_size = sizeof options;
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    constexpr size_t n = 3, ticks = 20;
    lw_stream *streams[n] = {};
    size_t made = 0;
    while (made < n && lw_stream_create(model, &options, &streams[made]) == LW_OK) ++made;
    const std::vector<float> values(ticks * input.width, input.kind == LW_INPUT_TOKENS ? 0.0f : 0.5f);
    const void *samples[n] = {values.data(), values.data(), values.data()};
    lw_stream_row row{};
    row.struct_size = sizeof row;
    for (size_t turn = 0; turn < 3; ++turn) {
        const size_t counts[n] = {ticks, turn ? ticks : 0, ticks - 1};
        size_t taken[n];
        const lw_status status = lw_batch_push(batch, streams, made, samples, counts, taken);
        must(status == LW_OK || status == LW_DEVICE || (turn > 0 && status == LW_WRONG_STATE),
             "a batch runs blocks or names the kernel that failed");
        for (size_t i = 0; i < made; ++i)
            for (int k = 0; k < 100 && lw_stream_pull(streams[i], &row) == LW_OK; ++k) {
            }
    }
    for (size_t i = 0; i < made; ++i) lw_stream_destroy(streams[i]);
    lw_batch_destroy(batch);
}

void use(const lw_model *model) {
    lw_model_info info{};
    info.struct_size = sizeof info;
    must(lw_model_get_info(model, &info) == LW_OK, "a model describes itself");
    lw_input_info input{};
    input.struct_size = sizeof input;
    must(lw_model_input(model, 0, &input) == LW_OK, "a model has an input");
    if (info.has_stream && info.stream_memory_bytes <= memory_limit) stream(model, input);
    if (info.has_stream && 3 * info.stream_memory_bytes <= memory_limit) streams_together(model, input);
    double worst = 0;
    lw_model_verify(model, &worst);
    lw_spotter *spotter = nullptr;
    if (lw_spotter_create(model, &longwave::test::f32_spotter, &spotter) == LW_OK) {
        const std::vector<float> samples(40, 1.0f);
        lw_spotter_push(spotter, samples.data(), samples.size(), nullptr);
        lw_spotter_finish(spotter);
    }
    lw_spotter_destroy(spotter);
    lw_audio_stream *filter = nullptr;
    if (lw_audio_stream_create(model, &longwave::test::f32_filter, &filter) == LW_OK) {
        float samples[40] = {}, heard[100];
        size_t n = 0;
        lw_audio_stream_push(filter, samples, 40, nullptr);
        if (lw_audio_stream_latency(filter) < 100'000) lw_audio_stream_finish(filter);
        for (int i = 0; i < 100 && lw_audio_stream_pull(filter, heard, 100, &n) == LW_OK; ++i)
            must(n > 0 && n <= 100, "pull gives what there is room for");
    }
    lw_audio_stream_destroy(filter);
}

void open(const std::vector<uint8_t> &bytes) {
    Counter counter;
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.allocator = &counter.allocator;
    options.memory_limit = memory_limit;
    lw_model *model = nullptr;
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
    must((status == LW_OK) == (model != nullptr), "a model is given exactly when opening succeeds");
    // Header, tables and the verifier's notes are small beside the file, but they are there.
    must(counter.most <= memory_limit + 16 * bytes.size() + 65536,
         "opening stays within the caller's memory limit");
    if (model) use(model);
    lw_model_close(model);
    must(counter.held == 0, "everything taken is given back");
}

// What a GPU runs: sound or a refusal by its rule, and sound modules lie in their segment to the
// last word.
void modules(const artifact::View &view) {
    for (uint32_t i = 0; i < view.plan().segments()->size(); ++i) {
        if (view.plan().segments()->Get(i)->kind() != fb::SegmentKind::modules) continue;
        const artifact::Bytes segment = view.segment(i);
        artifact::ModulesView opened;
        const artifact::Broken broken = artifact::open_modules(view.plan(), segment, &opened);
        must(bool(broken) != bool(opened), "modules are given exactly when nothing is broken");
        if (broken) {
            must(broken.rule == 21 && *broken.text, "a refusal names its rule");
            continue;
        }
        for (const fb::Module *module : *opened.manifest().modules()) {
            const artifact::Bytes code = opened.code(*module);
            must(code.data >= segment.data && code.data + code.size <= segment.data + segment.size,
                 "a module lies in its segment");
            must(module->bindings()->size() == view.plan().kernels()->Get(module->kernel())->args()->size(),
                 "each argument has a descriptor");
        }
    }
}

void try_bytes(const std::vector<uint8_t> &bytes) {
    const auto copy = aligned_copy(bytes);
    artifact::Request request;
    request.file = copy.get();
    request.size = bytes.size();
    artifact::View view;
    const artifact::Broken broken = artifact::verify(request, &view);
    must(bool(broken) != bool(view), "a view is given exactly when nothing is broken");
    if (broken)
        return must(broken.rule >= 1 && broken.rule <= 20 && *broken.text, "a refusal names its rule");
    const char *outside = fuzz::reaches_outside(view);
    if (outside) std::fprintf(stderr, "%s\n", outside);
    must(!outside, "what is verified stays inside its spaces");
    modules(view);
    const auto &variants = *view.plan().variants();
    const bool codeless = variants.size() == 1 && artifact::detached(*variants.Get(0)); // a status, no call
    if (codeless || fuzz::test_kernels().may_run(view)) open(bytes);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    std::vector<uint8_t> bytes(data, data + size);
    try_bytes(bytes);
    fuzz::renew_hashes(bytes);
    try_bytes(bytes);
    return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    if (seed % 4 != 0) {
        const std::vector<uint8_t> other = fuzz::mutated_plan({data, data + size}, seed);
        if (!other.empty() && other.size() <= max_size) {
            memcpy(data, other.data(), other.size());
            return other.size();
        }
    }
    return LLVMFuzzerMutate(data, size, max_size);
}
