// longwave run: one sequence, offline or through the stream.
#include "formats/audio/wav_file.h"
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/npy.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/model/placement.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/trace/trace.h"
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct RunFlags {
    ModelFlags model;
    std::vector<std::string> inputs, expected, outputs;
    uint64_t length = 0;
    uint32_t threads = 1;
    double limit = 1e-4;
    bool stream = false, json = false;
    std::vector<std::string> scalars; // NAME=VALUE
    std::string trace;
    AudioFlags audio;
};

struct Result {
    lw_output_info info = {};
    std::vector<float> rows;
    std::vector<uint64_t> shape() const {
        if (info.clock_num == 0) return {info.width};
        return {rows.size() / info.width, info.width};
    }
};

Expected<std::vector<Result>> run_offline(const Model &model, Sequence in, uint64_t length, uint32_t threads,
                                          Trace *trace) {
    if (length) in.lengths.assign(model.inputs.size(), length);
    LW_ASSIGN(Runner runner, Runner::create(model, threads));
    const uint64_t begin = Trace::clock_ns();
    LW_ASSIGN(auto rows, runner.run(in));
    if (trace) trace->call("run", begin, Trace::clock_ns(), in.rows);
    std::vector<Result> results;
    for (size_t i = 0; i < rows.size(); i++) results.push_back({model.run_outputs[i], std::move(rows[i])});
    return results;
}

// "NAME=VALUE" of --set.
Status set_scalar(Stream &stream, const std::string &text) {
    const size_t equals = text.find('=');
    float value = 0;
    const char *const end = text.data() + text.size();
    const char *const at = equals == std::string::npos ? end : text.data() + equals + 1;
    const auto [stopped, error] = std::from_chars(at, end, value);
    if (equals == 0 || at == end || error != std::errc() || stopped != end)
        return Status::usage("--set " + text + ": expected NAME=NUMBER, such as gain=0.5");
    const Status status = stream.set(text.substr(0, equals), value);
    return status ? status : Status::usage("--set " + text + ": " + status.message());
}

Expected<std::vector<Result>> run_stream(const Model &model, const Sequence &in,
                                         const std::vector<std::string> &scalars, Trace *trace) {
    LW_ASSIGN(Stream stream, Stream::create(model));
    for (const std::string &text : scalars) LW_TRY(set_scalar(stream, text));
    std::vector<Result> results;
    for (const auto &output : model.stream_outputs) results.push_back({output, {}});
    const auto keep = [&](const StreamRow &row) {
        auto &rows = results[row.index].rows;
        rows.insert(rows.end(), row.data, row.data + row.width);
    };
    const uint64_t begin = Trace::clock_ns();
    LW_TRY(stream.push(in.data(0), in.rows, keep));
    const uint64_t pushed = Trace::clock_ns();
    LW_TRY(stream.finish(keep));
    if (trace) trace->call("push", begin, pushed, in.rows);
    if (trace) trace->call("finish", pushed, Trace::clock_ns(), 0);
    return results;
}

// "name=value", or "value" when there is one output (the first, for files to compare with).
Expected<std::pair<size_t, std::string>> addressed(const std::vector<Result> &results,
                                                   const std::string &flag, const std::string &text) {
    const size_t equals = text.find('=');
    if (equals == std::string::npos) {
        if (results.size() == 1) return std::pair<size_t, std::string>(0, text);
        return Status::usage(flag + " " + text +
                             ": the model has several outputs; choose one with NAME=FILE");
    }
    for (size_t i = 0; i < results.size(); i++)
        if (text.substr(0, equals) == results[i].info.name) return std::pair(i, text.substr(equals + 1));
    std::string names;
    for (const auto &result : results) names += std::string(names.empty() ? "" : ", ") + result.info.name;
    return Status::usage(flag + " " + text + ": unknown output; the model has " + names);
}

std::string shape_text(const std::vector<uint64_t> &shape) {
    std::string text;
    for (uint64_t dim : shape) text += (text.empty() ? "" : " x ") + std::to_string(dim);
    return text;
}

Status compare(const RunFlags &flags, const std::vector<Result> &results, ordered_json &json) {
    Status failure;
    for (const std::string &text : flags.expected) {
        LW_ASSIGN(const auto where, addressed(results, "--expected", text));
        const Result &result = results[where.first];
        LW_ASSIGN(const Array expected,
                  read_npy(where.second[0] == '@' ? where.second.substr(1) : where.second));
        if (expected.data.size() != result.rows.size())
            return Status::input(text + ": the file has shape " + shape_text(expected.shape) +
                                 ", the output has shape " + shape_text(result.shape()));
        double peak = 0, error = 0;
        for (size_t i = 0; i < result.rows.size(); i++) {
            peak = std::max(peak, std::fabs(expected.data[i]));
            const double difference = std::fabs(expected.data[i] - result.rows[i]);
            error = std::isfinite(difference) ? std::max(error, difference) : INFINITY;
        }
        const double relative = peak > 0 ? error / peak : error;
        json[result.info.name]["error"] = relative;
        print_text(stderr, "%s: largest error %.2e of the peak (limit %.0e)\n", result.info.name, relative,
                   flags.limit);
        if (!(relative <= flags.limit) && failure)
            failure = Status::check(
                std::string("output ") + result.info.name +
                format(" differs from the expected values by %.2e of their peak; the limit is %.0e", relative,
                       flags.limit));
    }
    return failure;
}

// The file in "name=@file", "name=file" or "file"; empty for generated values.
std::string file_of(const std::string &text, bool marked) {
    const size_t equals = text.find('=');
    std::string file = equals == std::string::npos ? text : text.substr(equals + 1);
    if (file.starts_with('@')) return file.substr(1);
    return marked ? "" : file;
}

// The end of a file's name, in small letters: ".wav". Empty: none.
std::string ending_of(const std::string &path) {
    std::string ending = std::filesystem::path(path).extension().string();
    for (char &c : ending) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return ending;
}

bool is_audio(const std::string &ending) {
    return ending == ".wav" || ending == ".s16le" || ending == ".f32le";
}

// The rate of an output that is audio: one or two values for each sample of the input.
Expected<uint32_t> audio_rate_of(const Model &model, const lw_output_info &output, const std::string &path) {
    const auto refused = [&](const std::string &why) {
        return Status::usage(path + ": output " + output.name + " is not audio: " + why + "; write FILE.npy");
    };
    if (output.sample_rate) return output.sample_rate; // rows of samples
    if (!model.audio()) return refused("the model reads no audio, so its rows have no sample rate");
    if (output.clock_num != output.clock_den) return refused("it has not one row for each sample");
    if (output.width > 2)
        return refused("a row has " + std::to_string(output.width) + " values, and WAV takes one or two");
    return model.audio()->sample_rate;
}

Status write_result(const Model &model, const Result &result, const std::string &path) {
    const std::string ending = ending_of(path);
    if (!is_audio(ending)) return write_npy(path, result.shape(), result.rows);
    LW_ASSIGN(const uint32_t rate, audio_rate_of(model, result.info, path));
    if (ending != ".wav") {
        std::vector<uint8_t> raw;
        audio::encode(ending == ".s16le" ? audio::WrittenForm::s16 : audio::WrittenForm::f32, result.rows,
                      raw);
        return write_output(path, raw);
    }
    LW_ASSIGN(const std::vector<uint8_t> bytes,
              audio::wav_file(rate, result.info.sample_rate ? 1 : result.info.width, result.rows));
    return write_output(path, bytes);
}

// Before anything is computed.
Status check_formats(const RunFlags &flags, const Model &model) {
    std::vector<Result> results;
    for (const auto &output : flags.stream ? model.stream_outputs : model.run_outputs)
        results.push_back({output, {}});
    for (const std::string &text : flags.outputs) {
        LW_ASSIGN(const auto where, addressed(results, "-o", text));
        const std::string ending = ending_of(where.second);
        if (is_audio(ending)) LW_TRY(audio_rate_of(model, results[where.first].info, where.second).status());
        else if (!ending.empty() && ending != ".npy")
            return Status::usage(
                "-o " + text +
                ": writes FILE.npy or FILE.wav, or raw samples to FILE.s16le or FILE.f32le, not " + ending);
    }
    return {};
}

// A result must not replace a file that it is computed from.
Status check_outputs(const RunFlags &flags) {
    std::vector<std::string> read = {flags.model.path};
    for (const std::string &text : flags.inputs) read.push_back(file_of(text, true));
    for (const std::string &text : flags.expected) read.push_back(file_of(text, false));
    for (const std::string &text : flags.outputs) LW_TRY(check_output("-o", file_of(text, false), read));
    if (!flags.trace.empty()) LW_TRY(check_output("--trace", flags.trace, read));
    return {};
}

Status run(const RunFlags &flags) {
    if (!flags.scalars.empty() && !flags.stream)
        return Status::usage("--set: offline runs have the initial values of scalars; add --stream");
    LW_TRY(check_outputs(flags));
    ModelFlags open = flags.model;
    std::shared_ptr<Trace> trace;
    if (!flags.trace.empty()) {
        LW_ASSIGN(trace, Trace::create(open));
    }
    LW_ASSIGN(const Model model, Model::open(open));
    if (flags.stream ? model.info.has_stream : model.info.has_run) LW_TRY(check_formats(flags, model));
    const bool limited = !flags.stream && model.info.has_run;
    LW_ASSIGN(const Sequence in, read_inputs(model, flags.inputs, flags.audio.resample, flags.audio.channel,
                                             limited ? model.info.run_capacity : UINT64_MAX));
    LW_ASSIGN(const std::vector<Result> results,
              flags.stream ? run_stream(model, in, flags.scalars, trace.get())
                           : run_offline(model, in, flags.length, flags.threads, trace.get()));
    if (trace) LW_TRY(trace->write(flags.trace));

    // Null becomes one unsafely: nlohmann 3.11.2 crashes without memory.
    ordered_json json = ordered_json::object();
    for (const Result &result : results) {
        json[result.info.name] = {{"shape", result.shape()}};
        if (flags.json)
            json[result.info.name]["data"] = result.rows; // JSON is several times as large as the rows
    }
    Status compared = compare(flags, results, json);
    if (fallen_back(model.device.get()))
        print_text(stderr, "note: %s failed; the CPU continued\n", name_of(model.device.get()).c_str());
    if (model.placement && !json.contains("placement")) json["placement"] = to_json(*model.placement);
    for (const std::string &text : flags.outputs) {
        LW_ASSIGN(const auto where, addressed(results, "-o", text));
        LW_TRY(write_result(model, results[where.first], where.second));
    }
    if (flags.json) {
        print_text(stdout, "%s\n", json_line(json).c_str());
        return compared;
    }
    for (const Result &result : results) {
        print_text(stdout, "%s: %s", result.info.name, shape_text(result.shape()).c_str());
        const size_t width = result.info.width;
        if (result.rows.size() >= width &&
            width == model.labels.size()) { // classes: the winner of the last row
            const float *last = result.rows.data() + result.rows.size() - width;
            const auto best = std::max_element(last, last + width) - last;
            print_text(stdout, "   last row: %s %.4f", model.labels[static_cast<size_t>(best)].c_str(),
                       last[best]);
        } else {
            for (size_t i = 0; i < std::min<size_t>(8, result.rows.size()); i++)
                print_text(stdout, " %.6g", result.rows[i]);
        }
        print_text(stdout, "\n");
    }
    return compared;
}

} // namespace

Command add_run(CommandLine &program) {
    auto flags = std::make_shared<RunFlags>();
    CommandLine *app = program.add_subcommand("run", "Run a compiled model offline over one sequence.");
    flags->model.add(*app);
    app->add_option("-i,--input", flags->inputs,
                    "Values of one input: NAME=@FILE.npy, NAME=@FILE.wav, or NAME=ROWS[xWIDTH] for generated "
                    "values. Give it once per input. A model with one input needs no NAME=")
        ->value("INPUT")
        ->required();
    app->add_option(
           "--expected", flags->expected,
           "Compare an output with a file: OUTPUT=@FILE.npy. The exit code is 1 if the difference is "
           "above --limit")
        ->value("OUTPUT");
    app->add_option("--limit", flags->limit, "Largest difference, relative to the largest expected value")
        ->check(range(0.0, 1e9))
        ->capture_default_str();
    add_device_flags(*app, flags->model);
    app->add_option("-o,--output", flags->outputs,
                    "Write an output to a file: OUTPUT=FILE.npy. Of an output that is audio also FILE.wav, "
                    "and raw samples to "
                    "FILE.s16le or FILE.f32le. A "
                    "model with one output needs no OUTPUT=")
        ->value("OUTPUT");
    app->add_option("--length", flags->length,
                    "Number of valid rows, for models that pool over rows (default: all)")
        ->value("ROWS");
    app->add_option("--threads", flags->threads,
                    "Number of threads of an offline run. The outputs are bit-identical for any number")
        ->check(range(1, 256))
        ->capture_default_str();
    app->add_flag("--stream", flags->stream, "Run through the stream entry instead of offline");
    app->add_option("--set", flags->scalars,
                    "With --stream: set a scalar of the model before the first row: NAME=NUMBER. `longwave "
                    "inspect` lists them")
        ->value("NAME=NUMBER");
    app->add_flag("--json", flags->json, "Print the outputs as one JSON object");
    add_trace_flag(*app, flags->trace);
    flags->audio.add(*app, false);
    app->footer("An array has the shape [rows, width], or [rows] where the width is 1. Numbers of float32 or "
                "float64 are "
                "taken as they are. int16 and int32 audio is divided by its full scale.");
    return {app, [flags] {
                flags->model.streams = flags->stream;
                return run(*flags);
            }};
}

} // namespace longwave::cli
