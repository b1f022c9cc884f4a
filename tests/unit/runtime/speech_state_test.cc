// A speech detector that was saved, copied or lies in the caller's memory hears what it would have
// heard.
#include "tests/support/speech_session.h"
#include <new>

namespace speech_state_test {

using namespace longwave::test;

namespace {

constexpr size_t hop = 16; // 1 ms

std::vector<float> talk() {
    return speech(
        {{100, 0}, {400, 1}, {110, 0}, {300, 0.9f}, {40, 0.4f}, {130, 0.1f}, {280, 0.8f}, {150, 0}, {90, 1}},
        hop);
}

std::vector<SpeechSeen> rest(lw_speech_detector *of, const std::vector<float> &x, size_t from) {
    std::vector<SpeechSeen> seen;
    hear(of, x.data() + from, x.size() - from, SIZE_MAX, seen);
    REQUIRE(lw_speech_detector_finish(of) == LW_OK);
    REQUIRE(pull(of, seen) == LW_END);
    return seen;
}

std::vector<uint8_t> saved(const lw_speech_detector *of) {
    size_t n = 0;
    REQUIRE(lw_speech_detector_save(of, nullptr, 0, &n) == LW_OK);
    std::vector<uint8_t> state(n);
    CHECK(lw_speech_detector_save(of, state.data(), n - 1, &n) == LW_TOO_SMALL);
    REQUIRE(lw_speech_detector_save(of, state.data(), n, &n) == LW_OK);
    return state;
}

lw_speech_detector_options padded() {
    lw_speech_detector_options options = f32_speech;
    options.speech_pad_ms = 60; // ends wait for the next segment
    return options;
}

} // namespace

TEST_CASE("speech: saved, loaded and copied at any sample, it gives the same events") {
    const Model model(speech_model(16000, hop));
    const std::vector<float> x = talk();
    const auto once = detector(model, padded());
    const std::vector<SpeechSeen> expected = rest(once.get(), x, 0);
    REQUIRE(segments(expected).size() >= 3);
    for (size_t cut = 0; cut <= x.size(); cut += 97) {
        CAPTURE(cut);
        const auto first = detector(model, padded()), second = detector(model, padded()),
                   third = detector(model, padded());
        size_t taken = 0;
        REQUIRE(lw_speech_detector_push(first.get(), x.data(), cut, &taken) ==
                LW_OK); // its events wait, and are saved too
        REQUIRE(taken == cut);
        const std::vector<uint8_t> state = saved(first.get());
        REQUIRE(lw_speech_detector_push(second.get(), x.data(), 77, nullptr) == LW_OK);
        REQUIRE_MESSAGE(lw_speech_detector_load(second.get(), state.data(), state.size()) == LW_OK,
                        lw_last_error());
        CHECK(saved(second.get()) == state);
        REQUIRE(lw_speech_detector_copy(third.get(), first.get()) == LW_OK);
        CHECK(rest(second.get(), x, cut) == expected);
        CHECK(rest(third.get(), x, cut) == expected);
    }
    // After the end too, with its last events waiting.
    const auto first = detector(model, padded()), second = detector(model, padded());
    REQUIRE(lw_speech_detector_push(first.get(), x.data(), x.size() - 3, nullptr) == LW_OK);
    REQUIRE(lw_speech_detector_finish(first.get()) == LW_OK);
    const std::vector<uint8_t> state = saved(first.get());
    REQUIRE(lw_speech_detector_load(second.get(), state.data(), state.size()) == LW_OK);
    std::vector<SpeechSeen> a, b;
    CHECK(pull(first.get(), a) == LW_END);
    CHECK(pull(second.get(), b) == LW_END);
    CHECK(a == b);
}

TEST_CASE("speech: no damaged, foreign or short state is loaded, and none changes the detector") {
    const Model model(speech_model(16000, hop)), other(speech_model(16000, 32));
    const std::vector<float> x = talk();
    const auto of = detector(model);
    REQUIRE(lw_speech_detector_push(of.get(), x.data(), 9000, nullptr) == LW_OK);
    const std::vector<uint8_t> state = saved(of.get());
    REQUIRE(lw_speech_detector_push(of.get(), x.data() + 9000, 100, nullptr) == LW_OK);
    const std::vector<uint8_t> now = saved(of.get());
    for (size_t n = 0; n < state.size(); n += n < 64 ? 1 : 13)
        CHECK(lw_speech_detector_load(of.get(), state.data(), n) == LW_BAD_STATE);
    const Stream stream(model); // the state of a stream in this old format has no checksum
    const size_t own = state.size() - (save(stream).size());
    for (size_t at = 0; at < own; ++at) {
        std::vector<uint8_t> damaged = state;
        damaged[at] ^= static_cast<uint8_t>(1 + at % 255);
        REQUIRE(lw_speech_detector_load(of.get(), damaged.data(), damaged.size()) == LW_BAD_STATE);
    }
    const std::vector<uint8_t> of_stream = save(stream);
    CHECK(lw_speech_detector_load(of.get(), of_stream.data(), of_stream.size()) == LW_BAD_STATE);
    const auto slow = detector(other);
    CHECK(lw_speech_detector_load(slow.get(), state.data(), state.size()) == LW_BAD_STATE);
    CHECK(lw_speech_detector_copy(slow.get(), of.get()) == LW_BAD_STATE);
    CHECK(saved(of.get()) == now);
    CHECK(lw_speech_detector_load(nullptr, state.data(), state.size()) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_load(of.get(), nullptr, state.size()) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_save(of.get(), nullptr, 0, nullptr) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_copy(nullptr, of.get()) == LW_INVALID_ARGUMENT);
}

TEST_CASE("speech: in the caller's memory it hears the same, and touches nothing beside it") {
    const Model model(speech_model(16000, hop));
    const std::vector<float> x = talk();
    size_t size = 0, alignment = 0;
    REQUIRE(lw_speech_detector_size(model, &f32_speech, &size, &alignment) == LW_OK);
    REQUIRE(alignment == 64);
    const size_t room = size + 2 * alignment;
    const std::unique_ptr<uint8_t, void (*)(uint8_t *)> memory(
        static_cast<uint8_t *>(::operator new(room, std::align_val_t{64})),
        [](uint8_t *at) { ::operator delete(at, std::align_val_t{64}); });
    std::fill_n(memory.get(), room, uint8_t{0xa5});
    uint8_t *const at = memory.get() + alignment;
    lw_speech_detector *made = nullptr;
    CHECK(lw_speech_detector_init(model, &f32_speech, at, size - 1, &made) == LW_TOO_SMALL);
    CHECK(lw_speech_detector_init(model, &f32_speech, at + 8, size, &made) == LW_INVALID_ARGUMENT);
    CHECK(lw_speech_detector_init(model, &f32_speech, nullptr, size, &made) == LW_INVALID_ARGUMENT);
    CHECK(made == nullptr);
    REQUIRE(lw_speech_detector_init(model, &f32_speech, at, size, &made) == LW_OK);
    CHECK(reinterpret_cast<uint8_t *>(made) == at);
    const auto other = detector(model);
    CHECK(rest(made, x, 0) == rest(other.get(), x, 0));
    lw_speech_detector_destroy(made); // frees nothing
    for (size_t i = 0; i < alignment; ++i) REQUIRE((memory.get()[i] == 0xa5 && at[size + i] == 0xa5));
}

} // namespace speech_state_test
