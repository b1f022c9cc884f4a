// The state of a stream is one block: reset, copy, save and load are exact, and a loaded state is
// checked like any input.
#include "longwave/longwave.h"
#include "runtime/stream/memory.h"
#include "tests/support/options.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <random>

namespace state_test {

using namespace longwave::test;
using longwave::runtime::Life;
using longwave::runtime::QueuedRows;
using longwave::runtime::StreamState;

namespace {

constexpr size_t record = 64 + 32 + 8; // the audio model's fields, without the gaps between them

// What the stream gives from here on.
Rows rest(lw_stream *stream, const std::vector<float> &x) {
    Rows rows;
    lw_stream_row out{};
    out.struct_size = sizeof out;
    auto pull = [&] {
        lw_status status;
        while ((status = lw_stream_pull(stream, &out)) == LW_OK) {
            rows[out.index].push_back(static_cast<float>(out.row));
            rows[out.index].insert(rows[out.index].end(), out.data, out.data + out.width);
        }
        REQUIRE((status == LW_AGAIN || status == LW_END));
    };
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
        pull();
    }
    REQUIRE(lw_stream_finish(stream) == LW_OK);
    pull();
    return rows;
}

StreamState head_of(const std::vector<uint8_t> &bytes) {
    StreamState head;
    memcpy(&head, bytes.data(), sizeof head);
    return head;
}

// As earlier versions saved it: then changes of single values get beyond the checksum.
std::vector<uint8_t> without_checksum(std::vector<uint8_t> bytes) {
    StreamState head = head_of(bytes);
    head.checksum = 0;
    memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

} // namespace

TEST_CASE("state: reset equals a fresh stream") {
    const Model model(audio_model());
    Stream used(model), fresh(model);
    Rows ignored;
    push_all(used, noise(1003), &ignored);
    REQUIRE(lw_stream_reset(used) == LW_OK);
    CHECK(save(used) == save(fresh));
    CHECK(rest(used, noise(77, 2)) == rest(fresh, noise(77, 2)));
}

TEST_CASE("state: a field begins with numbers of the model, also after a reset, and a saved state does not") {
    const Model model(begun_model()), zeros(audio_model());
    Stream used(model), fresh(model), plain(zeros);
    Rows ignored;
    push_all(used, noise(1003), &ignored);
    const std::vector<uint8_t> saved = save(used);
    REQUIRE(lw_stream_reset(used) == LW_OK);
    CHECK(save(used) == save(fresh));
    Rows begun = rest(used, noise(77, 2)), from_zero = rest(plain, noise(77, 2));
    CHECK(begun == rest(fresh, noise(77, 2)));
    CHECK(begun[0] == from_zero[0]);
    REQUIRE(begun[1].size() == from_zero[1].size());
    for (size_t i = 0; i < begun[1].size(); ++i)
        if (i % 4 != 0)
            CHECK(begun[1][i] ==
                  doctest::Approx(from_zero[1][i] + 2.5f).epsilon(1e-6)); // 0: number of the row
    REQUIRE(lw_stream_load(fresh, saved.data(), saved.size()) == LW_OK);
    CHECK(save(fresh) == saved);
}

TEST_CASE("state: a copy or a saved and loaded stream goes on as the original, wherever it is cut") {
    const Model model(audio_model());
    const std::vector<float> tail = noise(61, 9);
    for (size_t n : {0, 1, 2, 3, 4, 5, 7, 8, 9, 30, 50}) {
        Stream original(model), copied(model), loaded(model);
        const std::vector<float> x = noise(n, 4);
        size_t taken = 0;
        // Rows still wait in the queue.
        REQUIRE(lw_stream_push(original, x.data(), x.size(), &taken) == LW_OK);
        REQUIRE(taken == n);
        Rows ignored;
        push_all(copied, noise(13, 5), &ignored); // something to overwrite
        REQUIRE(lw_stream_copy(copied, original) == LW_OK);
        const std::vector<uint8_t> bytes = save(original);
        REQUIRE(lw_stream_load(loaded, bytes.data(), bytes.size()) == LW_OK);
        CHECK(save(copied) == bytes);
        CHECK(save(loaded) == bytes);
        const Rows expected = rest(original, tail);
        CHECK(rest(copied, tail) == expected);
        CHECK(rest(loaded, tail) == expected);
    }
}

TEST_CASE("state: a finished stream can be saved before its last rows are pulled") {
    const Model model(timing_model({.delay = 3}));
    Stream original(model), loaded(model);
    const std::vector<float> x(10);
    REQUIRE(lw_stream_push(original, x.data(), x.size(), nullptr) == LW_OK);
    REQUIRE(lw_stream_finish(original) == LW_OK);
    lw_stream_row out{};
    out.struct_size = sizeof out;
    for (int i = 0; i < 8; ++i) REQUIRE(lw_stream_pull(original, &out) == LW_OK);
    const std::vector<uint8_t> bytes = save(original);
    REQUIRE(lw_stream_load(loaded, bytes.data(), bytes.size()) == LW_OK);
    for (lw_stream *stream : {static_cast<lw_stream *>(original), static_cast<lw_stream *>(loaded)}) {
        CHECK(lw_stream_pull(stream, &out) == LW_OK);
        CHECK(out.row == 8);
        CHECK(lw_stream_pull(stream, &out) == LW_OK);
        CHECK(lw_stream_pull(stream, &out) == LW_END);
    }
}

TEST_CASE("state: a model compiled for other CPUs takes the state, another model does not") {
    Draft same = audio_model();
    same.plan.producer = "another compiler";
    same.plan.variants.push_back(std::make_unique<longwave::fb::CodeVariantT>(*same.plan.variants[0]));
    Draft other = audio_model();
    other.segments[1].bytes[0] ^= 1;
    Draft other_layout = audio_model();
    other_layout.plan.state[1]->name = "z";
    const Model a(audio_model()), b(same), c(other), d(other_layout);
    Stream from(a), like(b), unlike(c), moved(d);
    Rows ignored;
    push_all(from, noise(21), &ignored);
    const std::vector<uint8_t> bytes = save(from);
    CHECK(lw_stream_load(like, bytes.data(), bytes.size()) == LW_OK);
    CHECK(rest(like, noise(9)) == rest(from, noise(9)));
    CHECK(lw_stream_load(unlike, bytes.data(), bytes.size()) == LW_BAD_STATE);
    CHECK(lw_stream_load(moved, bytes.data(), bytes.size()) == LW_BAD_STATE);
    CHECK(lw_stream_copy(unlike, from) == LW_BAD_STATE);
}

TEST_CASE("state: another computation over equal weights and an equal layout is another model") {
    Draft other = audio_model();
    other.plan.computation.assign(32, 9);
    const Model a(audio_model()), b(other);
    Stream from(a), to(b);
    Rows ignored;
    push_all(from, noise(21), &ignored);
    const std::vector<uint8_t> bytes = save(from), before = save(to);
    CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_BAD_STATE);
    CHECK(save(to) == before);
    CHECK(lw_stream_copy(to, from) == LW_BAD_STATE);
}

TEST_CASE("state: a bad saved state is refused and changes nothing") {
    const Model model(audio_model());
    Stream from(model), to(model);
    const std::vector<float> x = noise(22);
    REQUIRE(lw_stream_push(from, x.data(), x.size(), nullptr) == LW_OK);
    const std::vector<uint8_t> good = without_checksum(save(from)), before = save(to);
    auto refused = [&](const std::vector<uint8_t> &bytes) {
        const lw_status status = lw_stream_load(to, bytes.data(), bytes.size());
        CHECK(save(to) == before);
        return status == LW_BAD_STATE;
    };
    for (size_t n = 1; n < good.size(); ++n)
        CHECK(refused({good.begin(), good.begin() + static_cast<long>(n)}));
    std::vector<uint8_t> longer = good;
    longer.push_back(0);
    CHECK(refused(longer));
    auto with = [&](auto edit) {
        std::vector<uint8_t> bytes = good;
        StreamState head = head_of(bytes);
        edit(head);
        memcpy(bytes.data(), &head, sizeof head);
        return bytes;
    };
    CHECK(refused(with([](StreamState &s) { s.identity[0] ^= 1; })));
    CHECK(refused(with([](StreamState &s) { s.identity[31] ^= 1; })));
    const auto counters = [&](uint64_t ticks, uint64_t done, uint32_t pending, Life life = Life::open) {
        return with([&](StreamState &s) {
            s.ticks = ticks;
            s.done = done;
            s.pending = pending;
            s.life = life;
        });
    };
    REQUIRE(counters(22, 20, 2) == good);
    CHECK(refused(counters(25, 20, 5))); // more than a block
    CHECK(refused(counters(22, 20, 1)));
    CHECK(refused(counters(22, 20, 0xffffffff)));
    CHECK(refused(counters(23, 20, 2)));
    CHECK(refused(counters(23, 21, 2))); // within a block
    CHECK(refused(counters((1ull << 63) + 2, 1ull << 63, 2)));
    CHECK(refused(counters(22, 24, 0)));
    CHECK(refused(counters(22, 16, 2, Life::finished)));
    CHECK(refused(counters(22, 24, 2, Life::finished)));
    CHECK(refused(with([](StreamState &s) { s.life = Life::failed; })));
    CHECK(refused(with([](StreamState &s) { s.life = static_cast<Life>(99); })));
    for (auto counter : {&StreamState::runs, &StreamState::rows})
        for (uint32_t add : {1u, 0xffffffffu, 0x7fffffffu})
            CHECK(refused(with([&](StreamState &s) { s.*counter += add; })));
    CHECK(refused(with([](StreamState &s) { s.reserved[1] = 1; })));
    const size_t first_run = sizeof(StreamState) + record;
    const auto with_run = [&](auto change) {
        std::vector<uint8_t> bytes = good;
        QueuedRows run;
        memcpy(&run, bytes.data() + first_run, sizeof run);
        change(run);
        memcpy(bytes.data() + first_run, &run, sizeof run);
        return bytes;
    };
    CHECK(refused(with_run([](QueuedRows &run) { run.output = 2; }))); // is not there
    CHECK(refused(with_run([](QueuedRows &run) { run.width = 200; })));
    CHECK(refused(with_run([](QueuedRows &run) { run.rows += 1; })));
    CHECK(refused(with_run([](QueuedRows &run) { run.rows -= 1; })));
    CHECK(refused(with_run([](QueuedRows &run) { run.rows = 0; })));
    CHECK(refused(with_run([](QueuedRows &run) { run.row = ~uint64_t{0}; })));
    CHECK(refused(with_run([](QueuedRows &run) { run.reserved = 1; })));
    CHECK(lw_stream_load(to, good.data(), good.size()) == LW_OK);

    Stream small(model, LW_F32, 5);
    CHECK(lw_stream_load(small, good.data(), good.size()) == LW_BAD_STATE); // more rows wait than it can hold
}

TEST_CASE("state: token ids in a loaded state are checked, for they index tables") {
    const Model model(token_model());
    Stream from(model, LW_I32), to(model, LW_I32);
    const int32_t id = 4;
    REQUIRE(lw_stream_push(from, &id, 1, nullptr) == LW_OK);
    std::vector<uint8_t> bytes = without_checksum(save(from));
    CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_OK);
    const int32_t bad = 5;
    memcpy(bytes.data() + sizeof(StreamState), &bad, sizeof bad);
    CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_BAD_STATE);
}

TEST_CASE("state: any bytes behind a sound head are safe to run on") {
    const Model model(audio_model());
    Stream from(model), to(model);
    std::vector<uint8_t> bytes = without_checksum(save(from));
    std::mt19937 random(5);
    for (int i = 0; i < 200; ++i) {
        for (size_t at = sizeof(StreamState); at < bytes.size(); ++at)
            bytes[at] = static_cast<uint8_t>(random());
        StreamState head = head_of(bytes);
        head.done = ((uint64_t{random()} << 32 | random()) >> 4) * 4;
        head.pending = random() % 4;
        head.ticks = head.done + head.pending;
        memcpy(bytes.data(), &head, sizeof head);
        REQUIRE(lw_stream_load(to, bytes.data(), bytes.size()) == LW_OK);
        const std::vector<float> x = noise(33);
        lw_stream_row out{};
        out.struct_size = sizeof out;
        REQUIRE(lw_stream_push(to, x.data(), x.size(), nullptr) == LW_OK);
        while (lw_stream_pull(to, &out) == LW_OK) {
        }
    }
}

TEST_CASE("state: counters pass 2^31 and 2^32 without a seam") {
    const Model model(audio_model());
    const std::vector<float> x = noise(4000);
    for (uint64_t start :
         {(1ull << 31) - 500, (1ull << 32) - 500, (1ull << 32) / 4 - 500, (1ull << 40) - 500}) {
        Stream early(model), late(model);
        std::vector<uint8_t> bytes = without_checksum(save(late));
        StreamState head = head_of(bytes);
        head.done = head.ticks = start / 8 * 8 * 4; // the rings and the period of two start where they would
        memcpy(bytes.data(), &head, sizeof head);
        REQUIRE(lw_stream_load(late, bytes.data(), bytes.size()) == LW_OK);
        std::vector<float> a, b;
        lw_stream_row out{};
        out.struct_size = sizeof out;
        for (auto [stream, values] :
             {std::pair{static_cast<lw_stream *>(early), &a}, std::pair{static_cast<lw_stream *>(late), &b}})
            for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
                REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
                while (lw_stream_pull(stream, &out) == LW_OK)
                    values->insert(values->end(), out.data, out.data + out.width);
            }
        CHECK(a == b);
        CHECK(out.end > head.ticks);
    }
}

TEST_CASE("state: save says what it needs and refuses less") {
    const Model model(audio_model());
    Stream stream(model);
    size_t n = 0;
    REQUIRE(lw_stream_save(stream, nullptr, 0, &n) == LW_OK);
    CHECK(n == sizeof(StreamState) + record);
    std::vector<uint8_t> bytes(n - 1);
    CHECK(lw_stream_save(stream, bytes.data(), bytes.size(), &n) == LW_TOO_SMALL);
    CHECK(n == sizeof(StreamState) + record);
}

TEST_CASE("state: a stream in the caller's memory needs no allocation") {
    const Model model(audio_model());
    size_t size = 0, alignment = 0;
    REQUIRE(lw_stream_size(model, &f32_stream, &size, &alignment) == LW_OK);
    CHECK(alignment == 64);
    std::vector<uint8_t> memory(size + alignment);
    uint8_t *aligned =
        memory.data() + (alignment - reinterpret_cast<uintptr_t>(memory.data()) % alignment) % alignment;
    lw_stream *stream = nullptr;
    CHECK(lw_stream_init(model, &f32_stream, aligned, size - 1, &stream) == LW_TOO_SMALL);
    CHECK(lw_stream_init(model, &f32_stream, aligned + 4, size, &stream) == LW_INVALID_ARGUMENT);
    CHECK(lw_stream_init(model, &f32_stream, nullptr, size, &stream) == LW_INVALID_ARGUMENT);
    REQUIRE(lw_stream_init(model, &f32_stream, aligned, size, &stream) == LW_OK);
    Stream other(model);
    CHECK(rest(stream, noise(30)) == rest(other, noise(30)));
    lw_stream_destroy(stream);
    REQUIRE(lw_stream_init(model, &f32_stream, aligned, size, &stream) == LW_OK);
    lw_stream_destroy(stream);
}

} // namespace state_test
