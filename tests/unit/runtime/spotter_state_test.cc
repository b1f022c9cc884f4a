// A spotter that was saved, copied or lies in the caller's memory hears what it would have heard.
#include "longwave/spotter.h"
#include "tests/support/session.h"
#include "tests/support/spotter_options.h"
#include <doctest/doctest.h>
#include <memory>
#include <new>
#include <string>

namespace spotter_state_test {

using namespace longwave::test;

namespace {

using Spotter = std::unique_ptr<lw_spotter, void (*)(lw_spotter *)>;

Spotter made(const lw_model *model, const lw_spotter_options &options = f32_spotter) {
    lw_spotter *spotter = nullptr;
    REQUIRE_MESSAGE(lw_spotter_create(model, &options, &spotter) == LW_OK, lw_last_error());
    return {spotter, lw_spotter_destroy};
}

// `rows` rows of 10 samples: word (1 yes, 2 no) has probability p and silence the rest.
void say(std::vector<float> &x, int word, float p, int rows) {
    for (int i = 0; i < rows; ++i) {
        float row[10] = {1 - p};
        row[word] += p;
        x.insert(x.end(), row, row + 10);
    }
}

std::vector<float> words() {
    std::vector<float> x;
    say(x, 1, 0, 20);
    say(x, 1, 1, 8);
    say(x, 1, 0, 30);
    say(x, 2, 0.75f, 8);
    say(x, 2, 0, 10);
    return x;
}

struct Seen {
    std::string word;
    float score;
    uint64_t tick, tick_start, row;
    bool operator==(const Seen &) const = default;
};

void push(lw_spotter *spotter, const float *x, size_t n) {
    size_t taken = 0;
    REQUIRE(lw_spotter_push(spotter, x, n, &taken) == LW_OK);
    REQUIRE(taken == n);
}

void pull(lw_spotter *spotter, std::vector<Seen> &seen) {
    lw_spotter_event event{};
    event.struct_size = sizeof event;
    while (lw_spotter_pull(spotter, &event) == LW_OK)
        seen.push_back({event.word, event.score, event.tick, event.tick_start, event.row});
}

std::vector<Seen> rest(lw_spotter *spotter, const std::vector<float> &x, size_t from) {
    std::vector<Seen> seen;
    push(spotter, x.data() + from, x.size() - from);
    REQUIRE(lw_spotter_finish(spotter) == LW_OK);
    pull(spotter, seen);
    return seen;
}

std::vector<uint8_t> saved(const lw_spotter *spotter) {
    size_t n = 0;
    REQUIRE(lw_spotter_save(spotter, nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> state(n);
    CHECK(lw_spotter_save(spotter, state.data(), n - 1, &n) == LW_TOO_SMALL);
    REQUIRE(lw_spotter_save(spotter, state.data(), n, &n) == LW_OK);
    return state;
}

std::vector<Seen> heard_by_one(const lw_model *model) {
    const std::vector<Seen> all = rest(made(model).get(), words(), 0);
    REQUIRE(all.size() == 2);
    return all;
}

} // namespace

TEST_CASE("spotter: saved and loaded at any sample, in the middle of a word too, it gives the same events") {
    const Model model(spotter_model());
    const std::vector<float> x = words();
    const std::vector<Seen> expected = heard_by_one(model);
    for (size_t cut = 0; cut <= x.size(); cut += 3) {
        CAPTURE(cut);
        const Spotter first = made(model), second = made(model);
        push(first.get(), x.data(), cut); // events of the first part wait, and are saved too
        const std::vector<uint8_t> state = saved(first.get());
        push(second.get(), x.data(), 77);
        REQUIRE_MESSAGE(lw_spotter_load(second.get(), state.data(), state.size()) == LW_OK, lw_last_error());
        CHECK(saved(second.get()) == state);
        CHECK(rest(second.get(), x, cut) == expected);
    }
}

TEST_CASE("spotter: a copy goes on as the original, with its own thresholds") {
    const Model model(spotter_model());
    const std::vector<float> x = words();
    const Spotter from = made(model), to = made(model);
    push(from.get(), x.data(), 215); // in the first word
    REQUIRE(lw_spotter_copy(to.get(), from.get()) == LW_OK);
    CHECK(saved(to.get()) == saved(from.get()));
    CHECK(rest(to.get(), x, 215) == heard_by_one(model));
    lw_spotter_options strict = f32_spotter;
    strict.threshold = 0.9f;
    const Spotter other = made(model, strict);
    REQUIRE(lw_spotter_copy(other.get(), from.get()) == LW_OK);
    CHECK(rest(other.get(), x, 215).size() == 1); // "no" has 0.75
}

TEST_CASE("spotter: what was counted before a reset by itself is saved, and so are its ticks") {
    const Model model(spotter_model());
    std::vector<float> x = words();
    const Spotter first = made(model), second = made(model);
    push(first.get(), x.data(), 300);
    const std::vector<uint8_t> state = saved(first.get());
    REQUIRE(lw_spotter_load(second.get(), state.data(), state.size()) == LW_OK);
    lw_stream_stats a{}, b{};
    a.struct_size = b.struct_size = sizeof a;
    REQUIRE(lw_spotter_get_stats(first.get(), &a) == LW_OK);
    REQUIRE(lw_spotter_get_stats(second.get(), &b) == LW_OK);
    CHECK(a.ticks == b.ticks);
    CHECK(a.ticks == 300);
    const float *scores_a = nullptr, *scores_b = nullptr;
    uint32_t n = 0;
    REQUIRE(lw_spotter_scores(first.get(), &scores_a, &n) == LW_OK);
    REQUIRE(lw_spotter_scores(second.get(), &scores_b, &n) == LW_OK);
    CHECK(std::vector<float>(scores_a, scores_a + n) == std::vector<float>(scores_b, scores_b + n));
}

TEST_CASE("spotter: no damaged, foreign or short state is loaded, and none changes the spotter") {
    const Model model(spotter_model());
    const std::vector<float> x = words();
    const Spotter spotter = made(model);
    push(spotter.get(), x.data(), 333);
    const std::vector<uint8_t> state = saved(spotter.get());
    push(spotter.get(), x.data() + 333, 100);
    const std::vector<uint8_t> now = saved(spotter.get());
    for (size_t n = 0; n < state.size(); n += n < 64 ? 1 : 13)
        CHECK(lw_spotter_load(spotter.get(), state.data(), n) == LW_BAD_STATE);
    const Stream stream(model); // the state of a stream in this old format has no checksum
    Rows ignored;
    push_all(stream, std::vector<float>(x.begin(), x.begin() + 333), &ignored);
    pull_all(stream, &ignored);
    const size_t own = state.size() - save(stream).size();
    CHECK(own > 600);
    for (size_t at = 0; at < own; ++at) {
        CAPTURE(at);
        std::vector<uint8_t> damaged = state;
        damaged[at] ^= static_cast<uint8_t>(1 + at % 255);
        CHECK(lw_spotter_load(spotter.get(), damaged.data(), damaged.size()) == LW_BAD_STATE);
    }
    lw_spotter_options longer = f32_spotter;
    longer.smoothing_ms = 2000;
    const Spotter smooth = made(model, longer);
    CHECK(lw_spotter_load(smooth.get(), state.data(), state.size()) == LW_BAD_STATE);
    CHECK(lw_spotter_copy(smooth.get(), spotter.get()) == LW_BAD_STATE);
    const std::vector<uint8_t> of_stream = save(stream);
    CHECK(lw_spotter_load(spotter.get(), of_stream.data(), of_stream.size()) == LW_BAD_STATE);
    CHECK(saved(spotter.get()) == now);
    CHECK(lw_spotter_load(nullptr, state.data(), state.size()) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_load(spotter.get(), nullptr, state.size()) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_save(spotter.get(), nullptr, 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_copy(nullptr, spotter.get()) == LW_INVALID_ARGUMENT);
}

TEST_CASE("spotter: in the caller's memory it hears the same, and touches nothing beside it") {
    const Model model(spotter_model());
    size_t size = 0, alignment = 0;
    REQUIRE(lw_spotter_size(model, &f32_spotter, &size, &alignment) == LW_OK);
    REQUIRE(alignment > 0);
    const size_t room = size + 2 * alignment;
    const std::unique_ptr<uint8_t, void (*)(uint8_t *)> memory(
        static_cast<uint8_t *>(::operator new(room, std::align_val_t{alignment})),
        [](uint8_t *at) { ::operator delete(at, std::align_val_t{64}); });
    REQUIRE(alignment == 64);
    std::fill_n(memory.get(), room, uint8_t{0xa5});
    uint8_t *const at = memory.get() + alignment;
    lw_spotter *spotter = nullptr;
    CHECK(lw_spotter_init(model, &f32_spotter, at, size - 1, &spotter) == LW_TOO_SMALL);
    CHECK(lw_spotter_init(model, &f32_spotter, at + 8, size, &spotter) == LW_INVALID_ARGUMENT);
    CHECK(lw_spotter_init(model, &f32_spotter, nullptr, size, &spotter) == LW_INVALID_ARGUMENT);
    CHECK(spotter == nullptr);
    REQUIRE(lw_spotter_init(model, &f32_spotter, at, size, &spotter) == LW_OK);
    CHECK(reinterpret_cast<uint8_t *>(spotter) == at);
    CHECK(rest(spotter, words(), 0) == heard_by_one(model));
    lw_spotter_destroy(spotter); // frees nothing
    for (size_t i = 0; i < alignment; ++i) REQUIRE((memory.get()[i] == 0xa5 && at[size + i] == 0xa5));
}

} // namespace spotter_state_test
