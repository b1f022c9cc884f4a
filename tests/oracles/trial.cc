#include "tests/oracles/trial.h"
#include "compiler/compile.h"
#include "tools/cli/artifact_file.h"
#include "tools/cli/samples.h"
#include <algorithm>
#include <cmath>

namespace longwave::oracles {
namespace {

using Rows = std::vector<std::vector<float>>; // by output

// Largest difference. An output may have more rows than its reference, as a stream's where the whole gives
// one: then rows at one end count.
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

// One line for each comparison of this kind; results[sequence][output].
Status compare(const Trial &trial, const std::vector<Rows> &results,
               const std::vector<lw_output_info> &outputs, bool stream, const std::string &where,
               std::vector<Measured> &measured) {
    for (const Comparison &comparison : trial.comparisons) {
        if (!(stream ? comparison.stream : comparison.whole)) continue;
        const int output = index_of(outputs, comparison.output);
        if (output < 0) return Status::check("the artifact has no output " + comparison.output);
        Measured m{where + comparison.what, 0, comparison.limit};
        for (size_t i = 0; i < comparison.reference.size(); i++) {
            const auto &found = results[i][static_cast<size_t>(output)], &reference = comparison.reference[i];
            if (found.size() < reference.size() ||
                reference.size() % outputs[static_cast<size_t>(output)].width || reference.empty()) {
                return Status::check(where + comparison.what + ": the model gives " +
                                     std::to_string(found.size()) + " numbers, the reference has " +
                                     std::to_string(reference.size()));
            }
            m.error = std::max(m.error, distance(found, reference, comparison.leading) /
                                            (comparison.peak > 0 ? comparison.peak : 1));
        }
        measured.push_back(m);
    }
    return {};
}

Expected<cli::Model> build(const Trial &trial, const Settings &settings, bool whole, uint32_t block) {
    LW_ASSIGN(const package::Package package, package::parse(trial.model_json, trial.weights));
    compiler::Options options;
    options.targets = {cli::host_target()};
    options.stream = block ? compiler::StreamMode::required : compiler::StreamMode::none;
    if (block) options.blocks = {block};
    options.length = trial.length;
    options.whole = whole;
    options.kgen = settings.kgen;
    options.cache = settings.cache;
    options.convolution = settings.convolution;
    LW_ASSIGN(const compiler::Compiled compiled, compiler::compile(package, options));
    return cli::Model::open(compiled.artifact);
}

Status run_whole(const Trial &trial, const cli::Model &model, std::vector<Measured> &measured) {
    LW_ASSIGN(cli::Runner runner, cli::Runner::create(model));
    std::vector<Rows> results;
    for (const cli::Sequence &sequence : trial.sequences) {
        LW_ASSIGN(Rows rows, runner.run(sequence));
        results.push_back(std::move(rows));
    }
    return compare(trial, results, model.run_outputs, false, "", measured);
}

Status run_stream(const Trial &trial, const cli::Model &model, uint32_t block,
                  std::vector<Measured> &measured) {
    LW_ASSIGN(cli::Stream stream, cli::Stream::create(model));
    cli::Random random(trial.length);
    std::vector<Rows> results;
    for (const cli::Sequence &sequence : trial.sequences) { // one stream for all: reset must be complete
        Rows rows(model.stream_outputs.size());
        const auto keep = [&](const cli::StreamRow &row) {
            rows[row.index].insert(rows[row.index].end(), row.data, row.data + row.width);
        };
        LW_TRY(stream.reset());
        const size_t tick_bytes = 4 * size_t{model.inputs[0].kind == LW_TOKENS ? 1 : model.inputs[0].width};
        for (size_t at = 0; at < sequence.rows;) {
            const size_t n = std::min<size_t>(1 + random.below(2 * block + 1), sequence.rows - at);
            LW_TRY(stream.push(static_cast<const uint8_t *>(sequence.data(0)) + at * tick_bytes, n, keep));
            at += n;
        }
        LW_TRY(stream.finish(keep));
        results.push_back(std::move(rows));
    }
    return compare(trial, results, model.stream_outputs, true, "stream@" + std::to_string(block) + " ",
                   measured);
}

} // namespace

Expected<std::vector<Measured>> run(const Trial &trial, const Settings &settings) {
    std::vector<Measured> measured;
    const auto some = [&](bool Comparison::*kind) {
        return std::any_of(trial.comparisons.begin(), trial.comparisons.end(),
                           [&](const Comparison &c) { return c.*kind; });
    };
    if (some(&Comparison::whole)) {
        LW_ASSIGN(const cli::Model model, build(trial, settings, true, 0));
        LW_TRY(run_whole(trial, model, measured));
    }
    if (trial.streams && some(&Comparison::stream)) {
        for (const uint32_t block : settings.blocks) {
            LW_ASSIGN(const cli::Model model, build(trial, settings, false, block));
            LW_TRY(run_stream(trial, model, block, measured));
        }
    }
    return measured;
}

} // namespace longwave::oracles
