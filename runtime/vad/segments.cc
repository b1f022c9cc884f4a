#include "runtime/vad/segments.h"

namespace longwave::runtime {

struct Segments::Step {
    float probability;
    int64_t tick, length; // samples that were heard; of the whole audio, as far as it is known
    SpeechEvents *events;

    void say(Speech kind, int64_t start, int64_t end) const {
        events->list[events->n++] = {kind, probability, start, end, tick};
    }
};

namespace {

constexpr int64_t none = SegmentState::none;

double real(int64_t samples) { return static_cast<double>(samples); }

} // namespace

// A segment begins. The start is final if it stays one: the end in front of it waits for it.
void Segments::begin(int64_t at, Step &step) {
    const int64_t ended = state.ended;
    state = {at, none, none, none, 0, none, none, ended, state.ended_padded, 0, state.probability};
    const int64_t gap = at - ended;
    if (ended != none && real(gap) < 2 * rule_.pad) state.padded = at - gap / 2;
    else state.padded = real(at) > rule_.pad ? static_cast<int64_t>(real(at) - rule_.pad) : 0;
    step.say(Speech::began, state.padded, none);
}

int64_t Segments::padded_end(int64_t end, const Step &step) const {
    const double padded = real(end) + rule_.pad;
    return padded < real(step.length) ? static_cast<int64_t>(padded) : step.length;
}

void Segments::release_end(int64_t end, Step &step) {
    step.say(Speech::end, state.ended_padded, end);
    state.ended = state.ended_padded = none;
}

// Nothing can drop the segment in progress any more.
void Segments::make_certain(Step &step) {
    if (state.certain) return;
    if (state.ended != none) {
        const int64_t gap = state.start - state.ended;
        release_end(real(gap) < 2 * rule_.pad ? state.ended + gap / 2 : padded_end(state.ended, step), step);
    }
    step.say(Speech::start, state.padded, none);
    state.certain = 1;
}

void Segments::close(int64_t end, Step &step) {
    make_certain(step);
    state.ended = end;
    state.ended_padded = state.padded;
    state.start = state.padded = none;
}

void Segments::drop(int64_t end, Step &step) {
    step.say(Speech::dropped, state.padded, end);
    state.start = state.padded = none;
}

// The segment in progress is too long. What follows the pause where it is cut is the next one.
void Segments::cut(int64_t at, bool *at_once, Step &step) {
    const int64_t pause = rule_.last_pause ? state.last_cut : state.cut;
    *at_once = pause == none;
    if (*at_once) return close(at, step);
    const int64_t next = rule_.last_pause ? state.back : pause + state.cut_length;
    close(pause, step);
    // The last pause may still last: then nothing has followed it.
    if (!rule_.last_pause || next > pause) begin(next, step);
}

void Segments::follow(bool speech, int64_t at, float probability, Step &step) {
    if (speech && state.pause != none) {
        const int64_t length = at - state.pause;
        if (real(length) > rule_.min_cut && (state.cut == none || length > state.cut_length)) {
            state.cut = state.pause;
            state.cut_length = length;
        }
        state.pause = none;
        if (state.back < state.last_cut) state.back = at;
    }
    if (state.start == none) {
        if (speech) begin(at, step);
        return;
    }
    if (real(at - state.start) > rule_.max_speech) {
        bool at_once;
        cut(at, &at_once, step);
        if (at_once || state.start == none) return;
    }
    if (!(double{probability} < rule_.negative)) return;
    if (state.pause == none) state.pause = at;
    const double paused = real(at - state.pause);
    if (paused > rule_.min_cut) state.last_cut = state.pause;
    if (paused < rule_.min_silence) return;
    if (real(state.pause - state.start) > rule_.min_speech) close(state.pause, step);
    else drop(state.pause, step);
}

// What is known after `heard` samples, whatever follows.
void Segments::settle(int64_t heard, Step &step) {
    const bool in_progress = state.start != none;
    // The segment in progress ends where it pauses, or later.
    if (in_progress && real((state.pause != none ? state.pause : heard) - state.start) > rule_.min_speech)
        make_certain(step);
    if (state.ended != none && real((in_progress ? state.start : heard) - state.ended) >= 2 * rule_.pad)
        release_end(padded_end(state.ended, step), step);
}

void Segments::row(float probability, int64_t at, int64_t length, SpeechEvents *events) {
    const int64_t row_end = at + rule_.hop, heard = row_end < length ? row_end : length;
    Step step{probability, heard, length, events};
    state.probability = probability;
    follow(double{probability} >= rule_.threshold, at, probability, step);
    settle(heard, step);
}

void Segments::finish(int64_t length, SpeechEvents *events) {
    Step step{state.probability, length, length, events};
    if (state.start != none) {
        if (real(length - state.start) > rule_.min_speech) close(length, step);
        else drop(length, step);
    }
    if (state.ended != none) release_end(padded_end(state.ended, step), step);
}

} // namespace longwave::runtime
