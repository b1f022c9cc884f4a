// Missed words, latency, speakers and noise: what `longwave eval` finds on labelled clips beyond
// the share of missed words.
#pragma once
#include "formats/base/expected.h"
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/model/model.h"
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace longwave::cli {

// Scores of a keyword model over audio, kept so that any threshold can be tried on them: the
// network runs once, the decision rule (runtime/kws/decision.h) as often as one likes.

// The rows of the decision's output over one stream.
struct Scores {
    std::vector<float> rows; // labels values each
    size_t labels = 0;
    size_t count() const { return labels ? rows.size() / labels : 0; }
};

struct ScoredEvent {
    uint32_t label = 0;
    uint64_t tick = 0; // samples heard when it fired
    float score = 0;
};

class Scorer {
public:
    // The decision settings in force are those of the spotter. Fault::usage: the model has none.
    static Expected<Scorer> create(const artifact::View &artifact, const Model &model,
                                   const Spotter &spotter);

    // Pushes samples and keeps the rows that come.
    Status push(const std::vector<float> &samples, Scores &scores);
    Status finish(Scores &scores); // the last rows; afterwards only reset()
    Status reset();

    // By label. Above 1: it never fires.
    const std::vector<float> &thresholds() const { return thresholds_; }
    bool fires(uint32_t label) const { return thresholds_[label] <= 1; }
    // The events of the decision rule.
    std::vector<ScoredEvent> events(const Scores &scores, const std::vector<float> &thresholds) const;
    std::vector<ScoredEvent> events(const Scores &scores) const { return events(scores, thresholds_); }

private:
    Stream stream_;
    uint32_t output_ = 0;
    // Row r is there after (r + 1) * den / num + delay ticks.
    uint64_t ticks_num_ = 1, ticks_den_ = 1, delay_ = 0;
    uint32_t window_ = 1, min_count_ = 1, refractory_ = 0;
    float release_ = 0.5f;
    std::vector<float> thresholds_;
};

// Labelled clips for `longwave eval`.

struct Clip {
    std::string path;
    uint32_t label = 0;
    std::string speaker; // speaker_of
};

// Who speaks: the part of the file's name before "_nohash_", as in Speech Commands. Of
// "<word>_<speaker>_nohash_0" the speaker. Other names: up to the first '_' or '-'.
std::string speaker_of(const std::string &path);

// A file of a folder that is left out, and why: it is not audio, or lies beside the folders of labels.
struct LeftOut {
    std::string path, why;
};

// Every audio file under a folder, sorted; a file stands for itself. Hidden files are left out and not
// listed.
Status collect_files(const std::string &path, std::vector<std::string> &files,
                     std::vector<LeftOut> &left_out);

// FOLDER/<label>/<file>, shuffled by the seed. Fault::input: a folder whose name is not a label, or
// no clip.
Expected<std::vector<Clip>> find_clips(const std::string &folder, const std::vector<std::string> &labels,
                                       uint64_t seed, std::vector<LeftOut> &left_out);

// "2 files: a.txt is text, ...", for errors and the summary.
std::string text_of(const std::vector<LeftOut> &left_out);

// Mono samples at the rate of the model.
Expected<std::vector<float>> read_clip(const std::string &path, const AudioFlags &flags, double rate);

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
    // By slot: from the end of the word to its event. NaN: missed, or no word.
    std::vector<double> latency_ms;
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
