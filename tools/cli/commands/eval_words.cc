#include "tools/cli/commands/eval_words.h"
#include "tools/cli/check/statistics.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <map>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

double quantile_of(std::vector<double> values, double q) {
    std::sort(values.begin(), values.end());
    return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
}

double power(const std::vector<float> &samples, size_t begin, size_t end) {
    double sum = 0;
    for (size_t i = begin; i < end; i++) sum += double{samples[i]} * samples[i];
    return end > begin ? sum / static_cast<double>(end - begin) : 0;
}

// Continues from clip to clip, as noise in a room does.
class Noise {
public:
    Noise(const std::vector<float> &samples, double gain) : samples_(samples), gain_(gain) {}
    void add(std::vector<float> &to) {
        if (gain_ <= 0) return;
        for (float &value : to) {
            value += static_cast<float>(gain_) * samples_[at_];
            at_ = at_ + 1 == samples_.size() ? 0 : at_ + 1;
        }
    }

private:
    const std::vector<float> &samples_;
    double gain_;
    size_t at_ = 0;
};

ordered_json share_of(uint64_t hits, uint64_t n) {
    const auto [low, high] = proportion_interval(hits, n);
    return {{"missed", hits},
            {"words", n},
            {"rate", n ? ordered_json(double(hits) / double(n)) : ordered_json()},
            {"interval", {low, high}}};
}

} // namespace

std::pair<size_t, size_t> sound_in(const std::vector<float> &samples, double rate) {
    const size_t frame = std::max<size_t>(1, static_cast<size_t>(rate / 100)),
                 frames = samples.size() / frame;
    std::vector<double> powers(frames);
    for (size_t i = 0; i < frames; i++) powers[i] = power(samples, i * frame, (i + 1) * frame);
    const double least = frames ? *std::max_element(powers.begin(), powers.end()) * 3.16e-3 : 0; // -25 dB
    size_t first = 0, last = frames;
    while (first < last && powers[first] < least) first++;
    while (last > first && powers[last - 1] < least) last--;
    return {first * frame, last == frames ? samples.size() : last * frame};
}

Expected<WordStream> run_words(Scorer &scorer, const std::vector<Clip> &clips, const AudioFlags &audio,
                               double rate, size_t quiet, const std::vector<float> &noise, double snr_db) {
    WordStream stream;
    stream.rate = rate;
    std::vector<std::vector<float>> all;
    double sum = 0;
    for (const Clip &clip : clips) { // the level of the noise depends on all words
        LW_ASSIGN(std::vector<float> samples, read_clip(clip.path, audio, rate));
        const uint64_t begin = stream.slots.empty() ? 0 : stream.slots.back().end;
        const auto [first, last] = sound_in(samples, rate);
        stream.slots.push_back({clip.label, clip.speaker, begin, begin + samples.size() + quiet,
                                begin + first, begin + last, scorer.fires(clip.label)});
        sum += power(samples, first, last);
        all.push_back(std::move(samples));
    }
    const double wanted =
        sum / static_cast<double>(std::max<size_t>(1, all.size())) * std::pow(10, -snr_db / 10);
    const double have = power(noise, 0, noise.size());
    Noise added(noise, std::isnan(snr_db) || have <= 0 ? 0 : std::sqrt(wanted / have));
    LW_TRY(scorer.reset());
    Progress progress;
    for (size_t i = 0; i < all.size(); i++) {
        progress.show(i, all.size(), std::isnan(snr_db) ? "words" : format("words at %g dB", snr_db));
        all[i].resize(all[i].size() + quiet);
        added.add(all[i]);
        LW_TRY(scorer.push(all[i], stream.scores));
        all[i] = {};
    }
    LW_TRY(scorer.finish(stream.scores));
    return stream;
}

WordResult judge(const WordStream &stream, const std::vector<ScoredEvent> &events) {
    WordResult result;
    result.heard.resize(stream.slots.size());
    size_t slot = 0;
    for (const ScoredEvent &event : events) {
        while (slot + 1 < stream.slots.size() && event.tick > stream.slots[slot].end) slot++;
        const Slot &in = stream.slots[slot];
        if (!in.word) {
            result.on_others++;
        } else if (event.label != in.label) {
            result.wrong++;
        } else if (!result.heard[slot]) {
            result.heard[slot] = true;
            result.latency_ms.push_back(1000 * (double(event.tick) - double(in.word_end)) / stream.rate);
        }
    }
    for (size_t i = 0; i < stream.slots.size(); i++) {
        result.words += stream.slots[i].word;
        result.missed += stream.slots[i].word && !result.heard[i];
    }
    return result;
}

ordered_json latency_of(const WordResult &result) {
    if (result.latency_ms.empty()) return {};
    return {{"p50", quantile_of(result.latency_ms, 0.5)},
            {"p95", quantile_of(result.latency_ms, 0.95)},
            {"words", result.latency_ms.size()}};
}

ordered_json speakers_of(const WordStream &stream, const WordResult &result) {
    struct Speaker {
        std::string name;
        uint64_t words = 0, missed = 0;
        double rate() const { return double(missed) / double(words); }
    };
    std::map<std::string, Speaker> by_name;
    for (size_t i = 0; i < stream.slots.size(); i++) {
        if (!stream.slots[i].word) continue;
        Speaker &speaker = by_name[stream.slots[i].speaker];
        speaker.name = stream.slots[i].speaker;
        speaker.words++;
        speaker.missed += !result.heard[i];
    }
    std::vector<Speaker> list;
    for (const auto &[name, speaker] : by_name) list.push_back(speaker);
    if (list.empty()) return {};
    std::stable_sort(list.begin(), list.end(),
                     [](const Speaker &a, const Speaker &b) { return a.rate() > b.rate(); });
    const size_t tenth = (list.size() + 9) / 10;
    uint64_t words = 0, missed = 0;
    ordered_json names = ordered_json::array();
    for (size_t i = 0; i < tenth; i++) {
        words += list[i].words;
        missed += list[i].missed;
        names.push_back({{"speaker", list[i].name}, {"missed", list[i].missed}, {"words", list[i].words}});
    }
    return {{"speakers", list.size()},
            {"median_rate", list[list.size() / 2].rate()},
            {"worst_decile", share_of(missed, words)},
            {"worst", names}};
}

ordered_json mlperf_tiny(const WordStream &stream, const std::vector<ScoredEvent> &events) {
    const auto second = static_cast<uint64_t>(stream.rate);
    std::vector<bool> heard(stream.slots.size());
    uint64_t false_positives = 0, quiet_until = 0, words = 0, found = 0;
    for (const ScoredEvent &event : events) {
        bool covered = event.tick < quiet_until;
        for (size_t i = 0; i < stream.slots.size(); i++) {
            const Slot &slot = stream.slots[i];
            if (!slot.word || event.label != slot.label) continue;
            if (event.tick < slot.word_begin || event.tick > slot.word_end + second) continue;
            covered = heard[i] = true;
        }
        if (covered) continue;
        false_positives++;
        quiet_until = event.tick + second;
    }
    for (size_t i = 0; i < stream.slots.size(); i++) words += stream.slots[i].word, found += heard[i];
    const double seconds = stream.slots.empty() ? 0 : double(stream.slots.back().end) / stream.rate;
    ordered_json json{{"words", words},
                      {"true_positives", found},
                      {"false_negatives", words - found},
                      {"false_positives", false_positives},
                      {"seconds", seconds}};
    // The test has 50 words in 20 minutes, and allows 8 of each kind.
    if (words > 0) json["false_negatives_of_50"] = 50.0 * double(words - found) / double(words);
    if (seconds > 0) json["false_positives_in_20_min"] = 1200 * double(false_positives) / seconds;
    return json;
}

} // namespace longwave::cli
