// Every allocation and every system call of open and create fails once, and for good: a status,
// nothing leaked, nothing changed.
#include "longwave/longwave.h"
#include "longwave/spotter.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/faults.h"
#include "tests/support/filter_options.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/speech_options.h"
#include "tests/support/spotter_options.h"
#include "tests/support/tiny_filters.h"
#include <cerrno>
#include <doctest/doctest.h>
#include <unistd.h>

namespace fault_test {

using namespace longwave::test;

namespace {

lw_open_options trusting(const lw_allocator *allocator) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.allocator = allocator;
    return options;
}

// Open, everything that creates, destroy. The first status that is not LW_OK.
lw_status life(const std::vector<uint8_t> &bytes, const lw_allocator *allocator) {
    const lw_open_options options = trusting(allocator);
    lw_model *model = nullptr;
    if (lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &options, &model)) {
        CHECK(model == nullptr);
        return status;
    }
    lw_model_info info{};
    info.struct_size = sizeof info;
    lw_model_get_info(model, &info);
    lw_stream *stream = nullptr;
    lw_runner *runner = nullptr;
    lw_spotter *spotter = nullptr;
    lw_speech_detector *detector = nullptr;
    lw_status status = lw_stream_create(model, plain_stream(model), &stream);
    if (status == LW_OK && info.has_run) status = lw_runner_create(model, &f32_runner, &runner);
    if (status == LW_OK && !info.has_run && info.labels)
        status = lw_spotter_create(model, &f32_spotter, &spotter);
    lw_audio_stream *filter = nullptr;
    lw_output_info output = LW_OUTPUT_INFO_INIT;
    lw_model_stream_output(model, 0, &output);
    if (status == LW_OK && output.sample_rate) status = lw_audio_stream_create(model, &f32_filter, &filter);
    else if (status == LW_OK && !info.has_run && !info.labels)
        status = lw_speech_detector_create(model, &f32_speech, &detector);
    if (status == LW_OK) status = lw_model_verify(model, nullptr);
    lw_speech_detector_destroy(detector);
    lw_audio_stream_destroy(filter);
    lw_spotter_destroy(spotter);
    lw_runner_destroy(runner);
    lw_stream_destroy(stream);
    lw_model_close(model);
    return status;
}

} // namespace

TEST_CASE("faults: the k-th allocation fails, through the caller's hooks, for all k") {
    for (const Draft &draft : {audio_model(), token_model(), spotter_model(), speech_model(), late_model()}) {
        const std::vector<uint8_t> bytes = draft.bytes();
        FailingAllocator counting;
        REQUIRE(life(bytes, &counting.allocator) == LW_OK);
        CHECK(counting.live.empty());
        CHECK(counting.calls >= 5);
        for (bool for_good : {false, true})
            for (long k = 0; k < counting.calls; ++k) {
                FailingAllocator hooks;
                hooks.fail_at = k;
                hooks.for_good = for_good;
                CHECK(life(bytes, &hooks.allocator) == LW_NO_MEMORY);
                CHECK(hooks.live.empty());
                CHECK(lw_last_error()[0] != 0);
            }
    }
}

TEST_CASE("faults: with hooks the library never calls malloc; without, a failing malloc is a status") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    const lw_open_options options = trusting(nullptr);
    {
        static uint8_t pool[1 << 20];
        static size_t used;
        used = 0;
        lw_allocator bump{[](void *, size_t size, size_t alignment) -> void * {
                              used = (reinterpret_cast<uintptr_t>(pool) + used + alignment - 1) / alignment *
                                         alignment -
                                     reinterpret_cast<uintptr_t>(pool);
                              void *memory = pool + used;
                              used += size;
                              return used <= sizeof pool ? memory : nullptr;
                          },
                          [](void *, void *, size_t) {}, nullptr};
        faults::Scope scope;
        CHECK(life(bytes, &bump) == LW_OK);
        CHECK(scope.count(faults::allocate) == 0);
        CHECK(scope.count(faults::release) == 0);
        CHECK(scope.count(faults::lock) == 0);
    }
    long calls;
    {
        faults::Scope scope;
        REQUIRE(life(bytes, nullptr) == LW_OK);
        calls = scope.count(faults::allocate);
        CHECK(scope.count(faults::release) >= calls);
    }
    for (long k = 0; k < calls; ++k) {
        lw_status status;
        {
            faults::Scope scope;
            scope.fail(faults::allocate, k, ENOMEM);
            status = life(bytes, nullptr);
        }
        CHECK(status == LW_NO_MEMORY);
    }
    (void)options;
}

TEST_CASE("faults: memory that cannot be mapped or made executable") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    faults::Scope scope;
    scope.fail(faults::map, 0, ENOMEM);
    CHECK(life(bytes, nullptr) == LW_NO_MEMORY);
    scope.fail(faults::map, -1, 0);
    scope.fail(faults::protect, 0, EACCES);
    CHECK(life(bytes, nullptr) == LW_DEVICE);
}

TEST_CASE("faults: a file that cannot be opened, read or mapped, or is interrupted") {
    const std::vector<uint8_t> bytes = audio_model().bytes();
    char path[] = "/tmp/longwave-fault-XXXXXX";
    const int file = mkstemp(path);
    REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
    close(file);
    lw_open_options options = trusting(nullptr);
    lw_model *model = nullptr;
    auto opened = [&](faults::Call call, long k, int error) {
        faults::Scope scope;
        if (k >= 0) scope.fail(call, k, error);
        const lw_status status = lw_model_open(path, &options, &model);
        lw_model_close(model);
        return status;
    };
    CHECK(opened(faults::open, 0, EACCES) == LW_IO);
    CHECK(opened(faults::open, 0, ENOENT) == LW_NOT_FOUND);
    CHECK(opened(faults::open, 0, EINTR) == LW_OK);
    CHECK(opened(faults::read, 0, EIO) == LW_IO);
    CHECK(opened(faults::read, 1, EIO) == LW_IO);
    CHECK(opened(faults::read, 1, EINTR) == LW_OK);
    options.map_weights = 1;
    CHECK(opened(faults::map, 0, ENODEV) == LW_IO);
    CHECK(opened(faults::map, 1, ENOMEM) == LW_NO_MEMORY); // the code
    CHECK(opened(faults::map, -1, 0) == LW_OK);
    unlink(path);
}

} // namespace fault_test
