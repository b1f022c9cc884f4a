// After create nothing allocates, locks or calls the system: shown by counting, and by a process
// that may make no system call at all.
#include "longwave/batch.h"
#include "longwave/generator.h"
#include "longwave/longwave.h"
#include "longwave/resampler.h"
#include "longwave/speech_detector.h"
#include "longwave/spotter.h"
#include "tests/support/faults.h"
#include "tests/support/filter_options.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include "tests/support/speech_options.h"
#include "tests/support/spotter_options.h"
#include "tests/support/system_calls.h"
#include "tests/support/tiny_family.h"
#include "tests/support/tiny_filters.h"
#include "tests/support/tiny_text.h"
#include <doctest/doctest.h>
#include <sys/syscall.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace realtime_test {

using namespace longwave::test;

namespace {

// Everything a real-time thread may call, many times over. Returns the number of rows and events
// seen, or -1.
long work(lw_stream *stream, lw_stream *other, lw_spotter *spotter, const float *x, size_t n, void *saved,
          size_t capacity) {
    long seen = 0;
    lw_stream_row out{};
    out.struct_size = sizeof out;
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    for (int i = 0; i < 10000; ++i) {
        size_t taken = 0;
        if (lw_stream_push(stream, x, 1 + static_cast<size_t>(i) % n, &taken) != LW_OK) return -1;
        while (lw_stream_pull(stream, &out) == LW_OK) seen += out.width;
        if (lw_spotter_push(spotter, x, n, nullptr) != LW_OK) return -1;
        while (lw_spotter_pull(spotter, &event) == LW_OK) ++seen;
        if (i % 100 == 0) {
            size_t bytes = 0;
            if (lw_spotter_save(spotter, saved, capacity, &bytes) != LW_OK ||
                lw_spotter_load(spotter, saved, bytes) != LW_OK || lw_spotter_copy(spotter, spotter) != LW_OK)
                return -1;
            if (lw_stream_copy(other, stream) != LW_OK ||
                lw_stream_save(stream, saved, capacity, &bytes) != LW_OK)
                return -1;
            if (lw_stream_load(other, saved, bytes) != LW_OK || lw_stream_finish(other) != LW_OK) return -1;
            while (lw_stream_pull(other, &out) == LW_OK) seen += out.width;
            if (lw_stream_push(other, x, 1, &taken) != LW_WRONG_STATE || lw_last_error()[0] == 0)
                return -1; // failing is real-time too
            if (lw_stream_reset(other) != LW_OK || lw_stream_prefill(other, x, n) != LW_OK) return -1;
        }
    }
    return seen;
}

// The same for streams of several entries: states go back and forth, caches are filled. Rows seen,
// or -1.
long work_of_family(lw_stream *const *streams, size_t n_streams, const float *x, size_t n, void *saved,
                    size_t capacity) {
    long seen = 0;
    lw_stream_row out{};
    out.struct_size = sizeof out;
    for (size_t i = 0; i < 2000; ++i) {
        lw_stream *from = streams[i % n_streams], *to = streams[(i + 1) % n_streams];
        size_t taken = 0, bytes = 0;
        if (lw_stream_push(from, x, i % n, &taken) != LW_OK) return -1;
        while (lw_stream_pull(from, &out) == LW_OK) seen += out.width;
        if (i % 3 == 0 && lw_stream_copy(to, from) != LW_OK) return -1;
        if (i % 3 == 1 && lw_stream_save(from, saved, capacity, &bytes) != LW_OK) return -1;
        if (i % 3 == 1 && lw_stream_load(to, saved, bytes) != LW_OK) return -1;
        if (i % 50 == 0 && lw_stream_prefill(to, x, n) != LW_OK) return -1;
    }
    return seen;
}

// A language model that draws with every setting there is, saves and goes on. Ids seen, or -1.
struct Text {
    Text() : model(bigram_model(alphabet())), stream(model, LW_I32), saved(1 << 16) {
        static const int32_t never[] = {1, 2, 3};
        static const lw_stop_sequence stop = {never, 3};
        static const lw_logit_bias bias = {7, -1e30f};
        lw_generator_options options{};
        options.struct_size = sizeof options;
        options.temperature = 2;
        options.top_k = 100;
        options.top_p = 0.9f;
        options.min_p = 0.01f;
        options.repetition_penalty = 1.2f;
        options.log_probabilities = 1;
        options.stops = &stop;
        options.biases = &bias;
        options.n_stops = options.n_biases = 1;
        REQUIRE(lw_generator_create(stream, &options, &generator) == LW_OK);
    }
    ~Text() { lw_generator_destroy(generator); }
    long write() {
        const int32_t prompt[] = {'a', 'b', 'c'};
        if (lw_generator_prompt(generator, prompt, 3) != LW_OK) return -1;
        lw_generator_token token{};
        token.struct_size = sizeof token;
        long seen = 0;
        for (int i = 0; i < 5000; ++i, ++seen) {
            size_t bytes = 0;
            if (lw_generator_next(generator, &token) != LW_OK) return -1;
            if (i % 100 != 0) continue;
            if (lw_generator_save(generator, saved.data(), saved.size(), &bytes) != LW_OK ||
                lw_generator_load(generator, saved.data(), bytes) != LW_OK ||
                lw_generator_prompt(generator, prompt, 0) != LW_INVALID_ARGUMENT)
                return -1;
        }
        return lw_generator_reset(generator) == LW_OK ? seen : -1;
    }
    const Model model;
    Stream stream;
    lw_generator *generator = nullptr;
    std::vector<uint8_t> saved;
};

// Audio of another rate, and streams that begin and end in the caller's memory. Outputs seen, or -1.
struct InPlace {
    InPlace() {
        lw_resampler_options options = LW_RESAMPLER_OPTIONS_INIT;
        options.format = LW_F32;
        options.rate_in = 44100;
        options.rate_out = 16000;
        REQUIRE(lw_resampler_create(&options, &resampler) == LW_OK);
        size_t alignment;
        REQUIRE(lw_stream_size(model, &f32_stream, &size, &alignment) == LW_OK);
        REQUIRE(size <= sizeof memory);
    }
    ~InPlace() { lw_resampler_destroy(resampler); }
    InPlace(const InPlace &) = delete;
    long work() {
        long seen = 0;
        for (size_t i = 0; i < 2000; ++i) {
            size_t n = 0;
            if (lw_resampler_push(resampler, x.data(), i % x.size(), y, 1000, &n) != LW_OK) return -1;
            seen += static_cast<long>(n);
            lw_stream *stream = nullptr;
            if (lw_stream_init(model, &f32_stream, memory, size, &stream) != LW_OK) return -1;
            if (lw_stream_push(stream, y, n, nullptr) != LW_OK) return -1;
            lw_stream_destroy(stream);
            if (i % 100 != 0) continue;
            if (lw_resampler_finish(resampler, y, 1000, &n) != LW_OK) return -1;
            if (lw_resampler_reset(resampler) != LW_OK) return -1;
        }
        return seen;
    }
    const Model model{audio_model()};
    lw_resampler *resampler = nullptr;
    size_t size = 0;
    alignas(64) uint8_t memory[1 << 15];
    float y[1000];
    const std::vector<float> x = noise(700);
};

// Speech in a detector: events, states, ends and refusals. Events seen, or -1.
long work_on_speech(lw_speech_detector *detector, const float *x, size_t n, void *saved, size_t capacity) {
    long seen = 0;
    lw_speech_event event = LW_SPEECH_EVENT_INIT;
    for (size_t i = 0; i < 5000; ++i) {
        for (size_t at = 0, taken = 0; at < n; at += taken) {
            if (lw_speech_detector_push(detector, x + at, n - at, &taken) != LW_OK) return -1;
            while (lw_speech_detector_pull(detector, &event) == LW_OK) ++seen;
        }
        if (i % 50 != 0) continue;
        size_t bytes = 0;
        if (lw_speech_detector_save(detector, saved, capacity, &bytes) != LW_OK ||
            lw_speech_detector_load(detector, saved, bytes) != LW_OK ||
            lw_speech_detector_copy(detector, detector) != LW_OK ||
            lw_speech_detector_finish(detector) != LW_OK)
            return -1;
        while (lw_speech_detector_pull(detector, &event) == LW_OK) ++seen;
        if (lw_speech_detector_push(detector, x, 1, nullptr) != LW_WRONG_STATE ||
            lw_speech_detector_reset(detector) != LW_OK)
            return -1;
    }
    return seen;
}
// A host's callback with blocks of all sizes, pushes and pulls at other rates, ends, refusals and
// rows that are not finite. Samples heard, or -1.
struct Filters {
    Filters() {
        lw_audio_stream_options options = f32_filter;
        options.live = 1;
        REQUIRE(lw_audio_stream_create(sum, &options, &host) == LW_OK);
        options.rate_in = options.rate_out = 44100;
        REQUIRE(lw_audio_stream_create(late, &options, &resampled) == LW_OK);
        options.format = LW_S16;
        options.rate_out = 48000;
        options.live = 0;
        REQUIRE(lw_audio_stream_create(late, &options, &integers) == LW_OK);
        size_t alignment;
        REQUIRE(lw_audio_stream_size(late, &f32_filter, &size, &alignment) == LW_OK);
        REQUIRE(size <= sizeof memory);
        x[100] = x[101] = 3e38f;
    }
    ~Filters() {
        for (lw_audio_stream *stream : {host, resampled, integers}) lw_audio_stream_destroy(stream);
    }
    Filters(const Filters &) = delete;
    long work() {
        long seen = 0;
        for (size_t i = 0; i < 2000; ++i) {
            const size_t n = i % x.size();
            if (lw_audio_stream_process(host, x.data(), y, n) != LW_OK) return -1;
            if (lw_audio_stream_process(resampled, x.data(), y, n) != LW_OK) return -1;
            for (size_t done = 0, taken = 0, given = 0; done < n; done += taken) {
                if (lw_audio_stream_push(integers, s16 + done, n - done, &taken) != LW_OK) return -1;
                while (lw_audio_stream_pull(integers, heard, 500, &given) == LW_OK)
                    seen += static_cast<long>(given);
            }
            lw_audio_stream *in_place = nullptr; // without other rates
            if (lw_audio_stream_init(late, &f32_filter, memory, size, &in_place) != LW_OK) return -1;
            if (lw_audio_stream_push(in_place, y, n, nullptr) != LW_OK) return -1;
            lw_audio_stream_destroy(in_place);
            if (i % 50 != 0) continue;
            for (lw_audio_stream *stream : {host, resampled, integers}) {
                size_t given = 0;
                lw_audio_stream_info info = LW_AUDIO_STREAM_INFO_INIT;
                if (lw_audio_stream_finish(stream) != LW_OK ||
                    lw_audio_stream_push(stream, s16, 1, nullptr) != LW_WRONG_STATE)
                    return -1;
                while (lw_audio_stream_pull(stream, stream == integers ? static_cast<void *>(heard) : y, 500,
                                            &given) == LW_OK)
                    seen += static_cast<long>(given);
                if (lw_audio_stream_get_info(stream, &info) != LW_OK || info.given < info.taken) return -1;
                if (lw_audio_stream_reset(stream) != LW_OK) return -1;
            }
        }
        return seen;
    }
    const Model sum{summed_model()}, late{late_model({16000, 8, 4, 6, 4})};
    lw_audio_stream *host = nullptr, *resampled = nullptr, *integers = nullptr;
    size_t size = 0;
    alignas(64) uint8_t memory[1 << 15];
    std::vector<float> x = noise(700);
    float y[700] = {};
    int16_t s16[700] = {}, heard[500];
};

// Streams and spotters that run together, in every number that the kernels serve and between. Rows
// and events, or -1.
struct Together {
    Together() {
        REQUIRE(lw_batch_create(model, &batch) == LW_OK);
        for (size_t i = 0; i < n; ++i) {
            list[i] = streams[i];
            samples[i] = x.data();
            REQUIRE(lw_spotter_create(model, &f32_spotter, &spotters[i]) == LW_OK);
            REQUIRE(lw_speech_detector_create(speech, &f32_speech, &detectors[i]) == LW_OK);
        }
        REQUIRE(lw_batch_create(speech, &of_speech) == LW_OK);
    }
    ~Together() {
        for (lw_spotter *spotter : spotters) lw_spotter_destroy(spotter);
        for (lw_speech_detector *detector : detectors) lw_speech_detector_destroy(detector);
        lw_batch_destroy(batch);
        lw_batch_destroy(of_speech);
    }
    Together(const Together &) = delete;
    long work() {
        long seen = 0;
        lw_stream_row row{};
        row.struct_size = sizeof row;
        lw_spotter_event event{};
        event.struct_size = sizeof event;
        lw_speech_event spoken = LW_SPEECH_EVENT_INIT;
        for (size_t turn = 0; turn < 5000; ++turn) {
            const size_t members = 1 + turn % n;
            for (size_t i = 0; i < n; ++i) counts[i] = (turn + 3 * i) % 30;
            if (lw_batch_push(batch, list, members, samples, counts, taken) != LW_OK ||
                lw_batch_push_spotters(batch, spotters, members, samples, counts, taken) != LW_OK ||
                lw_batch_push_speech_detectors(of_speech, detectors, members, samples, counts, taken) !=
                    LW_OK)
                return -1;
            for (size_t i = 0; i < n; ++i) {
                while (lw_speech_detector_pull(detectors[i], &spoken) == LW_OK) ++seen;
                while (lw_stream_pull(list[i], &row) == LW_OK) seen += row.width;
                while (lw_spotter_pull(spotters[i], &event) == LW_OK) ++seen;
            }
            list[n] = list[0];
            if (lw_batch_push(batch, list, n + 1, samples, counts, taken) != LW_INVALID_ARGUMENT) return -1;
        }
        return seen;
    }
    static constexpr size_t n = 7;
    const Model model{together_model()};
    Stream streams[n] = {Stream(model), Stream(model), Stream(model), Stream(model),
                         Stream(model), Stream(model), Stream(model)};
    const Model speech{speech_model(1000, 4)};
    lw_batch *batch = nullptr, *of_speech = nullptr;
    lw_speech_detector *detectors[n] = {};
    lw_stream *list[n + 1] = {};
    lw_spotter *spotters[n] = {};
    const std::vector<float> x = noise(64);
    const void *samples[n + 1] = {};
    size_t counts[n + 1] = {}, taken[n + 1] = {};
};

// What they work on.
struct Subjects {
    Subjects() {
        REQUIRE(lw_spotter_create(words, &f32_spotter, &spotter) == LW_OK);
        lw_speech_detector_options options = f32_speech;
        options.min_speech_ms = options.min_silence_ms = 1;
        options.rows = options.auto_gain = 1;
        REQUIRE(lw_speech_detector_create(speech, &options, &detector) == LW_OK);
        for (size_t i = 0; i < 4; ++i) streams[i] = family_streams[i];
    }
    ~Subjects() {
        lw_spotter_destroy(spotter);
        lw_speech_detector_destroy(detector);
    }
    Subjects(const Subjects &) = delete;
    long work_on_all() {
        if (work_on_speech(detector, x.data(), x.size(), saved.data(), saved.size()) <= 0) return -1;
        return work(stream, other, spotter, x.data(), x.size(), saved.data(), saved.size());
    }
    long work_on_family() {
        return work_of_family(streams, 4, x.data(), x.size(), saved.data(), saved.size());
    }

    const Model model{begun_model()}, words{spotter_model()}, speech{speech_model(1000, 4)},
        family{blocks_model({{4, 1, 16, 48}, {4, 16, 48}})};
    Stream stream{model}, other{model},
        family_streams[4] = {Stream(family, LW_F32, 300, 0), Stream(family, LW_F32, 300, 1),
                             Stream(family, LW_F32, 300, 2), Stream(family, LW_F32, 300, 3)};
    lw_stream *streams[4] = {};
    lw_spotter *spotter = nullptr;
    lw_speech_detector *detector = nullptr;
    const std::vector<float> x = noise(64);
    std::vector<uint8_t> saved = std::vector<uint8_t>(1 << 16);
};

// `work` returns whether it did all that it was to do.
template <class Work> void stays_in_real_time(const Work &work) {
    bool done;
    long allocations, releases, locks;
    {
        faults::Scope scope;
        done = work();
        allocations = scope.count(faults::allocate);
        releases = scope.count(faults::release);
        locks = scope.count(faults::lock);
    }
    CHECK(done);
    CHECK(allocations == 0);
    CHECK(releases == 0);
    CHECK(locks == 0);
    const Verdict verdict = without_system_calls(work);
    if (verdict == Verdict::cannot_tell)
        MESSAGE("SKIPPED: this system does not let a process forbid itself system calls");
    else CHECK(verdict == Verdict::obeyed);
}

} // namespace

TEST_CASE("real time: no allocation, no lock") {
    Subjects subjects;
    long seen, entries, allocations, releases, locks;
    {
        faults::Scope scope;
        entries = subjects.work_on_family();
        seen = subjects.work_on_all();
        allocations = scope.count(faults::allocate);
        releases = scope.count(faults::release);
        locks = scope.count(faults::lock);
    }
    CHECK(seen > 0);
    CHECK(entries > 0);
    CHECK(allocations == 0);
    CHECK(releases == 0);
    CHECK(locks == 0);
}

TEST_CASE("real time: no system call") {
    Subjects subjects;
    const Verdict entries = without_system_calls([&] { return subjects.work_on_family() > 0; });
    CHECK((entries == Verdict::obeyed || entries == Verdict::cannot_tell));
    const Verdict verdict = without_system_calls([&] { return subjects.work_on_all() > 0; });
    if (verdict == Verdict::cannot_tell)
        MESSAGE("SKIPPED: this system does not let a process forbid itself system calls");
    else CHECK(verdict == Verdict::obeyed); // else killed by the first call it made
    // That the guard bites: the same process, one system call.
    const Verdict guilty = without_system_calls([] { return syscall(SYS_getpid) > 0; });
    CHECK((guilty == Verdict::killed || guilty == Verdict::cannot_tell));
}

TEST_CASE("real time: text is written without allocation, lock or system call") {
    Text text;
    stays_in_real_time([&] { return text.write() == 5000; });
}

TEST_CASE("real time: streams and spotters run together without allocation, lock or system call") {
    Together together;
    stays_in_real_time([&] { return together.work() > 0; });
}

TEST_CASE("real time: audio is resampled, and streams begin and end in place, without allocation, lock or "
          "system call") {
    InPlace in_place;
    stays_in_real_time([&] { return in_place.work() > 0; });
}

TEST_CASE("real time: audio becomes audio without allocation, lock or system call") {
    Filters filters;
    stays_in_real_time([&] { return filters.work() > 0; });
}

TEST_CASE("real time: denormals are flushed inside, and the caller's floating-point mode comes back") {
    const Model model(audio_model());
    Stream stream(model);
    const std::vector<float> tiny(64, 1e-40f);
#if defined(__x86_64__)
    const unsigned before = _mm_getcsr();
    _mm_setcsr(before | _MM_ROUND_UP);
    const unsigned mine = _mm_getcsr();
#endif
    size_t taken = 0;
    REQUIRE(lw_stream_push(stream, tiny.data(), tiny.size(), &taken) == LW_OK);
#if defined(__x86_64__)
    CHECK((_mm_getcsr() & 0xffc0) == (mine & 0xffc0));
    _mm_setcsr(before);
#endif
    Rows rows;
    pull_all(stream, &rows);
    for (float y : rows[0]) CHECK(y == 0);
}

} // namespace realtime_test
