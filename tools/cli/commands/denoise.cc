// longwave denoise: audio through a model, from a file, a pipe or a microphone to a file or a pipe.
#include "tools/cli/audio/audio_input.h"
#include "tools/cli/audio/audio_output.h"
#include "tools/cli/commands/command.h"
#include "tools/cli/files/output_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/json_lines.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/process/interruption.h"
#include <algorithm>
#include <cctype>
#include <csignal>
#include <filesystem>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

struct DenoiseFlags {
    ModelFlags model;
    AudioFlags audio;
    std::string output, form = "wav", name; // file, format, output of the model
    bool keep_latency = false, json = false;

    bool from_file() const { return audio.microphone.empty() && audio.path != "-"; }
};

// A name that says another format than the one that is written would hide it from other programs.
Status check_name(const std::string &output, const std::string &form) {
    std::string ending = std::filesystem::path(output).extension().string();
    std::transform(ending.begin(), ending.end(), ending.begin(),
                   [](unsigned char c) { return std::tolower(c); });
    const bool wav = form.starts_with("wav"), raw = ending == ".s16le" || ending == ".f32le";
    const auto is_one_of = [&ending](std::initializer_list<std::string_view> endings) {
        return std::find(endings.begin(), endings.end(), ending) != endings.end();
    };
    const bool other =
        is_one_of({".mp3", ".flac", ".ogg", ".oga", ".opus", ".m4a", ".mp4", ".aac", ".wma", ".webm", ".aif",
                   ".aiff", ".au", ".snd", ".caf", ".w64", ".sph", ".json", ".txt"});
    if (ending == ".wav" && !wav)
        return Status::usage("OUTPUT " + output + ": the name says WAV, and --output-format " + form +
                             " has no header; name a ." + form + " file");
    if (raw && "." + form != ending)
        return Status::usage("OUTPUT " + output + ": the name says raw samples, and --output-format is " +
                             form + "; pass --output-format " + ending.substr(1));
    if (wav && is_one_of({".raw", ".pcm"}))
        return Status::usage("OUTPUT " + output + ": the name says raw samples, and " + form +
                             " has a header; pass --output-format s16le or f32le");
    if (other)
        return Status::usage("OUTPUT " + output + ": the name says " + ending.substr(1) + ", and " + form +
                             " is written; name a .wav file and convert it");
    return {};
}

AudioForm form_of(const std::string &name, uint32_t rate) {
    AudioForm form;
    form.samples = name == "wav16" || name == "s16le" ? audio::WrittenForm::s16 : audio::WrittenForm::f32;
    form.wav = name == "wav" || name == "wav16";
    form.rate = rate;
    return form;
}

Status check_files(const DenoiseFlags &flags) {
    if (flags.output == "-") return {};
    LW_TRY(check_name(flags.output, flags.form));
    std::vector<std::string> read = {flags.model.path};
    if (flags.from_file()) read.push_back(flags.audio.path);
    return check_output("OUTPUT", flags.output, read);
}

Status check_model(const DenoiseFlags &flags, const Model &model) {
    const std::string &path = flags.model.path;
    if (!model.info.has_stream)
        return Status::usage(path + ": was compiled without a stream; compile it with --stream");
    if (!model.audio())
        return Status::usage(path + ": the model has no audio input; " + right_command(model, path, false));
    std::string names;
    size_t found = 0;
    for (const lw_output_info &output : model.stream_outputs) {
        names += (names.empty() ? "" : ", ") + std::string(output.name);
        if (output.sample_rate && (flags.name.empty() || flags.name == output.name)) found++;
    }
    if (!flags.name.empty()) {
        const int index = model.stream_output(flags.name);
        if (index < 0)
            return Status::usage("--name " + flags.name + ": unknown output; the model has " + names);
        if (found == 0)
            return Status::usage("--name " + flags.name + ": this output is not audio; its rows are numbers");
        return {};
    }
    if (found == 1) return {};
    if (found > 1)
        return Status::usage(path + ": several outputs are audio; choose one with --name: " + names);
    return Status::usage(
        path +
        ": no output of the model is audio; import it with --output NAME=audio if its rows are samples (in "
        "model.json: \"kind\": \"audio\"), or " +
        right_command(model, path, model.info.labels > 1));
}

// Other rates are converted on both sides of the model, so that the output has that of the input.
Expected<audio::Reader> open_input(const DenoiseFlags &flags, const Model &model) {
    AudioFlags audio = flags.audio;
    const uint32_t rate = model.audio()->sample_rate;
    if (!audio.rate) audio.rate = rate;
    const auto notice = [](const std::string &text) { print_text(stderr, "%s\n", text.c_str()); };
    return open_audio(audio, audio.resample && audio.microphone.empty() ? 0 : rate, notice);
}

// A file that is there can wait, and a larger block reads the weights for more rows at once. 0: the default
// entry.
uint32_t block_for(const DenoiseFlags &flags, const Model &model) {
    uint32_t largest = 0;
    if (!flags.from_file() || flags.keep_latency || model.device) return largest;
    for (uint32_t i = 0; i < model.info.stream_entries; ++i) {
        lw_stream_entry_info entry = LW_STREAM_ENTRY_INFO_INIT;
        if (lw_model_stream_entry(model.handle.get(), i, &entry) == LW_OK)
            largest = std::max(largest, entry.block);
    }
    return largest;
}

// What is said at the end.
struct Summary {
    uint64_t samples = 0;
    double busy = 0; // seconds of computing
    lw_audio_stream_info info = {};
};

Status transform(const DenoiseFlags &flags, audio::Reader &reader, AudioStream &stream, AudioOutput &output,
                 Summary &summary) {
    std::vector<float> chunk(4096);
    const auto take = [&output](const float *samples, size_t n) { return output.write(samples, n); };
    Progress progress;
    while (!stopped) {
        LW_ASSIGN(const size_t n, reader.read(chunk.data(), chunk.size()));
        if (n == 0) break;
        summary.samples += n;
        const double before = now();
        LW_TRY(stream.push(chunk.data(), n, take));
        summary.busy += now() - before;
        progress.show(summary.samples / reader.sample_rate(), 0, "s of audio");
    }
    progress.finish();
    if (stopped && (flags.from_file() || summary.samples == 0))
        return Status::input(flags.audio.name() + (flags.output == "-"
                                                       ? ": interrupted before its end"
                                                       : ": interrupted, so nothing is written"));
    if (summary.samples == 0 && !stopped) return Status::input(flags.audio.name() + ": contains no samples");
    LW_TRY(stream.finish(take));
    summary.info = stream.info();
    return {};
}

void print_summary(const DenoiseFlags &flags, const Model &model, const Summary &summary) {
    FILE *const to = flags.output == "-" ? stderr : stdout;
    const lw_audio_stream_info &info = summary.info;
    const double seconds = static_cast<double>(summary.samples) / info.rate_in,
                 latency = 1000.0 * info.latency / info.rate_out;
    const double factor = seconds > 0 ? summary.busy / seconds : 0;
    if (flags.json) {
        const ordered_json json = {{"model", model.info.name},
                                   {"samples", info.given},
                                   {"sample_rate", info.rate_out},
                                   {"latency_samples", info.latency},
                                   {"latency_ms", decimal(latency)},
                                   {"latency_removed", !flags.keep_latency},
                                   {"real_time_factor", decimal(factor)},
                                   {"non_finite", info.non_finite},
                                   {"resets", info.resets},
                                   {"variant", model.info.variant},
                                   {"device", name_of(model.device.get())}};
        print_text(to, "%s\n", json_line(json).c_str());
        return;
    }
    print_text(to, "%.3f s at %u Hz, %.4f of real time · latency %.1f ms %s\n", seconds, info.rate_out,
               factor, latency, flags.keep_latency ? "kept" : "removed");
    if (info.non_finite)
        print_text(stderr, "warning: %llu samples were not finite or too large, and count as 0\n",
                   static_cast<unsigned long long>(info.non_finite));
    if (info.resets)
        print_text(stderr, "warning: the model gave values that are not finite, so it was reset %llu times\n",
                   static_cast<unsigned long long>(info.resets));
}

Status denoise(const DenoiseFlags &flags) {
    LW_TRY(check_files(flags));
    LW_ASSIGN(const Model model, Model::open(flags.model));
    LW_TRY(check_model(flags, model));
    LW_ASSIGN(audio::Reader reader, open_input(flags, model));
    const uint32_t rate = reader.sample_rate() != model.audio()->sample_rate ? reader.sample_rate() : 0;
    LW_ASSIGN(AudioStream stream,
              AudioStream::create(model, flags.name, rate, flags.keep_latency, block_for(flags, model)));
    stop_on_signals();
    std::signal(SIGPIPE, SIG_IGN);
    Summary summary;
    LW_TRY(write_audio(flags.output, form_of(flags.form, stream.info().rate_out), [&](AudioOutput &output) {
        return transform(flags, reader, stream, output, summary);
    }));
    print_summary(flags, model, summary);
    return {};
}

} // namespace

Command add_denoise(CommandLine &program) {
    auto flags = std::make_shared<DenoiseFlags>();
    CommandLine *app = program.add_subcommand(
        "denoise", "Send audio through a model whose output is audio, such as a denoiser.");
    flags->model.add(*app);
    flags->model.streams = true;
    add_device_flags(*app, flags->model);
    flags->audio.add(*app, true);
    app->add_option("output,-o,--output", flags->output, "File to write, or - for standard output")
        ->file()
        ->required();
    app->add_option("--output-format", flags->form,
                    "`wav` has 32-bit floats, `wav16` has 16-bit integers, the others have no header")
        ->check(one_of({"wav", "wav16", "s16le", "f32le"}))
        ->value("FORMAT")
        ->capture_default_str();
    app->add_option("--name", flags->name, "Output of the model (default: the only audio output)")
        ->value("OUTPUT");
    app->add_flag("--keep-latency", flags->keep_latency,
                  "Leave the latency that a live stream has: zeros come first, and the end is cut");
    app->add_flag("--json", flags->json, "Print one JSON object about the run");
    app->footer("Example:\n"
                "  longwave denoise dtln.lw noisy.wav clean.wav\n"
                "  arecord -f S16_LE -r 16000 -t raw | longwave denoise dtln.lw --format s16le - out.wav\n"
                "The output has as many samples as the input, and sample i of both is the same moment. With "
                "--resample the "
                "output has the rate of the input.\n"
                "Of a file the stream takes the largest of --blocks of `longwave compile`, unless "
                "--keep-latency is given.\n"
                "A file is written beside its place and put there at the end.");
    return {app, [flags] { return denoise(*flags); }};
}

} // namespace longwave::cli
