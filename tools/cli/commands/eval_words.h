// Missed words, latency, speakers and noise: what `longwave eval` finds on labelled clips beyond
// the share of missed words.
#pragma once
#include "tools/cli/commands/eval_clips.h"
#include "tools/cli/commands/eval_scores.h"
#include <nlohmann/json.hpp>
#include <vector>

namespace longwave::cli {

// A clip in one long stream: its slot is the clip and the silence after it.
struct Slot {
    uint32_t label = 0;
    std::string speaker;
    uint64_t begin = 0, end = 0;           // samples of the stream
    uint64_t word_begin = 0, word_end = 0; // of the sound in the clip
    bool word = false;                     // a label that may fire
};

struct WordStream {
    std::vector<Slot> slots;
    Scores scores;
    double rate = 1;
};

// Runs all clips, each followed by `quiet` samples of silence. With noise the whole stream has it,
// `snr_db` below the mean power of the words; NaN: none. `noise`: samples, repeated without end.
Expected<WordStream> run_words(Scorer &scorer, const std::vector<Clip> &clips, const AudioFlags &audio,
                               double rate, size_t quiet, const std::vector<float> &noise, double snr_db);

// The sound in a clip: from the first to the last 10 ms within 25 dB of the loudest 10 ms.
std::pair<size_t, size_t> sound_in(const std::vector<float> &samples, double rate);

// Which words had their event, and what else fired.
struct WordResult {
    std::vector<bool> heard;        // by slot; false for slots without a word
    std::vector<double> latency_ms; // of heard words, from the end of the word to the event
    uint64_t words = 0, missed = 0, wrong = 0, on_others = 0;
};
WordResult judge(const WordStream &stream, const std::vector<ScoredEvent> &events);

// Median and 95 % quantile, and how many; null without a heard word.
nlohmann::ordered_json latency_of(const WordResult &result);
// The tenth of the speakers with the highest share of missed words, and all speakers' median.
nlohmann::ordered_json speakers_of(const WordStream &stream, const WordResult &result);
// The scoring rule of MLPerf Tiny's streaming test: an event counts for its word from the beginning
// of the sound to 1 s after its end. Every other event is a false positive. False positives within
// 1 s of each other count once.
nlohmann::ordered_json mlperf_tiny(const WordStream &stream, const std::vector<ScoredEvent> &events);

} // namespace longwave::cli
