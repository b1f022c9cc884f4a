// memory_limit covers everything a handle ever takes, and is asked before anything is taken.
#include "formats/artifact/header.h"
#include "formats/artifact/verify.h"
#include "longwave/batch.h"
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include "tests/support/filter_options.h"
#include "tests/support/meter.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/speech_options.h"
#include "tests/support/spotter_options.h"
#include "tests/support/tiny_family.h"
#include "tests/support/tiny_filters.h"
#include <cstdlib>
#include <cstring>
#include <doctest/doctest.h>
#include <string>
#include <unistd.h>

namespace memory_test {

using namespace longwave;
using namespace longwave::test;

namespace {

lw_open_options options_for(Meter &meter, uint64_t limit) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.allocator = &meter.allocator;
    options.memory_limit = limit;
    return options;
}

bool detail(const char *text) { return std::string(lw_last_error()).find(text) != std::string::npos; }

lw_model_info info_of(const lw_model *model) {
    lw_model_info info{};
    info.struct_size = sizeof info;
    REQUIRE(lw_model_get_info(model, &info) == LW_OK);
    return info;
}

struct File {
    explicit File(const std::vector<uint8_t> &bytes) {
        char name[] = "/tmp/longwave-memory-XXXXXX";
        file = mkstemp(name);
        path = name;
        REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    }
    ~File() {
        close(file);
        unlink(path.c_str());
    }
    int file;
    std::string path;
};

// Everything that can be made from a model, one after another; no status but these two.
void use(const lw_model *model) {
    const auto fine = [](lw_status status) {
        return status == LW_OK || status == LW_NO_MEMORY || status == LW_NO_STREAM;
    };
    lw_stream *stream = nullptr;
    lw_runner *runner = nullptr;
    lw_spotter *spotter = nullptr;
    lw_speech_detector *detector = nullptr;
    CHECK(fine(lw_stream_create(model, plain_stream(model), &stream)));
    lw_stream_destroy(stream);
    CHECK(fine(lw_runner_create(model, &f32_runner, &runner)));
    lw_runner_destroy(runner);
    const lw_status status = lw_spotter_create(model, &f32_spotter, &spotter);
    CHECK((fine(status) || status == LW_NOT_FOUND));
    lw_spotter_destroy(spotter);
    const lw_status detects = lw_speech_detector_create(model, &f32_speech, &detector);
    CHECK((fine(detects) || detects == LW_NOT_FOUND));
    lw_speech_detector_destroy(detector);
    lw_audio_stream *filter = nullptr;
    const lw_status filters = lw_audio_stream_create(model, &f32_filter, &filter);
    CHECK((fine(filters) || filters == LW_NOT_FOUND));
    lw_audio_stream_destroy(filter);
    lw_batch *batch = nullptr;
    CHECK(fine(lw_batch_create(model, &batch)));
    lw_batch_destroy(batch);
    CHECK(fine(lw_model_verify(model, nullptr)));
}

} // namespace

TEST_CASE("memory: under any limit no more than the limit is ever taken, by open or by what it makes") {
    for (const Draft &draft : {audio_model(), token_model(), spotter_model(), speech_model(), late_model(),
                               together_model(), tiles_model(), blocks_model({{16, 1, 48}, {16, 48}})}) {
        const std::vector<uint8_t> bytes = draft.bytes();
        Meter free_meter;
        const lw_open_options free_options = options_for(free_meter, 0);
        lw_model *model = nullptr;
        REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &free_options, &model) == LW_OK);
        const lw_model_info info = info_of(model);
        CHECK(info.memory_limit == artifact::default_memory_limit(bytes.size()));
        const uint64_t mapped = info.memory_bytes - free_meter.now; // code, which comes from the system
        CHECK(mapped >= draft.segments[0].bytes.size());
        CHECK(mapped < draft.segments[0].bytes.size() + 4096 + 64); // lines are counted whole
        const uint64_t enough =
            info.memory_bytes + std::max(info.stream_memory_bytes, info.run_memory_bytes) + 4096;
        lw_model_close(model);
        bool opened = false;
        for (uint64_t limit = 64; limit < enough + 64; limit += 64) {
            Meter meter;
            const lw_open_options options = options_for(meter, limit);
            const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
            if (opened) REQUIRE(status == LW_OK); // more is never too little
            opened = status == LW_OK;
            if (!opened) {
                REQUIRE(status == LW_NO_MEMORY);
                REQUIRE(detail("memory_limit"));
                REQUIRE(detail(std::to_string(limit).c_str()));
            } else {
                use(model);
                REQUIRE(meter.most + mapped <= limit);
            }
            lw_model_close(model);
            REQUIRE(meter.most <= limit);
            REQUIRE(meter.now == 0);
        }
        CHECK(opened);
    }
}

TEST_CASE(
    "memory: a few bytes of artifact do not make open or a stream take gigabytes when no limit is given") {
    const uint64_t huge = uint64_t{4} << 30;
    const auto refused = [](const Draft &draft) {
        const std::vector<uint8_t> bytes = draft.bytes();
        Meter meter;
        const lw_open_options options = options_for(meter, 0);
        lw_model *model = nullptr;
        const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
        lw_model_close(model);
        CHECK(meter.most < 1 << 20);
        return status == LW_NO_MEMORY && detail("rule V20") && detail("memory_limit is 67108864") &&
               detail("default");
    };
    Draft draft = audio_model();
    draft.plan.entries[1]->arena_bytes = huge;
    CHECK(refused(draft));
    draft = audio_model();
    draft.plan.entries[2]->arena_bytes = huge;
    CHECK(refused(draft));
    draft = audio_model();
    draft.plan.entries[0]->arena_bytes = huge;
    CHECK(refused(draft));
    draft = audio_model();
    add_field(draft, "block.0", "history", fb::StateKind::history, {1 << 20, 1 << 10});
    CHECK(refused(draft));
    draft = blocks_model({{4, 8}, {8}});
    draft.plan.entries[1]->cache_bytes = huge;
    CHECK(refused(draft));
    draft = audio_model();
    draft.plan.variants[0]->scratch[1] = huge; // of the stream's kernel
    CHECK(refused(draft));
    draft = audio_model();
    draft.plan.variants[0]->scratch[0] = huge; // of prepare's
    CHECK(refused(draft));
}

TEST_CASE("memory: of a megabyte that is opened at all, opening takes at most 64 times its bytes") {
    // A table derived in tiles of 64 bytes, as long as it may be: `tiles` is the most that is
    // accepted.
    const auto bytes_with = [](uint32_t tiles) {
        Draft draft = audio_model();
        draft.plan.report = std::string(1 << 20, ' ');
        draft.plan.derived_bytes = uint64_t{tiles} * 64;
        draft.plan.entries[0]->steps[0]->tiles = tiles;
        draft.plan.entries[0]->steps[0]->args[1] = at(longwave::fb::Space::derived, 0, 1, 0, 0, 64);
        return draft.bytes();
    };
    const auto open = [](const std::vector<uint8_t> &bytes, uint64_t *most) {
        Meter meter;
        const lw_open_options options = options_for(meter, 0);
        lw_model *model = nullptr;
        const lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model);
        CHECK((status == LW_OK || status == LW_NO_MEMORY));
        *most = meter.most + (model ? info_of(model).memory_bytes - meter.now : 0); // and code, mapped
        lw_model_close(model);
        return status == LW_OK;
    };
    uint32_t accepted = 1, refused = 1 << 20;
    uint64_t most = 0, none = 0;
    while (refused - accepted > 1) {
        const uint32_t tiles = (accepted + refused) / 2;
        (open(bytes_with(tiles), &most) ? accepted : refused) = tiles;
    }
    CHECK(!open(bytes_with(refused), &none));
    const std::vector<uint8_t> largest = bytes_with(accepted);
    CHECK(open(largest, &most));
    CHECK(none < 2 * largest.size()); // a refusal takes no more than the file and its check
    CHECK(most <= 64 * largest.size());
    CHECK(most > 60 * largest.size()); // else something else was refused, and nothing tried
}

TEST_CASE("memory: a file is not read before its size has been held against the limit") {
    std::vector<uint8_t> bytes = audio_model().bytes();
    const uint64_t size = uint64_t{3} << 30;
    artifact::Header header;
    memcpy(&header, bytes.data(), sizeof header);
    header.total_bytes = size;
    memcpy(bytes.data(), &header, sizeof header);
    const File file(bytes);
    // A hole, but reading it would take the memory.
    REQUIRE(ftruncate(file.file, static_cast<off_t>(size)) == 0);
    Meter meter;
    lw_open_options options = options_for(meter, 1 << 20);
    lw_model *model = nullptr;
    CHECK(lw_model_open(file.path.c_str(), &options, &model) == LW_NO_MEMORY);
    CHECK(detail("the artifact needs 32212"));
    CHECK(detail("1048576"));
    CHECK(meter.most < 65536);
}

TEST_CASE("memory: of a mapped file only the plan counts") {
    Draft draft = audio_model();
    draft.segments[1].bytes.resize(8 << 20);
    draft.plan.weights_bytes = draft.segments[1].bytes.size();
    const File file(draft.bytes());
    for (const int map : {0, 1}) {
        Meter meter;
        lw_open_options options = options_for(meter, 1 << 20);
        options.map_weights = map;
        lw_model *model = nullptr;
        CHECK(lw_model_open(file.path.c_str(), &options, &model) == (map ? LW_OK : LW_NO_MEMORY));
        if (model) use(model);
        lw_model_close(model);
        CHECK(meter.most < 1 << 20);
    }
}

TEST_CASE("memory: what is made from a model asks for itself, threads and queues included") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    Meter meter;
    const lw_open_options options = options_for(meter, 1 << 18);
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    lw_stream_options queue = f32_stream;
    queue.queue = 1 << 20;
    lw_stream *stream = nullptr;
    CHECK(lw_stream_create(model, &queue, &stream) == LW_NO_MEMORY);
    CHECK(detail("a stream needs"));
    lw_runner_options threads = f32_runner;
    threads.threads = 64;
    lw_runner *runner = nullptr;
    CHECK(lw_runner_create(model, &threads, &runner) == LW_NO_MEMORY);
    CHECK(detail("a run needs"));
    CHECK(meter.most < 1 << 18);
    lw_model_close(model);
}

TEST_CASE("memory: a spotter's window counts") {
    const std::vector<uint8_t> bytes = spotter_model().bytes();
    Meter meter;
    const lw_open_options options = options_for(meter, 1 << 18);
    lw_model *model = nullptr;
    REQUIRE(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) == LW_OK);
    lw_spotter_options longest = f32_spotter;
    longest.smoothing_ms = 3.5e6f; // 350,000 rows of three scores
    lw_spotter *spotter = nullptr;
    CHECK(lw_spotter_create(model, &longest, &spotter) == LW_NO_MEMORY);
    CHECK(detail("a spotter needs"));
    CHECK(lw_spotter_create(model, &f32_spotter, &spotter) == LW_OK);
    lw_spotter_destroy(spotter);
    CHECK(meter.most < 1 << 18);
    lw_model_close(model);
}

TEST_CASE("memory: verification asks for its golden vectors and what runs them together") {
    Draft draft = audio_model();
    const std::vector<float> x(64);
    std::vector<float> values = x;
    values.resize(64 + 64);
    draft.segments.push_back({fb::SegmentKind::golden, as_bytes(values)});
    add_golden(draft, 2, 64, 1e-5f);
    const std::vector<uint8_t> bytes = draft.bytes();
    const Model open(bytes);
    const lw_model_info info = info_of(open);
    const uint64_t least = info.memory_bytes + std::max(info.stream_memory_bytes, info.run_memory_bytes);
    bool refused = false, passed = false;
    for (uint64_t limit = least; limit < least + 8192; limit += 64) {
        Meter meter;
        const lw_open_options options = options_for(meter, limit);
        lw_model *model = nullptr;
        if (lw_model_open_memory(bytes.data(), bytes.size(), &options, &model) != LW_OK) continue;
        const lw_status status = lw_model_verify(model, nullptr);
        CHECK((status == LW_OK || status == LW_NO_MEMORY));
        (status == LW_OK ? passed : refused) = true;
        lw_model_close(model);
        CHECK(meter.most <= limit);
    }
    CHECK(passed);
    (void)refused; // a stream may need more than a run and its golden vector
}

} // namespace memory_test
