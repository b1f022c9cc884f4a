// longwave eval: accuracy of a keyword model on labelled clips, and false alarms in other audio. It
// uses the same stream and the same decisions as `listen`.
#include "formats/artifact/view.h"
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/spotter.h"
#include "tools/cli/check/statistics.h"
#include "tools/cli/check/streaming_check.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/commands/eval_curve.h"
#include "tools/cli/commands/eval_words.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/placement.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/json_lines.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace fs = std::filesystem;
using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// What a product team asks of a keyword model, beyond the clips: how late, for whom, in which
// noise, and at which price in false accepts.

struct ProductFlags {
    const std::vector<std::string> &noise, &curve;
    const AudioFlags &audio;
    bool predictions;
};

// All files in one row.
Expected<std::vector<float>> read_all(const std::vector<std::string> &paths, const AudioFlags &audio,
                                      double rate) {
    std::vector<std::string> files;
    std::vector<LeftOut> left_out;
    for (const std::string &path : paths) LW_TRY(collect_files(path, files, left_out));
    std::vector<float> all;
    for (const std::string &file : files) {
        LW_ASSIGN(const std::vector<float> samples, read_clip(file, audio, rate));
        all.insert(all.end(), samples.begin(), samples.end());
    }
    return all;
}

ordered_json in_noise(const char *level, const WordResult &result) {
    return {
        {"snr", level},
        {"missed", result.missed},
        {"words", result.words},
        {"wrong_word_events", result.wrong},
        {"events_on_other_clips", result.on_others},
        {"rate", result.words ? ordered_json(double(result.missed) / double(result.words)) : ordered_json()}};
}

// One stream over all files.
Expected<Negatives> score_negatives(Scorer &scorer, const std::vector<std::string> &files,
                                    const AudioFlags &audio, double rate) {
    Negatives found;
    uint64_t samples = 0;
    LW_TRY(scorer.reset());
    Progress progress;
    for (size_t i = 0; i < files.size(); i++) {
        progress.show(i, files.size(), "scores of negatives");
        LW_ASSIGN(const std::vector<float> clip, read_clip(files[i], audio, rate));
        LW_TRY(scorer.push(clip, found.scores));
        found.ends.push_back(samples += clip.size());
    }
    LW_TRY(scorer.finish(found.scores));
    found.hours = static_cast<double>(samples) / rate / 3600;
    return found;
}

// Call it before the work. Fault::usage: a curve without words and negatives, a suffix other than
// .csv and .svg, or the file of the model.
Status check_curves(const std::vector<std::string> &files, bool possible, const std::string &model) {
    for (const std::string &file : files) {
        if (!possible)
            return Status::usage("--curve " + file + ": needs --clips and --negatives, without --isolated");
        if (!file.ends_with(".csv") && !file.ends_with(".svg"))
            return Status::usage("--curve " + file + ": expected a name that ends with .csv or .svg");
        LW_TRY(check_output("--curve", file, {model}));
    }
    return {};
}

// Adds "words" and, with negatives, "curve" to `json`, and writes the files of --curve. With predictions:
// the latency of each word, or null, to "predictions". `words`: of the clips, each with `quiet` samples of
// silence after it.
Status evaluate_product(const ProductFlags &flags, Scorer &scorer, const std::vector<Clip> &clips,
                        const WordStream &words, size_t quiet, const std::string &model,
                        const Negatives *negatives, ordered_json &json) {
    const double rate = words.rate;
    const auto events = scorer.events(words.scores);
    const WordResult result = judge(words, events);
    ordered_json found{{"latency_ms", latency_of(result)},
                       {"speakers", speakers_of(words, result)},
                       {"mlperf_tiny", mlperf_tiny(words, events)}};
    found["noise"] = ordered_json::array({in_noise("clean", result)});
    if (!flags.noise.empty()) {
        LW_ASSIGN(const std::vector<float> noise, read_all(flags.noise, flags.audio, rate));
        if (noise.empty()) return Status::input(flags.noise[0] + ": contains no samples");
        for (const int snr : {20, 10, 5, 0}) {
            LW_ASSIGN(const WordStream noisy, run_words(scorer, clips, flags.audio, rate, quiet, noise, snr));
            found["noise"].push_back(
                in_noise(format("%d dB", snr).c_str(), judge(noisy, scorer.events(noisy.scores))));
        }
    }
    json["words"] = std::move(found);
    if (flags.predictions)
        for (size_t i = 0; i < clips.size(); i++)
            if (const double ms = result.latency_ms[i]; words.slots[i].word)
                json["predictions"][clips[i].path]["latency_ms"] =
                    std::isnan(ms) ? ordered_json() : ordered_json(ms);
    if (!negatives) return {};
    const auto points = curve_of(scorer, words, *negatives);
    const CurvePoint chosen{0, result.missed, result.words, scorer.events(negatives->scores).size(),
                            negatives->hours};
    json["curve"] = ordered_json::array();
    for (const CurvePoint &point : points) json["curve"].push_back(to_json(point));
    for (const std::string &file : flags.curve) {
        const std::string text =
            file.ends_with(".csv") ? curve_csv(points) : curve_svg(points, chosen, model);
        LW_TRY(write_output(file, {reinterpret_cast<const uint8_t *>(text.data()), text.size()}));
    }
    return {};
}

// On stderr.
void print_product(const ordered_json &json) {
    if (!json.contains("words")) return;
    const ordered_json &words = json["words"];
    if (words["latency_ms"].is_object())
        print_text(stderr, "latency         %.0f ms, 95 %% within %.0f ms, from the end of the word\n",
                   words["latency_ms"]["p50"].get<double>(), words["latency_ms"]["p95"].get<double>());
    if (words["speakers"].is_object()) {
        const ordered_json &worst = words["speakers"]["worst_decile"];
        print_text(stderr, "speakers        the worst %zu of %u miss %.1f %%\n",
                   words["speakers"]["worst"].size(), words["speakers"]["speakers"].get<unsigned>(),
                   worst["rate"].is_number() ? 100 * worst["rate"].get<double>() : 0);
    }
    if (words["noise"].size() > 1) {
        print_text(stderr, "noise          ");
        for (const ordered_json &level : words["noise"])
            print_text(stderr, " %s %.1f %%%s", level["snr"].get<std::string>().c_str(),
                       level["rate"].is_number() ? 100 * level["rate"].get<double>() : 0,
                       &level == &words["noise"].back() ? " missed\n" : ",");
    }
    const ordered_json &tiny = words["mlperf_tiny"];
    print_text(stderr, "MLPerf Tiny     %llu of %llu words missed, %llu false positives in %.1f min\n",
               tiny["false_negatives"].get<unsigned long long>(), tiny["words"].get<unsigned long long>(),
               tiny["false_positives"].get<unsigned long long>(), tiny["seconds"].get<double>() / 60);
}

struct EvalFlags {
    ModelFlags model;
    std::string clips;
    std::vector<std::string> negatives;
    AudioFlags audio;
    DecisionFlags decision;
    bool isolated = false, json = false, predictions = false;
    std::vector<std::string> noise, curve;
    double quiet_ms = 1500;
    std::optional<float> per_hour;
    uint64_t seed = 0;
};

class Evaluation {
public:
    Evaluation(const EvalFlags &flags, const Model &model, Stream stream)
        : flags_(flags), model_(model), stream_(std::move(stream)) {}

    // Top-1 over the clips, each cut or filled with silence to one length.
    Status accuracy(const std::vector<Clip> &clips, ordered_json &json) {
        if (model_.stream_outputs.at(0).width != model_.labels.size())
            return Status::usage("the model's first output has " +
                                 std::to_string(model_.stream_outputs[0].width) +
                                 " values per row; eval needs one per label, and the model has " +
                                 std::to_string(model_.labels.size()) + " labels");
        const size_t labels = model_.labels.size();
        std::vector<std::vector<uint64_t>> confusion(labels, std::vector<uint64_t>(labels));
        ordered_json predictions = ordered_json::object();
        LW_TRY(decide(clips, [&](const Clip &clip, const StreamRow &row) {
            const auto decided =
                static_cast<size_t>(std::max_element(row.data, row.data + row.width) - row.data);
            confusion[clip.label][decided]++;
            if (flags_.predictions)
                predictions[clip.path] = {{"label", model_.labels[clip.label]},
                                          {"predicted", model_.labels[decided]},
                                          {"outputs", std::vector<float>(row.data, row.data + row.width)}};
        }));
        uint64_t right = 0, all = 0, right_words = 0, all_words = 0;
        ordered_json recall = ordered_json::object();
        for (size_t i = 0; i < labels; i++) {
            uint64_t n = 0;
            for (const uint64_t count : confusion[i]) n += count;
            right += confusion[i][i];
            all += n;
            if (model_.labels[i] != "_silence_") {
                right_words += confusion[i][i];
                all_words += n;
            }
            if (n) recall[model_.labels[i]] = share(confusion[i][i], n);
        }
        json["accuracy"] = share(right, all);
        json["accuracy_interval"] = interval(right, all);
        json["accuracy_without_silence"] = share(right_words, all_words);
        json["accuracy_without_silence_interval"] = interval(right_words, all_words);
        json["clips"] = all;
        json["state"] = flags_.isolated ? "reset before each clip" : "carried from clip to clip";
        json["labels"] = model_.labels;
        json["confusion"] = confusion; // [true label][decided label]
        json["recall"] = recall;
        if (flags_.predictions) json["predictions"] = predictions;
        return {};
    }

    // How many words are missed, of clips with quiet after each.
    void rejects(const WordResult &result, ordered_json &json) {
        json["false_reject_rate"] = share(result.missed, result.words);
        json["false_reject_rate_interval"] = interval(result.missed, result.words);
        json["false_rejects"] = result.missed;
        json["word_clips"] = result.words;
        json["wrong_word_events"] = result.wrong;
        json["events_on_other_clips"] = result.on_others; // unknown words and noise
        json["quiet_ms"] = flags_.quiet_ms;
    }

    // Events where there should be none, in one long stream.
    void accepts(const std::vector<std::string> &files, const Negatives &negatives,
                 const std::vector<ScoredEvent> &found, ordered_json &json) {
        ordered_json events = ordered_json::array();
        for (const ScoredEvent &e : found) {
            const auto end = std::lower_bound(negatives.ends.begin(), negatives.ends.end(), e.tick);
            const auto at =
                std::min<size_t>(static_cast<size_t>(end - negatives.ends.begin()), files.size() - 1);
            events.push_back({{"word", model_.labels[e.label]},
                              {"score", e.score},
                              {"t", static_cast<double>(e.tick) / rate()},
                              {"file", fs::path(files[at]).filename().string()}});
        }
        const auto [low, high] = count_interval(events.size());
        json["false_accepts"] = events.size();
        json["hours"] = negatives.hours;
        json["false_accepts_per_hour"] = static_cast<double>(events.size()) / negatives.hours;
        json["false_accepts_per_hour_interval"] = {low / negatives.hours, high / negatives.hours};
        json["false_accept_events"] = events;
    }

private:
    // Calls `decided` with the row of the first output at the end of each clip. A delayed row comes
    // during the next clip, it, or when the stream is finished.
    template <class Decided> Status decide(const std::vector<Clip> &clips, const Decided &decided) {
        const lw_output_info &output = model_.stream_outputs.at(0);
        // A sliding window's run entry is as long as the window, which says nothing of clips.
        const bool offline_length = model_.info.has_run && !window_of(model_);
        const size_t length = offline_length ? model_.info.run_capacity : static_cast<size_t>(rate());
        const auto rows_of = [&](size_t n) { return rows_after(output, n * length); }; // of the first n clips
        size_t first = 0, next = 0; // the clip that the stream began with, and whose row is awaited
        const auto take = [&](const StreamRow &row) {
            if (row.index != 0 || next == clips.size() || row.row + 1 != rows_of(next + 1 - first)) return;
            decided(clips[next++], row);
        };
        LW_TRY(stream_.reset());
        Progress progress;
        for (size_t i = 0; i < clips.size(); i++) {
            progress.show(i, clips.size(), "accuracy");
            LW_ASSIGN(std::vector<float> samples, read(clips[i].path));
            if (rows_of(i + 1 - first) == rows_of(i - first))
                return Status::input(clips[i].path + ": the model has no output row for a clip of " +
                                     std::to_string(length) + " samples");
            samples.resize(length);
            LW_TRY(stream_.push(samples.data(), length, take));
            if (!flags_.isolated && i + 1 < clips.size()) continue;
            LW_TRY(stream_.finish(take));
            LW_TRY(stream_.reset());
            first = i + 1;
        }
        if (next != clips.size())
            return Status::internal("the stream ended before the output row of " + clips[next].path);
        return {};
    }
    double rate() const { return model_.audio()->sample_rate; }
    static ordered_json share(uint64_t hits, uint64_t n) {
        return n ? ordered_json(static_cast<double>(hits) / static_cast<double>(n)) : ordered_json();
    }
    static ordered_json interval(uint64_t hits, uint64_t n) {
        const auto [low, high] = proportion_interval(hits, n);
        return {low, high};
    }
    Expected<std::vector<float>> read(const std::string &path) const {
        return read_clip(path, flags_.audio, rate());
    }
    const EvalFlags &flags_;
    const Model &model_;
    Stream stream_;
};

// The flags with the thresholds of the point.
DecisionFlags with_thresholds(DecisionFlags flags, const Model &model, const OperatingPoint &point) {
    flags.thresholds.clear();
    for (size_t i = 0; i < model.labels.size(); i++)
        if (point.thresholds[i] <= 1)
            flags.thresholds.push_back(
                format("%s=%.3f", model.labels[i].c_str(), double{point.thresholds[i]}));
    return flags;
}

void print_summary(const ordered_json &json) {
    const auto value = [&](const char *key) { return json[key].is_number() ? json[key].get<double>() : 0.0; };
    if (json.contains("accuracy"))
        print_text(stderr,
                   "accuracy        %.2f %% of %llu clips (95 %%: %.1f-%.1f), without _silence_ %.2f %%\n",
                   100 * value("accuracy"), json["clips"].get<unsigned long long>(),
                   100 * json["accuracy_interval"][0].get<double>(),
                   100 * json["accuracy_interval"][1].get<double>(), 100 * value("accuracy_without_silence"));
    if (json.contains("false_rejects"))
        print_text(stderr, "false rejects   %.2f %% of %llu words, %llu wrong words\n",
                   100 * value("false_reject_rate"), json["word_clips"].get<unsigned long long>(),
                   json["wrong_word_events"].get<unsigned long long>());
    print_product(json);
    if (json.contains("operating_point")) {
        const ordered_json &point = json["operating_point"];
        print_text(stderr, "thresholds      at most %.2f false accepts per hour (95 %%)%s\n",
                   point["per_hour_bound"].get<double>(),
                   point["shown"].get<bool>() ? "" : ": the wanted rate is not shown, give more negatives");
    }
    if (json.contains("false_accepts"))
        print_text(stderr, "false accepts   %llu in %.3f hours: %.2f per hour (95 %%: %.2f-%.2f)\n",
                   json["false_accepts"].get<unsigned long long>(), value("hours"),
                   value("false_accepts_per_hour"), json["false_accepts_per_hour_interval"][0].get<double>(),
                   json["false_accepts_per_hour_interval"][1].get<double>());
}

Status evaluate_words(const EvalFlags &flags, const Model &model, const std::vector<Clip> &clips,
                      Scorer &scorer, const Negatives *negatives, Evaluation &evaluation,
                      ordered_json &json) {
    const double rate = model.audio()->sample_rate, none = std::numeric_limits<double>::quiet_NaN();
    const auto quiet = static_cast<size_t>(flags.quiet_ms * rate / 1000) + model.info.stream_delay;
    if (!flags.isolated) {
        LW_ASSIGN(const WordStream words, run_words(scorer, clips, flags.audio, rate, quiet, {}, none));
        evaluation.rejects(judge(words, scorer.events(words.scores)), json);
        const ProductFlags product{flags.noise, flags.curve, flags.audio, flags.predictions};
        return evaluate_product(product, scorer, clips, words, quiet, model.info.name, negatives, json);
    }
    WordResult all;
    for (const Clip &clip : clips) {
        LW_ASSIGN(const WordStream word, run_words(scorer, {clip}, flags.audio, rate, quiet, {}, none));
        const WordResult one = judge(word, scorer.events(word.scores));
        all.words += one.words, all.missed += one.missed;
        all.wrong += one.wrong, all.on_others += one.on_others;
    }
    evaluation.rejects(all, json);
    return {};
}

Status evaluate(const EvalFlags &flags) {
    if (flags.clips.empty() && flags.negatives.empty())
        return Status::usage("nothing to evaluate: pass --clips DIR, --negatives DIR or both");
    if (flags.per_hour && flags.negatives.empty())
        return Status::usage("--per-hour: needs --negatives, on which it chooses the thresholds");
    LW_TRY(check_curves(flags.curve, !flags.clips.empty() && !flags.negatives.empty() && !flags.isolated,
                        flags.model.path));
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.model.path));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    if (!model.audio())
        return Status::usage(flags.model.path +
                             ": the model has no audio input, and eval measures keyword models; " +
                             right_command(model, flags.model.path, false));
    if (model.labels.empty())
        return Status::usage(flags.model.path +
                             ": the model has no labels, and eval measures keyword models; " +
                             right_command(model, flags.model.path, false));
    LW_ASSIGN(Stream stream, Stream::create(model));
    auto spotter = Spotter::create(file.view(), model, flags.decision); // knows the settings
    if (!spotter && file.plan().decision()) return spotter.status();
    Evaluation evaluation(flags, model, std::move(stream));

    ordered_json json = {
        {"model", model.info.name}, {"variant", model.info.variant}, {"device", name_of(model.device.get())}};
    if (model.placement) json["placement"] = to_json(*model.placement);
    std::vector<LeftOut> left_out;
    std::vector<std::string> files;
    std::optional<Scorer> scorer;
    if (spotter) {
        LW_ASSIGN(scorer, Scorer::create(file.view(), model, *spotter));
    }
    std::optional<Negatives> negatives;
    if (!flags.negatives.empty()) {
        if (!spotter) return spotter.status();
        for (const auto &path : flags.negatives) LW_TRY(collect_files(path, files, left_out));
        if (files.empty())
            return Status::input(flags.negatives[0] + ": contains no audio files" +
                                 (left_out.empty() ? "" : "; left out: " + text_of(left_out)));
        LW_ASSIGN(negatives, score_negatives(*scorer, files, flags.audio, spotter->rate()));
    }
    if (flags.per_hour) {
        LW_ASSIGN(const OperatingPoint chosen, operating_point(*scorer, *negatives, double{*flags.per_hour}));
        LW_ASSIGN(*spotter,
                  Spotter::create(file.view(), model, with_thresholds(flags.decision, model, chosen)));
        LW_ASSIGN(scorer, Scorer::create(file.view(), model, *spotter));
        json["operating_point"] = {{"wanted_per_hour", decimal(*flags.per_hour)},
                                   {"per_hour_bound", count_bound(chosen.false_accepts) / negatives->hours},
                                   {"shown", chosen.shown}};
    }
    if (flags.audio.gain_db != 0) json["gain_db"] = flags.audio.gain_db;
    if (!flags.clips.empty()) {
        LW_ASSIGN(const auto clips, find_clips(flags.clips, model.labels, flags.seed, left_out));
        LW_TRY(evaluation.accuracy(clips, json));
        json["false_reject_rate"] = nullptr;
        if (spotter)
            LW_TRY(evaluate_words(flags, model, clips, *scorer, negatives ? &*negatives : nullptr, evaluation,
                                  json));
    }
    if (negatives) evaluation.accepts(files, *negatives, scorer->events(negatives->scores), json);
    if (spotter) json["decision"] = spotter->settings();
    std::vector<std::string> noise;
    for (const auto &path : flags.noise) LW_TRY(collect_files(path, noise, left_out));
    json["left_out"] = ordered_json::array();
    for (const LeftOut &one : left_out) json["left_out"].push_back({{"file", one.path}, {"why", one.why}});
    if (!left_out.empty()) print_text(stderr, "left out        %s\n", printable(text_of(left_out)).c_str());
    print_summary(json);
    print_text(stdout, "%s\n", json_line(json).c_str());
    return {};
}

} // namespace

Command add_eval(CommandLine &program) {
    auto flags = std::make_shared<EvalFlags>();
    CommandLine *app = program.add_subcommand(
        "eval", "Measure accuracy, missed words and false alarms of a keyword model, as one JSON object.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    app->add_option("--clips", flags->clips, "Folder of labelled clips: FOLDER/<label>/<file>")->folder();
    app->add_option("--negatives", flags->negatives, "Folders or files that contain none of the words")
        ->file()
        ->value("PATH");
    app->add_flag("--isolated", flags->isolated,
                  "Reset the stream before each clip (default: one stream keeps its state over all clips)");
    app->add_option("--quiet-ms", flags->quiet_ms,
                    "Silence after each clip, in milliseconds, while missed words are counted")
        ->check(range(1500.0, 60000.0))
        ->value("MS")
        ->capture_default_str();
    app->add_option(
           "--noise", flags->noise,
           "Folders or files of noise. The clips are measured again with it, 20, 10, 5 and 0 dB below the "
           "words")
        ->file()
        ->value("PATH");
    app->add_option("--curve", flags->curve,
                    "Write missed words against false accepts per hour, one threshold for all words. Needs "
                    "--clips and "
                    "--negatives. FILE.csv or FILE.svg; repeat the flag for both")
        ->single()
        ->file()
        ->value("FILE");
    app->add_option("--per-hour", flags->per_hour,
                    "Choose the thresholds: the lowest with at most so many false accepts per hour of the "
                    "negatives. All words move alike. Everything else is measured with them")
        ->check(range(1e-6, 1e6))
        ->value("RATE");
    app->add_option("--seed", flags->seed, "Random seed for shuffling the clips")->capture_default_str();
    app->add_flag("--predictions", flags->predictions,
                  "Also print the outputs and the latency for every clip");
    app->add_flag("--json", flags->json, "Accepted for uniformity: the result is always JSON");
    flags->audio.add(*app, false);
    app->add_option("--gain", flags->audio.gain_db, "Amplify all audio by so many decibels (default: none)")
        ->check(range(-60.0, 60.0))
        ->value("DB");
    add_decision_flags(*app, flags->decision);
    app->footer(
        "accuracy: each clip is cut, or filled with zeros, to one second. A model with offline runs and "
        "without "
        "--window uses their length instead. The largest value in the last row of the first output is the "
        "decision, after the delay of that output. All clips pass through one stream without a reset. Their "
        "order is that of the sorted paths, shuffled by --seed.\n"
        "false_reject_rate: share of words without their event in the clip or in the silence after it. The "
        "events "
        "are those of `longwave listen`.\n"
        "words: latency, worst speakers, results by noise, and the score of MLPerf Tiny's streaming test. "
        "Latency runs "
        "from the end of the word in a clip to its event. The word ends with the last 10 ms within 25 dB of "
        "the "
        "loudest. The worst speakers are the tenth with most missed words. File names of Speech Commands "
        "name the "
        "speaker.\n"
        "false_accepts: number of events in the negatives, which form one long stream.\n"
        "left_out: files of the folders that are not audio, with the reason. A damaged file, or one with "
        "another "
        "sample rate, is an error.\n"
        "--per-hour: the upper limit of false accepts, at a confidence of 95 %, is at or below RATE from the "
        "chosen thresholds on. operating_point.shown is false where the negatives are too short to show it. "
        "The thresholds are then the lowest with as few false accepts as at 0.99.\n"
        "Intervals have a confidence of 95 %: Wilson for shares, exact Poisson for counts.");
    return {app, [flags] { return evaluate(*flags); }};
}

} // namespace longwave::cli
