// The trained language models of examples/text, written with in a real-time thread: no token
// allocates, locks or calls the system, and one behind 5,000 others is the same block of the same
// calls over as many bytes.
#include "longwave/generator.h"
#include "tests/conformance/keyword_model.h"
#include "tests/support/faults.h"
#include "tests/support/session.h"
#include "tests/support/system_calls.h"
#include <cmath>
#include <doctest/doctest.h>

namespace text_realtime_test {

using namespace longwave::test;

namespace {

constexpr const char *artifacts[] = {"text_chela_realtime.lw", "text_lightnet_realtime.lw"};

// A generator with every setting there is, on the stream of blocks of 1.
struct Text {
    explicit Text(const char *artifact) : model(open(artifact)), stream(model.get(), LW_I32) {
        static const int32_t never[] = {1, 2, 3};
        static const lw_stop_sequence stop = {never, 3};
        static const lw_logit_bias bias = {7, -1e30f};
        lw_generator_options options{};
        options.struct_size = sizeof options;
        options.temperature = 1;
        options.top_k = 100;
        options.top_p = 0.95f;
        options.min_p = 0.001f;
        options.repetition_penalty = 1.1f;
        options.log_probabilities = 1;
        options.stops = &stop;
        options.biases = &bias;
        options.n_stops = options.n_biases = 1;
        REQUIRE(lw_generator_create(stream, &options, &generator) == LW_OK);
        const std::string text = "It was a dark and stormy night; the rain fell in torrents, except at "
                                 "occasional intervals, when it was checked";
        const std::vector<int32_t> ids(text.begin(), text.end());
        REQUIRE(lw_generator_prompt(generator, ids.data(), ids.size()) == LW_OK);
    }
    ~Text() { lw_generator_destroy(generator); }
    Text(const Text &) = delete;

    static ModelHandle open(const char *artifact) {
        lw_open_options options{};
        options.struct_size = sizeof options;
        options.allow_unsigned_code = 1;
        lw_model *model = nullptr;
        REQUIRE_MESSAGE(lw_model_open(compiled(artifact).c_str(), &options, &model) == LW_OK,
                        lw_last_error());
        return {model, lw_model_close};
    }
    // Whether so many ids came, each with a finite logarithm of its probability.
    bool write(int tokens) {
        lw_generator_token token{};
        token.struct_size = sizeof token;
        for (int i = 0; i < tokens; ++i)
            if (lw_generator_next(generator, &token) != LW_OK || token.id < 0 || token.id > 255 ||
                !std::isfinite(token.log_probability))
                return false;
        return true;
    }
    size_t bytes() const {
        size_t size = 0;
        lw_generator_save(generator, nullptr, 0, &size);
        return size;
    }

    const ModelHandle model;
    Stream stream;
    lw_generator *generator = nullptr;
};

} // namespace

TEST_CASE("text models: a token takes no allocation, no lock and no system call") {
    for (const char *artifact : artifacts) {
        INFO(artifact);
        Text text(artifact);
        bool written;
        long allocations, releases, locks;
        {
            faults::Scope scope;
            written = text.write(500);
            allocations = scope.count(faults::allocate);
            releases = scope.count(faults::release);
            locks = scope.count(faults::lock);
        }
        CHECK(written);
        CHECK(allocations == 0);
        CHECK(releases == 0);
        CHECK(locks == 0);
        const Verdict verdict = without_system_calls([&] { return text.write(500); });
        if (verdict == Verdict::cannot_tell)
            MESSAGE("SKIPPED: this system does not let a process forbid itself system calls");
        else CHECK(verdict == Verdict::obeyed);
    }
}

TEST_CASE("text models: a token is one block whatever is behind it, and the state stays as large as it was") {
    for (const char *artifact : artifacts) {
        INFO(artifact);
        Text text(artifact);
        lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
        REQUIRE(lw_model_stream_entry(text.model.get(), 0, &entry) == LW_OK);
        CHECK(entry.block == 1);
        CHECK(entry.period == 1); // no block makes other calls than the next
        const size_t bytes = text.bytes();
        REQUIRE(bytes > 0);
        for (const int tokens : {100, 1000, 4000}) {
            const uint64_t blocks = stats_of(text.stream).blocks;
            REQUIRE(text.write(tokens));
            CHECK(stats_of(text.stream).blocks - blocks == static_cast<uint64_t>(tokens));
            CHECK(text.bytes() == bytes);
        }
    }
}

} // namespace text_realtime_test
