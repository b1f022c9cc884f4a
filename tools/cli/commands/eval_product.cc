#include "tools/cli/commands/eval_product.h"
#include "tools/cli/commands/eval_curve.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include <cmath>
#include <cstdio>
#include <limits>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// All files in one row; `scores` gets one stream over them.
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

Expected<double> score_negatives(Scorer &scorer, const ProductFlags &flags, double rate, Scores &scores) {
    std::vector<std::string> files;
    std::vector<LeftOut> left_out; // listed by its first reader
    for (const std::string &path : flags.negatives) LW_TRY(collect_files(path, files, left_out));
    LW_TRY(scorer.reset());
    double samples = 0;
    Progress progress;
    for (size_t i = 0; i < files.size(); i++) {
        progress.show(i, files.size(), "scores of negatives");
        LW_ASSIGN(const std::vector<float> audio, read_clip(files[i], flags.audio, rate));
        LW_TRY(scorer.push(audio, scores));
        samples += static_cast<double>(audio.size());
    }
    LW_TRY(scorer.finish(scores));
    return samples / rate / 3600;
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

} // namespace

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

Status evaluate_product(const ProductFlags &flags, const artifact::View &artifact, const Model &model,
                        const Spotter &spotter, ordered_json &json) {
    const double rate = spotter.rate();
    std::vector<LeftOut> left_out; // listed by its first reader
    LW_ASSIGN(const auto clips, find_clips(flags.clips, model.labels, flags.seed, left_out));
    LW_ASSIGN(Scorer scorer, Scorer::create(artifact, model, spotter));
    const auto quiet = static_cast<size_t>(flags.quiet_ms * rate / 1000) + model.info.stream_delay;
    LW_ASSIGN(const WordStream words, run_words(scorer, clips, flags.audio, rate, quiet, {},
                                                std::numeric_limits<double>::quiet_NaN()));
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
    if (flags.negatives.empty()) return {};
    Scores negatives;
    LW_ASSIGN(const double hours, score_negatives(scorer, flags, rate, negatives));
    const auto points = curve_of(scorer, words, negatives, hours);
    const CurvePoint chosen{0, result.missed, result.words, scorer.events(negatives).size(), hours};
    json["curve"] = ordered_json::array();
    for (const CurvePoint &point : points) json["curve"].push_back(to_json(point));
    for (const std::string &file : flags.curve) {
        const std::string text =
            file.ends_with(".csv") ? curve_csv(points) : curve_svg(points, chosen, model.info.name);
        LW_TRY(write_output(file, {reinterpret_cast<const uint8_t *>(text.data()), text.size()}));
    }
    return {};
}

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

} // namespace longwave::cli
