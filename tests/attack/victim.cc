#include "tests/attack/victim.h"
#include "formats/artifact/geometry.h"
#include "formats/artifact/hash.h"
#include "formats/artifact/modules.h"
#include "formats/artifact/modules_generated.h"
#include "formats/artifact/verify.h"
#include "longwave/audio_stream.h"
#include "longwave/generator.h"
#include "longwave/spotter.h"
#include "tests/attack/guard_allocator.h"
#include "tests/fuzz/guarded.h"
#include "tests/fuzz/must.h"
#include "tests/fuzz/reach.h"
#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <sys/mman.h>

namespace longwave::attack {
namespace {

using fuzz::must;

constexpr uint64_t memory_limit = 256 << 20;

// The file, as near before memory that is not there as its alignment lets it be.
class File {
public:
    explicit File(const std::vector<uint8_t> &bytes) : pages_((bytes.size() / 4096 + 1) * 4096) {
        memory_ = static_cast<uint8_t *>(
            mmap(nullptr, pages_ + 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        must(memory_ != MAP_FAILED && mprotect(memory_, pages_, PROT_READ | PROT_WRITE) == 0, "memory");
        bytes_ = memory_ + pages_ - (bytes.size() + 63) / 64 * 64;
        if (!bytes.empty()) memcpy(bytes_, bytes.data(), bytes.size());
        must(mprotect(memory_, pages_, PROT_READ) == 0,
             "memory"); // whoever checks a file does not write to it
    }
    ~File() { munmap(memory_, pages_ + 4096); }
    File(const File &) = delete;
    const uint8_t *bytes() const { return bytes_; }

private:
    uint64_t pages_;
    uint8_t *memory_, *bytes_;
};

template <class T> T sized() {
    T value{};
    value.struct_size = sizeof value;
    return value;
}

uint32_t some_rows(uint32_t block) { return std::min(2 * block + 3, 40u + block); }

void run(const lw_model *model, const lw_model_info &info, const lw_input_info &input) {
    auto options = sized<lw_runner_options>();
    options.format = LW_F32;
    lw_runner *runner = nullptr;
    if (info.run_memory_bytes > memory_limit || lw_runner_create(model, &options, &runner) != LW_OK) return;
    const uint64_t rows =
        std::min<uint64_t>(info.run_capacity, std::max<uint64_t>(1, (1 << 18) / std::max(input.width, 1u)));
    std::vector<float> samples(input.width <= 1 << 18 ? rows * input.width : 0, 0.25f);
    if (input.kind == LW_INPUT_TOKENS) memset(samples.data(), 0, 4 * samples.size());
    std::vector<lw_run_tensor> in(info.inputs, sized<lw_run_tensor>()),
        out(info.run_outputs, sized<lw_run_tensor>());
    std::vector<std::vector<float>> results(info.run_outputs);
    for (lw_run_tensor &each : in) each.data = samples.data(), each.rows = rows;
    for (uint32_t i = 0; i < info.run_outputs; ++i) {
        auto output = sized<lw_output_info>();
        must(lw_model_run_output(model, i, &output) == LW_OK, "an output describes itself");
        const uint64_t values = std::min<uint64_t>((1 << 18), uint64_t{1 << 10} * std::max(output.width, 1u));
        results[i].resize(values);
        out[i].data = results[i].data();
        out[i].rows = values / std::max(output.width, 1u);
    }
    if (!samples.empty() && info.inputs == 1) lw_run(runner, in.data(), 1, out.data(), out.size());
    lw_runner_destroy(runner);
}

lw_status pull_all(lw_stream *stream) {
    auto row = sized<lw_stream_row>();
    lw_status status = LW_OK;
    volatile float sum = 0;
    for (int i = 0; i < 5000 && status == LW_OK; ++i) {
        status = lw_stream_pull(stream, &row);
        for (uint32_t v = 0; status == LW_OK && v < row.width; ++v) sum = sum + row.data[v];
    }
    return status;
}

void stream(const lw_model *model, const lw_model_info &info, const lw_input_info &input) {
    auto options = sized<lw_stream_options>();
    options.format = input.kind == LW_INPUT_TOKENS ? LW_I32 : LW_F32;
    lw_stream *stream = nullptr;
    if (info.stream_memory_bytes > memory_limit || input.width > 100'000 || info.stream_block > 100'000)
        return;
    if (lw_stream_create(model, &options, &stream) != LW_OK) return;
    const size_t ticks = some_rows(info.stream_block);
    std::vector<float> samples(ticks * input.width, input.kind == LW_INPUT_TOKENS ? 0.0f : 0.5f);
    lw_status status = LW_OK;
    for (size_t done = 0, taken = 0; done < ticks && status == LW_OK; done += taken) {
        taken = 0;
        status = lw_stream_push(stream, samples.data() + done * input.width, ticks - done, &taken);
        must(status == LW_OK || status >= LW_NO_MEMORY, "push runs blocks, or names what failed");
        pull_all(stream);
        if (taken == 0) break;
    }
    size_t bytes = 0;
    if (status == LW_OK && lw_stream_save(stream, nullptr, 0, &bytes) == LW_OK && bytes < 64 << 20) {
        std::vector<uint8_t> saved(bytes);
        must(lw_stream_save(stream, saved.data(), bytes, &bytes) == LW_OK, "a state is saved");
        must(lw_stream_load(stream, saved.data(), bytes) == LW_OK, "what was saved loads");
    }
    if (status == LW_OK && info.stream_delay < 1000 && lw_stream_finish(stream) == LW_OK) pull_all(stream);
    lw_stream_destroy(stream);
}

void spot(const lw_model *model) {
    lw_spotter *spotter = nullptr;
    auto options = sized<lw_spotter_options>();
    options.format = LW_F32;
    if (lw_spotter_create(model, &options, &spotter) != LW_OK) return;
    const std::vector<float> samples(2000, 0.5f);
    auto event = sized<lw_spotter_event>();
    lw_spotter_push(spotter, samples.data(), samples.size(), nullptr);
    for (int i = 0; i < 100 && lw_spotter_pull(spotter, &event) == LW_OK; ++i)
        must(event.word, "an event has a word");
    lw_spotter_finish(spotter);
    lw_spotter_destroy(spotter);
}

void filter(const lw_model *model) {
    auto options = sized<lw_audio_stream_options>();
    options.format = LW_F32;
    size_t size = 0, alignment = 0;
    lw_audio_stream *filter = nullptr;
    if (lw_audio_stream_size(model, &options, &size, &alignment) != LW_OK || size > memory_limit) return;
    if (lw_audio_stream_create(model, &options, &filter) != LW_OK) return;
    std::vector<float> samples(2000, 0.5f);
    lw_audio_stream_push(filter, samples.data(), samples.size(), nullptr);
    size_t n = 0;
    for (int i = 0; i < 20 && lw_audio_stream_pull(filter, samples.data(), samples.size(), &n) == LW_OK; ++i)
        must(n > 0 && n <= samples.size(), "pull gives what there is room for");
    if (lw_audio_stream_latency(filter) < 100'000 && lw_audio_stream_finish(filter) == LW_OK)
        for (int i = 0; i < 20 && lw_audio_stream_pull(filter, samples.data(), samples.size(), &n) == LW_OK;
             ++i) {
        }
    lw_audio_stream_destroy(filter);
}

void generate(const lw_model *model) {
    lw_stream *stream = nullptr;
    lw_generator *generator = nullptr;
    if (lw_stream_create(model, nullptr, &stream) != LW_OK) return;
    if (lw_generator_create(stream, nullptr, &generator) == LW_OK) {
        const int32_t ids[] = {0, 1, 2};
        lw_generator_prompt(generator, ids, 3);
        auto token = sized<lw_generator_token>();
        for (int i = 0; i < 4 && lw_generator_next(generator, &token) == LW_OK; ++i) {
        }
    }
    lw_generator_destroy(generator);
    lw_stream_destroy(stream);
}

// What a GPU runs: sound or a refusal by its rule, and sound modules lie in their segment.
bool modules_are_sound(const artifact::View &view) {
    bool sound = true;
    for (uint32_t i = 0; i < view.plan().segments()->size(); ++i) {
        if (view.plan().segments()->Get(i)->kind() != fb::SegmentKind::modules) continue;
        const artifact::Bytes segment = view.segment(i);
        artifact::ModulesView opened;
        const artifact::Broken broken = artifact::open_modules(view.plan(), segment, &opened);
        must(bool(broken) != bool(opened), "modules are given exactly when nothing is broken");
        sound &= !broken;
        if (broken) continue;
        for (const fb::Module *module : *opened.manifest().modules()) {
            const artifact::Bytes code = opened.code(*module);
            must(code.data >= segment.data && code.data + code.size <= segment.data + segment.size,
                 "a module lies in its segment");
        }
    }
    return sound;
}

bool has_modules(const fb::Plan &plan) {
    for (const fb::Segment *segment : *plan.segments())
        if (segment->kind() == fb::SegmentKind::modules) return true;
    return false;
}

} // namespace

Victim::Victim(const std::vector<uint8_t> &artifact, lw_device *device)
    : followed_(artifact), device_(device) {
    known_.learn(artifact);
}

void Victim::use(const std::vector<uint8_t> &bytes, lw_device *device, bool at_front, bool runs,
                 Counts &counts) {
    GuardAllocator memory;
    memory.at_front = at_front;
    const lw_allocator allocator = memory.calls();
    auto options = sized<lw_open_options>();
    options.allow_unsigned_code = 1;
    options.allocator = &allocator;
    options.memory_limit = memory_limit;
    options.device = device;
    lw_model *model = nullptr;
    const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
    must((status == LW_OK) == (model != nullptr), "a model is given exactly when opening succeeds");
    must(status == LW_OK || lw_last_error()[0], "a refusal says why");
    must(memory.peak <= memory_limit + 16 * bytes.size() + 65536,
         "opening stays within the caller's memory limit");
    if (model) {
        ++(device ? counts.on_gpu : counts.opened);
        auto info = sized<lw_model_info>();
        auto input = sized<lw_input_info>();
        must(lw_model_get_info(model, &info) == LW_OK, "a model describes itself");
        must(lw_model_input(model, 0, &input) == LW_OK, "a model has an input");
        for (uint32_t i = 0; i < info.labels; ++i) must(lw_model_label(model, i), "a label is there");
        if (runs) {
            double worst = 0;
            if (info.has_run) run(model, info, input);
            if (info.has_stream) stream(model, info, input);
            lw_model_verify(model, &worst);
            if (!device) spot(model);
            if (!device && info.stream_memory_bytes <= memory_limit) filter(model);
            if (!device && input.kind == LW_INPUT_TOKENS) generate(model);
        }
    }
    lw_model_close(model);
    must(memory.held == 0, "everything taken is given back");
}

void Victim::attack(const std::vector<uint8_t> &bytes, bool gpu_runs, uint64_t number, Counts &counts) {
    ++counts.inputs;
    const File file(bytes);
    artifact::Request request;
    request.file = file.bytes();
    request.size = bytes.size();
    request.memory_limit = memory_limit;
    artifact::View view;
    const std::clock_t began = std::clock(); // of this process, whatever else runs
    const artifact::Broken broken = artifact::verify(request, &view);
    must(static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC <=
             1 + static_cast<double>(bytes.size()) / 1e6,
         "a check takes less than a second a megabyte");
    must(bool(broken) != bool(view), "a view is given exactly when nothing is broken");
    if (broken)
        return must(broken.rule >= 1 && broken.rule <= 20 && *broken.text, "a refusal names its rule");
    ++counts.sound;
    uint8_t digest[artifact::hash_bytes];
    artifact::root_hash(view.header(), file.bytes() + view.header().plan_offset, digest);
    must(artifact::equal_hash(digest, view.header().root), "what is accepted has its own hash");
    const char *outside = fuzz::reaches_outside(view);
    if (outside) std::fprintf(stderr, "%s\n", outside);
    must(!outside, "what is verified stays inside its spaces");
    const bool sound_modules = modules_are_sound(view);
    if (!known_.may_run(view)) return; // opening prepares, and that runs code
    if (!followed_.same(file.bytes(), view)) {
        if (!view.prepare() || !follows_indices(view.plan(), *view.prepare()))
            use(bytes, nullptr, number % 4 < 2, false, counts);
        return;
    }
    const fuzz::Guarded guarded = fuzz::run_guarded(view, number % 2);
    if (!guarded.fault.empty()) std::fprintf(stderr, "%s\n", guarded.fault.c_str());
    must(guarded.fault.empty(), "no kernel touches what it may not");
    counts.ran += guarded.ran;
    use(bytes, nullptr, number % 4 < 2, true, counts);
    // A driver takes a second to compile: one in eight is enough.
    if (device_ && number % 8 == 0 && gpu_runs && sound_modules && has_modules(view.plan()))
        use(bytes, device_, false, true, counts);
}

} // namespace longwave::attack
