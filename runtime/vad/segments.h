// The rule of a speech detector: probabilities in, events out. For the same probabilities its
// segments are those of get_speech_timestamps_from_probs of the package silero-vad 6.2.3
// (utils_vad.py), which knows the complete audio. This rule hears it row by row:
//
//   - a segment vanishes unless it is longer than min_speech. `certain`: it no longer can.
//   - padding moves the end of a segment by up to half the way to the next one. So an end waits
//     until the next segment is certain, or can no longer begin within twice the padding.
//
// Pure arithmetic. Positions are samples; comparisons are in doubles, as those of the package.
#pragma once
#include <cstdint>

namespace longwave::runtime {

struct SegmentRule {
    double threshold, negative; // speech is at or above the one, silence below the other
    // In samples, with fractions.
    double min_speech, min_silence, pad;
    double max_speech; // before padding; infinite: none
    double min_cut;    // pauses where a too long segment may be cut are longer
    bool last_pause;   // it is cut in the last of them; false: in the longest
    uint32_t hop;      // samples of a row
};

enum class Speech : uint32_t { began = 1, dropped, start, end };

struct SpeechEvent {
    Speech kind;
    float probability;
    int64_t start, end, tick; // lw_speech_event
};

// Those of one row.
struct SpeechEvents {
    static constexpr uint32_t most = 7;
    SpeechEvent list[most];
    uint32_t n = 0;
};

// What it remembers. It has no gaps, for it is saved as it is.
struct SegmentState {
    static constexpr int64_t none = -1;
    int64_t start = none;  // of the segment in progress
    int64_t padded = none; // the same with padding
    int64_t pause = none;  // where its newest pause began; none: it does not pause
    // Pauses where it may be cut: the longest, and how long it was.
    int64_t cut = none, cut_length = 0;
    // The same for last_pause: the last, and where speech came back after it or an earlier one.
    int64_t last_cut = none, back = none;
    int64_t ended = none, ended_padded = none; // a segment whose end waits: its end, its padded start
    uint32_t certain = 0;                      // the segment in progress is, and its start is out
    float probability = 0;                     // of the newest row
};
static_assert(sizeof(SegmentState) == 9 * 8 + 8);

class Segments {
public:
    void build(const SegmentRule &rule) { rule_ = rule; }
    void reset() { state = SegmentState{}; }
    const SegmentRule &rule() const { return rule_; }

    // A row that begins with sample `at`. All its samples were heard, unless the audio ends at
    // `length` < at + hop.
    void row(float probability, int64_t at, int64_t length, SpeechEvents *events);
    // The audio ended after so many samples.
    void finish(int64_t length, SpeechEvents *events);

    SegmentState state;

private:
    struct Step; // one row or the end: where it is, and its events

    void begin(int64_t at, Step &step);
    void make_certain(Step &step);
    void close(int64_t end, Step &step);
    void drop(int64_t end, Step &step);
    void cut(int64_t at, bool *at_once, Step &step);
    void follow(bool speech, int64_t at, float probability, Step &step);
    void settle(int64_t heard, Step &step);
    void release_end(int64_t end, Step &step);
    int64_t padded_end(int64_t end, const Step &step) const;

    SegmentRule rule_;
};

} // namespace longwave::runtime
