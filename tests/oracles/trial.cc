#include "tests/oracles/trial.h"
#include "compiler/driver/compile.h"
#include "tests/oracles/contained.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/model.h"
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace longwave::oracles {
namespace {

using Rows = std::vector<std::vector<float>>; // by output

// Largest difference. An output may have more rows than its reference, as a stream's where the
// whole gives one: then rows at one end count.
double distance(const std::vector<float> &found, const std::vector<float> &reference, bool leading) {
    const size_t from = leading ? 0 : found.size() - reference.size();
    double error = 0;
    for (size_t i = 0; i < reference.size(); i++) {
        const double difference = std::fabs(static_cast<double>(found[from + i]) - reference[i]);
        if (!std::isfinite(difference)) return INFINITY;
        error = std::max(error, difference);
    }
    return error;
}

int index_of(const std::vector<lw_output_info> &outputs, const std::string &name) {
    for (size_t i = 0; i < outputs.size(); i++)
        if (name == outputs[i].name) return static_cast<int>(i);
    return -1;
}

// What was run, as Measured names it.
struct Where {
    std::string entry, target;
};

// One measurement for each comparison; results[sequence][output].
Status compare(const Trial &trial, const std::vector<Rows> &results,
               const std::vector<lw_output_info> &outputs, const Where &where,
               std::vector<Measured> &measured) {
    const bool stream = !where.entry.empty();
    for (const Comparison &comparison : trial.comparisons) {
        if (!(stream ? comparison.stream : comparison.whole)) continue;
        const int output = index_of(outputs, comparison.output);
        if (output < 0) return Status::check("the artifact has no output " + comparison.output);
        Measured m{comparison.what, where.entry, where.target, 0, comparison.limit};
        for (size_t i = 0; i < comparison.reference.size(); i++) {
            const auto &found = results[i][static_cast<size_t>(output)], &reference = comparison.reference[i];
            if (found.size() < reference.size() ||
                reference.size() % outputs[static_cast<size_t>(output)].width || reference.empty()) {
                return Status::check(m.what() + ": the model gives " + std::to_string(found.size()) +
                                     " numbers, the reference has " + std::to_string(reference.size()));
            }
            m.error = std::max(m.error, distance(found, reference, comparison.leading) /
                                            (comparison.peak > 0 ? comparison.peak : 1));
        }
        measured.push_back(m);
    }
    return {};
}

// For the targets that load code. `streams`: with an entry for each block.
compiler::Options options_of(const Trial &trial, const Settings &settings, bool streams, bool device) {
    compiler::Options options;
    if (settings.targets.empty()) options.targets = {cli::host_target()};
    for (const std::string &target : settings.targets)
        if (!settings.programs.contains(target)) options.targets.push_back(target);
    if (device) options.targets.push_back(settings.gpu_target);
    options.stream = streams ? compiler::StreamMode::required : compiler::StreamMode::none;
    if (streams) options.blocks = settings.blocks;
    options.length = trial.length;
    options.kgen = settings.kgen;
    options.cache = settings.cache;
    options.convolution = settings.convolution;
    if (device) options.gpu_storage = settings.gpu_storage;
    return options;
}

Expected<compiler::Compiled> compile(const Trial &trial, const compiler::Options &options) {
    LW_ASSIGN(const package::Package package, package::parse(trial.model_json, trial.weights));
    return compiler::compile(package, options);
}

// A compiled model that is open somewhere. `target`: of Settings::targets, or empty.
struct Place {
    std::string target;
    cli::Model model;
};

Expected<std::vector<Place>> open(const std::vector<uint8_t> &artifact, const Settings &settings) {
    std::vector<Place> places;
    for (const std::string &target : settings.targets) {
        if (settings.programs.contains(target)) continue;
        const auto emulator = settings.emulators.find(target);
        auto model = emulator == settings.emulators.end()
                         ? cli::Model::open(artifact, target)
                         : cli::Model::open(artifact, target, emulator->second);
        if (!model) return model.status();
        places.push_back({target, *std::move(model)});
    }
    if (!settings.targets.empty()) return places;
    auto model = settings.device ? cli::Model::open(artifact, settings.device) : cli::Model::open(artifact);
    if (!model) return model.status();
    places.push_back({"", *std::move(model)});
    return places;
}

// `not_there`: what a device cannot run is compiled once more for the CPU alone, so that nothing
// else passes for that. `more`: what float16 may add to the error of whole runs: twice what it may
// with the golden input, for peaks differ.
Expected<std::vector<Place>> build(const Trial &trial, const Settings &settings, bool streams,
                                   std::string *not_there, double *more) {
    const compiler::Options options = options_of(trial, settings, streams, settings.device != nullptr);
    std::vector<Place> contained;
    for (const auto &[target, command] : settings.programs) {
        LW_ASSIGN(const package::Package package, package::parse(trial.model_json, trial.weights));
        LW_ASSIGN(cli::Model model, open_contained(package, options, target, command));
        contained.push_back({target, std::move(model)});
    }
    if (options.targets.empty()) return contained;
    const auto made = compile(trial, options);
    if (made) {
        const auto precision = nlohmann::json::parse(made->report).at("precision");
        if (precision.contains("float16"))
            *more =
                2 * (precision.at("float16").at("limit").get<double>() - precision.at("limit").get<double>());
        LW_ASSIGN(std::vector<Place> places, open(made->artifact, settings));
        std::move(contained.begin(), contained.end(), std::back_inserter(places));
        return places;
    }
    if (settings.device && made.status().fault() == Fault::input &&
        compile(trial, options_of(trial, settings, streams, false)))
        *not_there = made.status().message();
    return made.status();
}

Status run_whole(const Trial &trial, const Place &place, double more, std::vector<Measured> &measured) {
    LW_ASSIGN(cli::Runner runner, cli::Runner::create(place.model));
    std::vector<Rows> results;
    for (const cli::Sequence &sequence : trial.sequences) {
        LW_ASSIGN(Rows rows, runner.run(sequence));
        results.push_back(std::move(rows));
    }
    const size_t first = measured.size();
    LW_TRY(compare(trial, results, place.model.run_outputs, {"", place.target}, measured));
    for (size_t i = first; i < measured.size(); i++) measured[i].limit += more;
    return {};
}

// A stream entry of a model that is open somewhere.
struct StreamEntry {
    const Place *place;
    uint32_t index;
};

// One state in the hands of one stream, or of several of different entries and targets that take
// turns: what one has saved the next one loads, wherever the input was cut.
class Relay {
public:
    static Expected<Relay> create(const std::vector<StreamEntry> &entries) {
        Relay relay;
        for (const StreamEntry &entry : entries) {
            LW_ASSIGN(cli::Stream stream, cli::Stream::create(entry.place->model, LW_F32, entry.index));
            relay.streams_.push_back(std::move(stream));
        }
        return relay;
    }
    cli::Stream &now() { return streams_[current_]; }
    Status pass_on(size_t to) {
        if (streams_.size() == 1) return {};
        LW_ASSIGN(const std::vector<uint8_t> saved, now().save());
        current_ = to % streams_.size();
        return now().load(saved);
    }

private:
    std::vector<cli::Stream> streams_;
    size_t current_ = 0;
};

// `where`: the entries that take part.
Status run_stream(const Trial &trial, const std::vector<StreamEntry> &entries, const Where &where,
                  std::vector<Measured> &measured) {
    LW_ASSIGN(Relay relay, Relay::create(entries));
    const cli::Model &model = entries.front().place->model;
    uint32_t largest = 1;
    for (const StreamEntry &entry : entries) largest = std::max(largest, model.entry(entry.index).block);
    cli::Random random(trial.length);
    std::vector<Rows> results;
    for (const cli::Sequence &sequence :
         trial.sequences) { // the same streams for all: reset must be complete
        Rows rows(model.stream_outputs.size());
        const auto keep = [&](const cli::StreamRow &row) {
            rows[row.index].insert(rows[row.index].end(), row.data, row.data + row.width);
        };
        LW_TRY(relay.now().reset());
        const size_t tick_bytes =
            4 * size_t{model.inputs[0].kind == LW_INPUT_TOKENS ? 1 : model.inputs[0].width};
        for (size_t at = 0; at < sequence.rows;) {
            const size_t n = std::min<size_t>(1 + random.below(2 * largest + 1), sequence.rows - at);
            LW_TRY(
                relay.now().push(static_cast<const uint8_t *>(sequence.data(0)) + at * tick_bytes, n, keep));
            at += n;
            LW_TRY(relay.pass_on(random.below(entries.size())));
        }
        LW_TRY(relay.now().finish(keep));
        results.push_back(std::move(rows));
    }
    return compare(trial, results, model.stream_outputs, where, measured);
}

// Each entry of each place alone, then all of them in turns.
Status run_streams(const Trial &trial, const std::vector<Place> &places, std::vector<Measured> &measured) {
    std::vector<StreamEntry> all;
    for (const Place &place : places) {
        for (uint32_t entry = 0; entry < place.model.info.stream_entries; entry++) {
            all.push_back({&place, entry});
            LW_TRY(run_stream(trial, {all.back()},
                              {std::to_string(place.model.entry(entry).block), place.target}, measured));
        }
    }
    if (all.size() < 2) return {};
    return run_stream(trial, all, {"all", places.size() > 1 ? "all" : places[0].target}, measured);
}

} // namespace

Expected<std::vector<Measured>> run(const Trial &trial, const Settings &settings, std::string *not_there) {
    std::vector<Measured> measured;
    const auto some = [&](bool Comparison::*kind) {
        return std::any_of(trial.comparisons.begin(), trial.comparisons.end(),
                           [&](const Comparison &c) { return c.*kind; });
    };
    const bool streams = trial.streams && some(&Comparison::stream);
    if (!streams && !some(&Comparison::whole)) return measured;
    double more = 0;
    LW_ASSIGN(const std::vector<Place> places, build(trial, settings, streams, not_there, &more));
    if (some(&Comparison::whole))
        for (const Place &place : places) LW_TRY(run_whole(trial, place, more, measured));
    if (!streams) return measured;
    if (places[0].model.info.stream_entries == 0) {
        *not_there = "it has no stream there";
        return measured;
    }
    LW_TRY(run_streams(trial, places, measured));
    return measured;
}

} // namespace longwave::oracles
