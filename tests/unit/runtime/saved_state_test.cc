// The saved form of a state by fields: another artifact of the model loads it, and every damage is
// reported.
#include "longwave/longwave.h"
#include "tests/support/named_state.h"
#include "tests/support/session.h"
#include <doctest/doctest.h>
#include <functional>
#include <random>

namespace saved_state_test {

using namespace longwave::test;
using namespace longwave::runtime;
using longwave::fb::StateKind;

namespace {

// Fields: the input's ring of 16 samples (the FIR reads 8 old ones), y's ring of 8 (its sum reads 4
// old ones), a carry of 8 bytes.
Draft audio() {
    Draft draft = named_state(audio_model(), audio_block, 8);
    draft.plan.state[1]->needs = 4;
    return draft;
}

std::vector<float> rest(lw_stream *stream, const std::vector<float> &x) {
    std::vector<float> values;
    lw_stream_row out{};
    out.struct_size = sizeof out;
    for (size_t done = 0, taken = 0; done < x.size(); done += taken) {
        REQUIRE(lw_stream_push(stream, x.data() + done, x.size() - done, &taken) == LW_OK);
        while (lw_stream_pull(stream, &out) == LW_OK)
            values.insert(values.end(), out.data, out.data + out.width);
    }
    return values;
}

std::vector<uint8_t> saved_at(const Model &model, size_t ticks) {
    Stream stream(model);
    const std::vector<float> x = noise(ticks, 4);
    REQUIRE(lw_stream_push(stream, x.data(), x.size(), nullptr) == LW_OK);
    return save(stream);
}

using Edit = std::function<void(std::vector<uint8_t> &)>;

// A change of the header, with a valid checksum.
template <class Change> Edit head(Change change) {
    return [change](std::vector<uint8_t> &bytes) {
        SavedState head;
        memcpy(&head, bytes.data(), sizeof head);
        change(head);
        memcpy(bytes.data(), &head, sizeof head);
        seal(bytes);
    };
}

// Where field `n` begins.
size_t field_at(const std::vector<uint8_t> &bytes, int n) {
    size_t at = sizeof(SavedState);
    for (SavedField field; n-- > 0;) {
        memcpy(&field, bytes.data() + at, sizeof field);
        at += sizeof field + (field.layer_bytes + field.name_bytes + 7u) / 8 * 8 + (field.bytes + 7) / 8 * 8;
    }
    return at;
}

template <class Change> Edit field(int n, Change change) {
    return [n, change](std::vector<uint8_t> &bytes) {
        SavedField field;
        memcpy(&field, bytes.data() + field_at(bytes, n), sizeof field);
        change(field);
        memcpy(bytes.data() + field_at(bytes, n), &field, sizeof field);
        seal(bytes);
    };
}

void remove_field(std::vector<uint8_t> &bytes, int n) {
    const auto begin = bytes.begin();
    bytes.erase(begin + static_cast<long>(field_at(bytes, n)),
                begin + static_cast<long>(field_at(bytes, n + 1)));
    head([](SavedState &s) { s.fields--; })(bytes);
}

// Another field of 4 samples, before all others.
void insert_field(std::vector<uint8_t> &bytes) {
    std::vector<uint8_t> field(sizeof(SavedField) + 8 + 16);
    const SavedField other{.bytes = 16,
                           .layer_bytes = 1,
                           .name_bytes = 1,
                           .rank = 2,
                           .kind = StateKind::history,
                           .elem = longwave::fb::Elem::f32,
                           .dims = {4, 1}};
    memcpy(field.data(), &other, sizeof other);
    memcpy(field.data() + sizeof other, "!!", 2);
    bytes.insert(bytes.begin() + sizeof(SavedState), field.begin(), field.end());
    head([](SavedState &s) { s.fields++; })(bytes);
}

} // namespace

TEST_CASE("saved state: a loaded stream continues with the same bits, wherever it is cut") {
    const Model model(audio());
    const std::vector<float> tail = noise(61, 9);
    for (size_t n : {0, 1, 3, 4, 5, 8, 9, 16, 30, 50}) {
        Stream original(model), loaded(model);
        const std::vector<float> x = noise(n, 4);
        REQUIRE(lw_stream_push(original, x.data(), x.size(), nullptr) == LW_OK); // rows wait in the queue
        (void)rest(loaded, noise(13, 5));                                        // something to overwrite
        const std::vector<uint8_t> bytes = save(original);
        REQUIRE(lw_stream_load(loaded, bytes.data(), bytes.size()) == LW_OK);
        CHECK(save(loaded) == bytes);
        CHECK(rest(loaded, tail) == rest(original, tail));
    }
}

TEST_CASE("saved state: an artifact that keeps other rows, with other segments, takes it") {
    Draft shorter = audio();
    shorter.plan.state[0]->keeps = 8;
    shorter.plan.producer = "another compiler";
    const Model a(audio()), b(shorter);
    for (auto [from, to] : {std::pair{&a, &b}, {&b, &a}})
        for (size_t n : {5, 21, 50}) {
            const std::vector<uint8_t> bytes = saved_at(*from, n);
            Stream like(*from), other(*to);
            REQUIRE(lw_stream_load(like, bytes.data(), bytes.size()) == LW_OK);
            REQUIRE(lw_stream_load(other, bytes.data(), bytes.size()) == LW_OK);
            CHECK(rest(other, noise(40, 2)) == rest(like, noise(40, 2)));
        }
}

TEST_CASE("saved state: a bad one is rejected with its reason and changes nothing") {
    const Model model(audio());
    const std::vector<uint8_t> good = saved_at(model, 22);
    Stream to(model);
    const std::vector<uint8_t> before = save(to);
    const struct {
        const char *reason;
        Edit edit;
    } cases[] = {
        {"not a saved state", head([](SavedState &s) { s.magic[0] = 'X'; })},
        {"form 2", head([](SavedState &s) { s.version = 2; })},
        {"checksum", [](std::vector<uint8_t> &bytes) { bytes[sizeof(SavedState) + 60] ^= 1; }},
        {"too long", [](std::vector<uint8_t> &bytes) { bytes.push_back(0); }},
        {"schema 9, and the model has 1", head([](SavedState &s) { s.schema = 9; })},
        {"another model", head([](SavedState &s) { s.model[0] ^= 1; })},
        {"--weights", head([](SavedState &s) { s.weights[31] ^= 1; })},
        {"reserved", head([](SavedState &s) { s.reserved = 1; })},
        {"within a block", head([](SavedState &s) { s.done = 21, s.ticks = 23; })},
        {"than a block takes", head([](SavedState &s) { s.pending = 5, s.ticks = 25; })},
        {"contradict", head([](SavedState &s) { s.ticks = 23; })},
        {"out of range", head([](SavedState &s) { s.life = Life::failed; })},
        {"too short", head([](SavedState &s) { s.fields = 1000; })},
        {"fits no output", head([](SavedState &s) { s.runs += 1, s.rows += 1, s.runs -= 1; })},
        {"another type or shape: layer 0", field(0, [](SavedField &f) { f.dims[1] = 2; })},
        {"another type or shape: layer 1", field(1, [](SavedField &f) { f.kind = StateKind::carry; })},
        {"another type or shape: layer 2", field(2, [](SavedField &f) { f.elem = longwave::fb::Elem::f32; })},
        {"another type or shape: layer 0", field(0, [](SavedField &f) { f.dims[0] -= 1; })},
        {"too short", field(2, [](SavedField &f) { f.bytes = ~0ull; })},
        {"missing: layer 0", [](std::vector<uint8_t> &bytes) { remove_field(bytes, 0); }},
        {"missing: layer 2", [](std::vector<uint8_t> &bytes) { remove_field(bytes, 2); }},
        {"too few rows; compile with the same --blocks or --window: layer 0",
         field(0, [](SavedField &f) { f.dims[0] = 7, f.bytes = 28; })},
    };
    for (const auto &c : cases) {
        INFO(c.reason);
        std::vector<uint8_t> bytes = good;
        c.edit(bytes);
        CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_BAD_STATE);
        CHECK_MESSAGE(std::string(lw_last_error()).find(c.reason) != std::string::npos, lw_last_error());
        CHECK(save(to) == before);
    }
    for (size_t n = 1; n < good.size(); ++n) {
        std::vector<uint8_t> bytes(good.begin(), good.begin() + static_cast<long>(n));
        if (n >= sizeof(SavedState)) seal(bytes);
        CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_BAD_STATE);
        CHECK(save(to) == before);
    }
    CHECK(lw_stream_load(to, good.data(), good.size()) == LW_OK);
}

TEST_CASE("saved state: a field that this artifact does not have is skipped") {
    const Model model(audio());
    std::vector<uint8_t> bytes = saved_at(model, 22);
    Stream like(model), other(model);
    REQUIRE(lw_stream_load(like, bytes.data(), bytes.size()) == LW_OK);
    insert_field(bytes);
    REQUIRE(lw_stream_load(other, bytes.data(), bytes.size()) == LW_OK);
    CHECK(save(other) == save(like));
}

TEST_CASE("saved state: token ids are checked, for they index tables") {
    const Model model(named_state(token_model(), 1, 1));
    Stream from(model, LW_I32), to(model, LW_I32);
    const int32_t ids[] = {4, 3, 2};
    REQUIRE(lw_stream_push(from, ids, 3, nullptr) == LW_OK);
    std::vector<uint8_t> good = save(from);
    CHECK(lw_stream_load(to, good.data(), good.size()) == LW_OK);
    const size_t history = field_at(good, 1) - 8, pending = field_at(good, 1);
    for (const size_t at : {history, pending}) {
        std::vector<uint8_t> bytes = good;
        const int32_t bad = 5;
        memcpy(bytes.data() + at, &bad, sizeof bad);
        seal(bytes);
        CHECK(lw_stream_load(to, bytes.data(), bytes.size()) == LW_BAD_STATE);
        CHECK(std::string(lw_last_error()).find("vocabulary") != std::string::npos);
    }
}

TEST_CASE("saved state: any values in sound fields are safe to run on, at any tick") {
    const Model model(audio());
    const std::vector<uint8_t> good = saved_at(model, 0);
    Stream to(model);
    std::mt19937 random(5);
    for (int i = 0; i < 200; ++i) {
        std::vector<uint8_t> bytes = good;
        for (int n = 0; n < 3; n++)
            for (size_t at = field_at(bytes, n) + sizeof(SavedField) + 8; at < field_at(bytes, n + 1); ++at)
                bytes[at] = static_cast<uint8_t>(random());
        head([&](SavedState &s) { s.done = s.ticks = ((uint64_t{random()} << 32 | random()) >> 4) * 4; })(
            bytes);
        REQUIRE(lw_stream_load(to, bytes.data(), bytes.size()) == LW_OK);
        (void)rest(to, noise(33));
    }
}

TEST_CASE("saved state: the form of an artifact before format 2.4 is another one, in both directions") {
    const Model older(audio_model()), newer(audio());
    Stream a(older), b(newer);
    const std::vector<uint8_t> of_older = saved_at(older, 22), of_newer = saved_at(newer, 22);
    CHECK(lw_stream_load(b, of_older.data(), of_older.size()) == LW_BAD_STATE);
    CHECK(std::string(lw_last_error()).find("before 2.4") != std::string::npos);
    CHECK(lw_stream_load(a, of_newer.data(), of_newer.size()) == LW_BAD_STATE);
    CHECK(lw_stream_load(a, of_older.data(), of_older.size()) == LW_OK);
    CHECK(lw_stream_load(b, of_newer.data(), of_newer.size()) == LW_OK);
}

namespace {

// Every bit is turned once. None of the states loads, and the stream stays as it was.
void check_every_bit(const Model &model, lw_sample_format format, const std::vector<uint8_t> &good) {
    Stream to(model, format);
    const std::vector<uint8_t> before = save(to);
    REQUIRE(lw_stream_load(to, good.data(), good.size()) == LW_OK);
    CHECK(stats_of(to).unchecked_state == 0);
    REQUIRE(lw_stream_reset(to) == LW_OK);
    std::vector<uint8_t> bytes = good;
    size_t loaded = 0;
    for (size_t bit = 0; bit < 8 * good.size(); ++bit) {
        bytes[bit / 8] ^= static_cast<uint8_t>(1 << bit % 8);
        loaded += lw_stream_load(to, bytes.data(), bytes.size()) != LW_BAD_STATE;
        bytes[bit / 8] = good[bit / 8];
    }
    CHECK(loaded == 0);
    CHECK(save(to) == before);
}

std::vector<uint8_t> after_noise(const Model &model, size_t ticks) {
    Stream from(model);
    const std::vector<float> x = noise(ticks, 4);
    REQUIRE(lw_stream_push(from, x.data(), x.size(), nullptr) == LW_OK);
    return save(from);
}

} // namespace

TEST_CASE(
    "saved state: every single bit that is turned is noticed, in both forms, also in a spotter's stream") {
    const Model named(audio()), layout(audio_model()), spotter(spotter_model());
    for (const Model *model : {&named, &layout, &spotter})
        check_every_bit(*model, LW_F32, after_noise(*model, 22));
    const Model tokens(named_state(token_model(), 1, 1));
    Stream from(tokens, LW_I32);
    const int32_t ids[] = {4, 3, 2};
    REQUIRE(lw_stream_push(from, ids, 3, nullptr) == LW_OK);
    check_every_bit(tokens, LW_I32, save(from));
}

TEST_CASE("saved state: one of an earlier version, without a checksum, loads and the caller can see it") {
    const Model model(audio_model());
    std::vector<uint8_t> old = after_noise(model, 22);
    const std::vector<uint8_t> good = old;
    memset(old.data() + offsetof(StreamState, checksum), 0, sizeof(uint64_t));
    Stream to(model), copy(model);
    REQUIRE(lw_stream_load(to, old.data(), old.size()) == LW_OK);
    CHECK(stats_of(to).unchecked_state == 1);
    REQUIRE(lw_stream_copy(copy, to) == LW_OK);
    CHECK(stats_of(copy).unchecked_state == 1);
    CHECK(save(to) == good); // with a checksum from now on
    REQUIRE(lw_stream_load(copy, good.data(), good.size()) == LW_OK);
    CHECK(stats_of(copy).unchecked_state == 0);
    REQUIRE(lw_stream_reset(to) == LW_OK);
    CHECK(stats_of(to).unchecked_state == 0);
}

} // namespace saved_state_test
