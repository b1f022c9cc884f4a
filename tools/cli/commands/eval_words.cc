#include "tools/cli/commands/eval_words.h"
#include "runtime/kws/decision.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/check/statistics.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

namespace fs = std::filesystem;
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
    result.latency_ms.resize(stream.slots.size(), std::numeric_limits<double>::quiet_NaN());
    size_t slot = 0;
    for (const ScoredEvent &event : events) {
        while (slot + 1 < stream.slots.size() && event.tick > stream.slots[slot].end) slot++;
        const Slot &in = stream.slots[slot];
        if (!in.word) {
            result.on_others++;
        } else if (event.label != in.label) {
            result.wrong++;
        } else if (std::isnan(result.latency_ms[slot])) {
            result.latency_ms[slot] = 1000 * (double(event.tick) - double(in.word_end)) / stream.rate;
        }
    }
    for (size_t i = 0; i < stream.slots.size(); i++) {
        result.words += stream.slots[i].word;
        result.missed += stream.slots[i].word && std::isnan(result.latency_ms[i]);
    }
    return result;
}

ordered_json latency_of(const WordResult &result) {
    std::vector<double> heard = result.latency_ms;
    std::erase_if(heard, [](double ms) { return std::isnan(ms); });
    if (heard.empty()) return {};
    return {{"p50", quantile_of(heard, 0.5)}, {"p95", quantile_of(heard, 0.95)}, {"words", heard.size()}};
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
        speaker.missed += std::isnan(result.latency_ms[i]);
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

namespace {

Expected<std::vector<fs::path>> files_in(const fs::path &folder) {
    std::error_code error;
    std::vector<fs::path> found;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
        if (it->path().filename().string()[0] != '.') found.push_back(it->path());
    if (error) return Status::input(folder.string() + ": cannot be read: " + error.message());
    std::sort(found.begin(), found.end());
    return found;
}

} // namespace

std::string speaker_of(const std::string &path) {
    std::string name = fs::path(path).stem().string();
    const size_t end = name.find("_nohash_");
    if (end == std::string::npos) return name.substr(0, name.find_first_of("_-"));
    name.resize(end);
    const size_t before = name.rfind('_');
    return before == std::string::npos ? name : name.substr(before + 1);
}

Status collect_files(const std::string &path, std::vector<std::string> &files,
                     std::vector<LeftOut> &left_out) {
    std::error_code error;
    if (!fs::is_directory(path, error)) {
        files.push_back(path); // opening the file reports an error
        return {};
    }
    LW_ASSIGN(const auto found, files_in(path));
    for (const auto &file : found) {
        const std::string name = file.string();
        if (fs::is_directory(file, error)) {
            LW_TRY(collect_files(name, files, left_out));
        } else if (!fs::is_regular_file(file, error)) { // a pipe would wait
            left_out.push_back({name, "is no file"});
        } else {
            LW_ASSIGN(std::string why, audio::why_unreadable(name));
            if (why.empty()) files.push_back(name);
            else left_out.push_back({name, std::move(why)});
        }
    }
    return {};
}

std::string text_of(const std::vector<LeftOut> &left_out) {
    std::string text = std::to_string(left_out.size()) + (left_out.size() == 1 ? " file" : " files");
    for (size_t i = 0; i < left_out.size() && i < 3; i++)
        text += (i ? ", " : ": ") + left_out[i].path + " " +
                left_out[i].why.substr(0, left_out[i].why.find_first_of(",;"));
    return text + (left_out.size() > 3 ? ", ..." : "");
}

Expected<std::vector<Clip>> find_clips(const std::string &folder, const std::vector<std::string> &labels,
                                       uint64_t seed, std::vector<LeftOut> &left_out) {
    std::vector<Clip> clips;
    LW_ASSIGN(const auto folders, files_in(folder));
    std::string unknown;
    for (const auto &path : folders) {
        if (std::error_code error; !fs::is_directory(path, error)) {
            left_out.push_back({path.string(), "lies beside the folders of labels"});
            continue;
        }
        const auto label = std::find(labels.begin(), labels.end(), path.filename().string());
        if (label == labels.end()) {
            unknown += (unknown.empty() ? "" : ", ") + path.filename().string();
            continue;
        }
        std::vector<std::string> files;
        LW_TRY(collect_files(path.string(), files, left_out));
        for (auto &file : files) {
            std::string speaker = speaker_of(file);
            clips.push_back(
                {std::move(file), static_cast<uint32_t>(label - labels.begin()), std::move(speaker)});
        }
    }
    if (!unknown.empty())
        return Status::input(folder + ": the model has no label for these folders: " + unknown);
    if (clips.empty())
        return Status::input(folder + ": no clips found; expected FOLDER/<label>/<file>" +
                             (left_out.empty() ? "" : "; left out: " + text_of(left_out)));
    std::sort(clips.begin(), clips.end(), [](const Clip &a, const Clip &b) { return a.path < b.path; });
    Random random(seed);
    for (size_t i = clips.size(); i > 1; i--) std::swap(clips[i - 1], clips[random.below(i)]);
    return clips;
}

Expected<std::vector<float>> read_clip(const std::string &path, const AudioFlags &flags, double rate) {
    LW_ASSIGN(audio::Audio audio, audio::read(path, flags.options(static_cast<uint32_t>(rate))));
    if (flags.gain_db != 0)
        for (float &value : audio.samples) value *= static_cast<float>(std::pow(10, flags.gain_db / 20));
    return std::move(audio.samples);
}

Expected<Scorer> Scorer::create(const artifact::View &artifact, const Model &model, const Spotter &spotter) {
    const int output = model.stream_output(artifact.plan().decision()->output()->str());
    if (output < 0) return Status::usage("the stream has no output for the decision rule");
    Scorer scorer;
    LW_ASSIGN(scorer.stream_, Stream::create(model));
    scorer.output_ = static_cast<uint32_t>(output);
    const lw_output_info &info = model.stream_outputs[scorer.output_];
    scorer.ticks_num_ = info.clock_den;
    scorer.ticks_den_ = std::max<uint64_t>(1, info.clock_num);
    scorer.delay_ = info.delay;
    const auto &settings = spotter.settings();
    const double rows_per_ms = spotter.rate() / 1000 * info.clock_num / info.clock_den;
    const auto rows = [&](const char *key, double least) {
        return static_cast<uint32_t>(std::max(least, settings[key].get<double>() * rows_per_ms + 0.5));
    };
    scorer.window_ = rows("smoothing_ms", 1);
    scorer.refractory_ = rows("refractory_ms", 0);
    scorer.min_count_ = std::max(1u, settings["min_count"].get<uint32_t>());
    scorer.release_ = settings["release"].get<float>();
    for (uint32_t i = 0; i < model.labels.size(); i++)
        scorer.thresholds_.push_back(spotter.fires(i) ? spotter.threshold(i) : 2);
    return scorer;
}

Status Scorer::push(const std::vector<float> &samples, Scores &scores) {
    scores.labels = thresholds_.size();
    return stream_.push(samples.data(), samples.size(), [&](const StreamRow &row) {
        if (row.index == output_) scores.rows.insert(scores.rows.end(), row.data, row.data + row.width);
    });
}

Status Scorer::finish(Scores &scores) {
    return stream_.finish([&](const StreamRow &row) {
        if (row.index == output_) scores.rows.insert(scores.rows.end(), row.data, row.data + row.width);
    });
}

Status Scorer::reset() { return stream_.reset(); }

std::vector<ScoredEvent> Scorer::events(const Scores &scores, const std::vector<float> &thresholds) const {
    runtime::DecisionSettings settings;
    settings.labels = static_cast<uint32_t>(thresholds_.size());
    settings.window = window_;
    settings.min_count = min_count_;
    settings.refractory = refractory_;
    settings.release = release_;
    runtime::Decision decision;
    runtime::Parts measure(nullptr);
    decision.build(settings, measure);
    std::vector<uint64_t> memory(measure.used() / sizeof(uint64_t) + 8);
    runtime::Parts parts(reinterpret_cast<uint8_t *>(memory.data()));
    decision.build(settings, parts);
    std::copy(thresholds.begin(), thresholds.end(), decision.thresholds());
    std::vector<ScoredEvent> found;
    for (size_t row = 0; row < scores.count(); row++) {
        runtime::Detection detection{};
        if (decision.row(scores.rows.data() + row * scores.labels, &detection))
            found.push_back({detection.label, (row + 1) * ticks_num_ / ticks_den_ + delay_, detection.score});
    }
    return found;
}

} // namespace longwave::cli
