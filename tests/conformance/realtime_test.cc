// The shipped keyword model in a real-time thread: after create nothing allocates, locks or calls
// the system, whatever the samples are.
#include "formats/audio/audio.h"
#include "longwave/spotter.h"
#include "tests/conformance/keyword_model.h"
#include "tests/support/faults.h"
#include "tests/support/session.h"
#include "tests/support/spotter_options.h"
#include "tests/support/system_calls.h"
#include <cmath>
#include <cstdio>
#include <doctest/doctest.h>
#include <limits>

namespace realtime_test {

using namespace longwave::test;

namespace {

// The demonstration recording, its words left as they are, with every kind of bad sample strewn
// between and a tail that decays through the subnormals.
std::vector<float> recording() {
    longwave::audio::Options options;
    options.sample_rate = rate;
    auto audio = longwave::audio::read("examples/kws/demo.wav", options);
    REQUIRE(audio);
    std::vector<float> x = std::move(audio->samples);
    const float inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const float bad[] = {1e-40f, -1e-42f, 1.4e-45f, nan, -nan, inf, -inf};
    for (size_t at = 1000; at + 21 < x.size(); at += 4000)
        for (size_t i = 0; i < 21; i++) x[at + i] = bad[i % 7];
    for (size_t i = 0; i < rate; i++)
        x.push_back(static_cast<float>(0.1 * std::pow(1e-45, static_cast<double>(i) / rate)));
    return x;
}

struct Work {
    lw_stream *stream, *other;
    lw_spotter *spotter;
    const std::vector<float> *x;
    std::vector<uint8_t> *saved;
    long rows = 0, events = 0;

    bool pull(lw_stream *from) {
        lw_stream_row out{};
        out.struct_size = sizeof out;
        while (lw_stream_pull(from, &out) == LW_OK) {
            rows++;
            for (uint32_t i = 0; i < out.width; i++)
                if (!std::isfinite(out.data[i])) return false;
        }
        return true;
    }

    // Everything a real-time thread may call, over the recording in pushes of all sizes up to a
    // thousand samples.
    bool operator()() {
        lw_spotter_event event{};
        event.struct_size = sizeof event;
        size_t taken = 0, n = 1;
        for (size_t at = 0; at < x->size(); at += n) {
            n = std::min(1 + (at * 7) % 1000, x->size() - at);
            if (lw_stream_push(stream, x->data() + at, n, &taken) != LW_OK || taken != n || !pull(stream))
                return false;
            if (lw_spotter_push(spotter, x->data() + at, n, &taken) != LW_OK || taken != n) return false;
            while (lw_spotter_pull(spotter, &event) == LW_OK) events++;
            if (at % 13 != 0) continue;
            size_t bytes = 0;
            if (lw_stream_copy(other, stream) != LW_OK ||
                lw_stream_save(stream, saved->data(), saved->size(), &bytes) != LW_OK)
                return false;
            if (lw_stream_load(other, saved->data(), bytes) != LW_OK || lw_stream_finish(other) != LW_OK ||
                !pull(other))
                return false;
            if (lw_stream_push(other, x->data(), 1, &taken) != LW_WRONG_STATE || lw_last_error()[0] == 0)
                return false; // failing is real-time too
            if (lw_stream_reset(other) != LW_OK || lw_stream_prefill(other, x->data() + at, n) != LW_OK)
                return false;
        }
        if (lw_spotter_finish(spotter) != LW_OK) return false;
        while (lw_spotter_pull(spotter, &event) == LW_OK) events++;
        return lw_spotter_reset(spotter) == LW_OK && lw_stream_reset(stream) == LW_OK;
    }
};

} // namespace

TEST_CASE("keyword model: no allocation, lock or system call while it listens to sound, NaN, infinity and "
          "subnormals") {
    const std::string artifact = compiled("kws.lw");
    const std::vector<float> x = recording();
    for (const char *variant : variants) {
        const ModelHandle model = open_variant(artifact, variant);
        if (!model) continue;
        INFO(variant);
        Stream stream(model.get()), other(model.get());
        lw_spotter *spotter = nullptr;
        REQUIRE(lw_spotter_create(model.get(), &f32_spotter, &spotter) == LW_OK);
        const size_t pending = 320 * sizeof(float); // a saved state also has the input of an incomplete block
        std::vector<uint8_t> saved(save(stream).size() + pending);
        Work work{stream, other, spotter, &x, &saved};
        bool done;
        long allocations, releases, locks;
        {
            faults::Scope scope;
            done = work();
            allocations = scope.count(faults::allocate), releases = scope.count(faults::release),
            locks = scope.count(faults::lock);
        }
        CHECK(done); // every call succeeded and every output is finite
        CHECK(work.events > 0);
        CHECK(allocations == 0);
        CHECK(releases == 0);
        CHECK(locks == 0);
        std::printf("%-9s  %.0f s of audio: %ld rows, %ld words; %ld allocations, %ld releases, %ld locks, ",
                    variant, static_cast<double>(x.size()) / rate, work.rows, work.events, allocations,
                    releases, locks);
        const Verdict verdict = without_system_calls([&] { return work(); });
        if (verdict == Verdict::cannot_tell) {
            std::printf("\n");
            MESSAGE("SKIPPED: this system does not let a process forbid itself system calls");
        } else {
            CHECK(verdict == Verdict::obeyed);
            std::printf("%s\n", verdict == Verdict::obeyed ? "no system call" : "SYSTEM CALLS or failures");
        }
        lw_spotter_destroy(spotter);
    }
}

TEST_CASE("keyword model: samples that are no numbers count as silence, and are counted") {
    const ModelHandle model = open_variant(compiled("kws.lw"), nullptr);
    REQUIRE(model);
    std::vector<float> x = Talk(4).next(4 * rate), silent = x;
    for (size_t i = 500; i < x.size(); i += 700) {
        x[i] = i % 2 ? std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
        silent[i] = 0;
    }
    CHECK(stream_in_cuts(model.get(), x, {777}) == stream_in_cuts(model.get(), silent, {777}));
    Stream stream(model.get());
    Rows rows;
    push_all(stream, x, &rows);
    lw_stream_stats stats{};
    stats.struct_size = sizeof stats;
    REQUIRE(lw_stream_get_stats(stream, &stats) == LW_OK);
    CHECK(stats.non_finite == (x.size() - 500 + 699) / 700);
}

} // namespace realtime_test
