// The k-th allocation and the k-th thread fail in the life of everything that the libraries make,
// for every k: a status, nothing leaked, what was there before goes on as if nothing had happened.
#include "longwave/spotter.h"
#include "tests/faults/each_malloc.h"
#include "tests/support/failing_allocator.h"
#include "tests/support/faults.h"
#include "tests/support/text_session.h"
#include "tests/support/tiny_text.h"
#include <algorithm>
#include <cerrno>
#include <doctest/doctest.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <new>
#include <stdexcept>
#include <unistd.h>

namespace library_test {

using namespace longwave;
using namespace longwave::test;

namespace {

lw_open_options trusting(const lw_allocator *allocator = nullptr) {
    lw_open_options options{};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.allocator = allocator;
    return options;
}

// A life from its first call to its last, in memory from the allocator (null: malloc). The first
// failure.
using LifeOf = std::function<lw_status(const lw_allocator *)>;

// Every k, once and for good, through the caller's hooks.
void fail_each_hook(const LifeOf &life, long least) {
    FailingAllocator counting;
    REQUIRE(life(&counting.allocator) == LW_OK);
    CHECK(counting.live.empty());
    CHECK(counting.calls >= least);
    for (const bool for_good : {false, true})
        for (long k = 0; k < counting.calls; ++k) {
            CAPTURE(k);
            FailingAllocator hooks;
            hooks.fail_at = k;
            hooks.for_good = for_good;
            CHECK(life(&hooks.allocator) == LW_NO_MEMORY);
            CHECK(hooks.live.empty());
        }
}

lw_status generate(const std::vector<uint8_t> &bytes, const lw_allocator *allocator) {
    const lw_open_options open = trusting(allocator);
    lw_model *model = nullptr;
    lw_stream *stream = nullptr, *other = nullptr;
    lw_generator *generator = nullptr;
    lw_status status = lw_model_open_memory(bytes.data(), bytes.size(), &open, &model);
    lw_stream_options stream_options{};
    stream_options.struct_size = sizeof stream_options;
    stream_options.format = LW_I32;
    for (lw_stream **one : {&stream, &other})
        if (status == LW_OK) status = lw_stream_create(model, &stream_options, one);
    const int32_t stop[] = {'x', 'y'}, prompt[] = {'q', 'r'};
    const lw_stop_sequence stops[] = {{stop, 2}};
    const lw_logit_bias biases[] = {{'z', 1}};
    lw_generator_options options{};
    options.struct_size = sizeof options;
    options.temperature = 1;
    options.top_p = 0.9f;
    options.repetition_penalty = 1.1f;
    options.stops = stops;
    options.n_stops = 1;
    options.biases = biases;
    options.n_biases = 1;
    if (status == LW_OK) status = lw_generator_create(stream, &options, &generator);
    if (status == LW_OK) status = lw_generator_prompt(generator, prompt, 2);
    lw_generator_token token{};
    token.struct_size = sizeof token;
    if (status == LW_OK) status = lw_generator_next(generator, &token);
    if (status == LW_OK) status = lw_stream_copy(other, stream);
    lw_generator_destroy(generator);
    lw_stream_destroy(other);
    lw_stream_destroy(stream);
    lw_model_close(model);
    return status;
}

struct File {
    explicit File(const std::vector<uint8_t> &bytes) {
        const int file = mkstemp(path);
        REQUIRE(::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()));
        close(file);
    }
    ~File() { unlink(path); }
    char path[32] = "/tmp/longwave-library-XXXXXX";
};

// Runs with 4 threads, one sequence and three at once, of a file that stays mapped.
lw_status run(const char *path, const lw_allocator *allocator) {
    lw_open_options open = trusting(allocator);
    open.map_weights = 1;
    lw_model *model = nullptr;
    lw_runner *runner = nullptr;
    lw_status status = lw_model_open(path, &open, &model);
    lw_runner_options options{};
    options.struct_size = sizeof options;
    options.format = LW_F32;
    options.threads = 4;
    options.sequences = 3;
    if (status == LW_OK) status = lw_runner_create(model, &options, &runner);
    std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8};
    float y[3][8], mean[3];
    std::vector<lw_run_tensor> in(3, lw_run_tensor{sizeof(lw_run_tensor), x.data(), 8, 0}), out;
    for (int s = 0; s < 3; ++s) {
        out.push_back({sizeof(lw_run_tensor), y[s], 8, 0});
        out.push_back({sizeof(lw_run_tensor), &mean[s], 1, 0});
    }
    if (status == LW_OK) status = lw_run(runner, in.data(), 1, out.data(), 2);
    if (status == LW_OK) status = lw_run_batch(runner, 3, in.data(), 1, out.data(), 2);
    lw_runner_destroy(runner);
    lw_model_close(model);
    return status;
}

} // namespace

TEST_CASE("faults: every allocation of a generator, its model and its streams") {
    const std::vector<uint8_t> bytes = bigram_model(alphabet()).bytes();
    fail_each_hook([&](const lw_allocator *allocator) { return generate(bytes, allocator); }, 5);
    fail_each_malloc([&] { return generate(bytes, nullptr); }, 5);
}

TEST_CASE("faults: every allocation of a run with threads on a mapped file") {
    const File file(audio_model().bytes());
    fail_each_hook([&](const lw_allocator *allocator) { return run(file.path, allocator); }, 4);
}

TEST_CASE(
    "faults: a thread that the system does not give is a status, none stays, and the next runner works") {
    const File file(audio_model().bytes());
    long threads = 0;
    {
        faults::Scope scope;
        const lw_status status = run(file.path, nullptr);
        threads = scope.count(faults::thread);
        REQUIRE(status == LW_OK);
    }
    CHECK(threads == 3);
    for (long k = 0; k < threads; ++k) {
        FailingAllocator hooks;
        lw_status status;
        {
            faults::Scope scope;
            scope.fail(faults::thread, k, EAGAIN);
            status = run(file.path, &hooks.allocator);
        }
        CHECK(status == LW_NO_MEMORY);
        CHECK(std::string(lw_last_error()).find("3 more threads") != std::string::npos);
        CHECK(hooks.live.empty());
        CHECK(run(file.path, nullptr) == LW_OK);
    }
}

TEST_CASE(
    "faults: every system call of open: a status that fits, nothing leaked, and an interruption is none") {
    const File file(audio_model().bytes());
    struct Row {
        faults::Call call;
        int error;
        std::vector<lw_status> endings;
    };
    const Row rows[] = {{faults::open, EACCES, {LW_IO}},
                        {faults::open, EMFILE, {LW_IO}},
                        {faults::open, EINTR, {LW_OK}},
                        {faults::read, EIO, {LW_IO}},
                        {faults::read, EINTR, {LW_OK}},
                        {faults::map, ENOMEM, {LW_NO_MEMORY, LW_IO}}, // of code, of the file
                        {faults::protect, ENOMEM, {LW_DEVICE}},
                        {faults::protect, EACCES, {LW_DEVICE}}};
    for (const int mapped : {0, 1})
        for (const Row &row : rows) {
            const auto opened = [&](long k, long *calls) {
                FailingAllocator hooks;
                lw_open_options options = trusting(&hooks.allocator);
                options.map_weights = mapped;
                lw_model *model = nullptr;
                lw_status status;
                {
                    faults::Scope scope;
                    if (k >= 0) scope.fail(row.call, k, row.error);
                    status = lw_model_open(file.path, &options, &model);
                    *calls = scope.count(row.call);
                }
                CHECK((status == LW_OK) == (model != nullptr));
                lw_model_close(model);
                CHECK(hooks.live.empty());
                return status;
            };
            long calls = 0, ignored = 0;
            REQUIRE(opened(-1, &calls) == LW_OK);
            CHECK(calls > 0);
            for (long k = 0; k < calls; ++k) {
                const lw_status status = opened(k, &ignored);
                CAPTURE(row.call);
                CAPTURE(k);
                CHECK(std::count(row.endings.begin(), row.endings.end(), status) == 1);
            }
        }
}

TEST_CASE("faults: every allocation of writing an artifact: the old file or the new one, and nothing else") {
    char folder[] = "/tmp/longwave-faults-XXXXXX";
    REQUIRE(mkdtemp(folder));
    const std::string path = folder + std::string("/model.lw");
    const std::vector<uint8_t> before = {'o', 'l', 'd'};
    const Draft draft = audio_model();
    const std::vector<uint8_t> after = draft.bytes();
    // Returns whether a lack of memory was told, by a status or an exception. Nothing is leaked.
    const auto write = [&](long k, long *calls) {
        bool told = false;
        faults::Scope scope;
        if (k >= 0) scope.fail(faults::allocate, k, ENOMEM);
        try {
            const auto bytes = artifact::write(draft.plan, draft.segments);
            told = !bytes || !artifact::write_file_atomically(path, *bytes);
        } catch (const std::bad_alloc &) {
            told = true;
        }
        *calls = scope.count(faults::allocate);
        return scope.live() == 0 ? told : throw std::runtime_error("leaked");
    };
    long calls = 0, ignored = 0;
    REQUIRE(!write(-1, &calls));
    CHECK(calls > 100);
    for (long k = 0; k < calls; ++k) {
        CAPTURE(k);
        REQUIRE(artifact::write_file_atomically(path, before));
        const bool told = write(k, &ignored);
        std::ifstream file(path, std::ios::binary);
        const std::vector<uint8_t> now{std::istreambuf_iterator<char>(file), {}};
        CHECK((now == after || (told && now == before)));
        CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
    }
    std::filesystem::remove_all(folder);
}

} // namespace library_test
