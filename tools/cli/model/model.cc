#include "tools/cli/model/model.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/placement.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/remote/remote_model.h"
#include <algorithm>

namespace longwave::cli {

static lw_open_options open_options(const std::string &variant) {
    lw_open_options options = {};
    options.struct_size = sizeof options;
    options.allow_unsigned_code = 1;
    options.variant = variant.empty() ? nullptr : variant.c_str();
    return options;
}

void ModelFlags::add(CommandLine &app) {
    app.add_option("model", path, "Compiled model (.lw)")->file(".lw")->required();
    app.add_option("--variant", variant, "Code variant to run (default: the best for this CPU)")
        ->value("TARGET")
        ->suggests({"x86-64-v2", "x86-64-v3", "x86-64-v4"});
    app.add_option("--memory", memory,
                   "Memory limit, such as 500M or 2G (default: the larger of 64 MiB and 64 times the file)")
        ->size();
    app.add_flag(
        "--map", map,
        "Read the weights from the mapped file instead of a copy in memory. The file must not change "
        "meanwhile");
    app.add_option(
           "--require-key", require_key,
           "Open the model only if this public key (64 hexadecimal digits) signed it. Repeat the flag for "
           "several keys, or name a file with one key per line")
        ->single()
        ->value("KEY");
    app.add_option(
           "--least-version", least_version,
           "With --require-key: open the model only if its version (--model-version) is at least this")
        ->value("N");
}

static Status not_trusted(const std::string &path) {
    return Status::input(
        path + ": is not signed by the key that --require-key names; get the file from the owner of "
               "the key, or sign it with `longwave sign`");
}

Status ModelFlags::check_trust(const artifact::Header &header) const {
    LW_ASSIGN(const std::vector<PublicKey> keys, public_keys("--require-key", require_key));
    const Signature signature = signature_of(header);
    for (const PublicKey &key : keys)
        if (signature.state == Signature::State::valid && to_hex(key) == signature.key) return {};
    return keys.empty() ? Status() : not_trusted(path);
}

// The first use of a GPU checks its results (longwave/vulkan.h). The model must have the entries
// that the command needs.
static Status check_device(const ModelFlags &flags, const Model &model) {
    if (!model.device) return {};
    if (flags.streams && !model.info.has_stream)
        return Status::usage("--device " + flags.device + ": " + model.info.name +
                             " has no stream entry for a GPU; leave --device out, or use --device auto");
    return flags.checked ? Status() : verify_device(model.handle.get(), false);
}

Expected<Model> Model::open(const ModelFlags &flags) {
    LW_TRY(check_model_file(flags.path));
    if (flags.device == "auto") return open_placed(flags);
    lw_open_options options = open_options(flags.variant);
    options.memory_limit = flags.memory;
    options.map_weights = flags.map ? 1 : 0;
    LW_ASSIGN(const std::vector<PublicKey> keys, public_keys("--require-key", flags.require_key));
    if (flags.least_version > 0 && keys.empty())
        return Status::usage(
            "--least-version: give --require-key too, because a version counts only under a signature");
    if (!keys.empty()) {
        options.require_signature = 1;
        options.check_signature = signature_matches;
        options.trusted_keys = keys[0].data();
        options.n_trusted_keys = keys.size();
        options.least_version = flags.least_version;
    }
    LW_ASSIGN(const std::shared_ptr<lw_device> device, open_device(flags.device, flags.use));
    options.device = flags.watched ? flags.watched.get() : device.get();
    lw_model *model = nullptr;
    const lw_status status = lw_model_open(flags.path.c_str(), &options, &model);
    if (status == LW_UNSIGNED_CODE) return not_trusted(flags.path);
    if (status == LW_OLD_VERSION)
        return Status::input(flags.path + ": " + lw_last_error() + "; get a newer file");
    if (status == LW_NO_MEMORY)
        return Status::device(flags.path + ": " + lw_last_error() + "; --memory sets another limit");
    LW_TRY(status_of(status, flags.path));
    LW_ASSIGN(Model opened, describe(model, device, flags.watched));
    LW_TRY(check_device(flags, opened));
    return opened;
}

Expected<Model> Model::open(const std::vector<uint8_t> &bytes, std::shared_ptr<lw_device> device) {
    lw_open_options options = open_options("");
    options.memory_limit = UINT64_MAX; // this program compiled it
    options.device = device.get();
    lw_model *model = nullptr;
    LW_TRY(
        status_of(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model), "the compiled model"));
    return describe(model, std::move(device));
}

Expected<Model> Model::open(const std::vector<uint8_t> &bytes, const std::string &variant) {
    lw_open_options options = open_options(variant);
    options.memory_limit = UINT64_MAX; // this program compiled it
    lw_model *model = nullptr;
    LW_TRY(
        status_of(lw_model_open_memory(bytes.data(), bytes.size(), &options, &model), "the compiled model"));
    return describe(model);
}

Expected<Model> Model::open_mapped(const std::string &path, const std::string &variant) {
    lw_open_options options = open_options(variant);
    options.memory_limit = UINT64_MAX;
    options.map_weights = 1;
    lw_model *model = nullptr;
    LW_TRY(status_of(lw_model_open(path.c_str(), &options, &model), "the compiled model"));
    return describe(model);
}

Expected<Model> Model::open(const std::vector<uint8_t> &artifact, const std::string &variant,
                            std::shared_ptr<Remote> remote, const std::vector<uint8_t> *weights) {
    Model result;
    LW_TRY(open_remotely(artifact, variant, std::move(remote), weights, result));
    return result;
}

Status Model::verify(double *worst) const {
    if (remote) return verify_remotely(*this, worst);
    return status_of(lw_model_verify(handle.get(), worst), std::string("golden vectors on ") + info.variant);
}

Expected<Model> Model::describe(lw_model *model, std::shared_ptr<lw_device> device,
                                std::shared_ptr<lw_device> watched) {
    Model result;
    result.handle =
        std::shared_ptr<lw_model>(model, [device, watched](lw_model *closing) { lw_model_close(closing); });
    result.device = std::move(device);
    result.info.struct_size = sizeof result.info;
    LW_TRY(status_of(lw_model_get_info(model, &result.info), "model"));
    const auto list = [&](uint32_t n, auto get, auto &infos, const char *what) {
        infos.resize(n);
        for (uint32_t i = 0; i < n; i++) {
            infos[i].struct_size = sizeof infos[i];
            LW_TRY(status_of(get(model, i, &infos[i]), what));
        }
        return Status();
    };
    LW_TRY(list(result.info.inputs, lw_model_input, result.inputs, "input"));
    LW_TRY(list(result.info.run_outputs, lw_model_run_output, result.run_outputs, "output"));
    LW_TRY(list(result.info.stream_outputs, lw_model_stream_output, result.stream_outputs, "output"));
    LW_TRY(list(result.info.stream_entries, lw_model_stream_entry, result.entries, "stream entry"));
    LW_TRY(list(result.info.state_fields, lw_model_state_field, result.state_fields, "state field"));
    for (uint32_t i = 0; i < result.info.labels; i++) result.labels.push_back(lw_model_label(model, i));
    return result;
}

const lw_input_info *Model::audio() const {
    return inputs.size() == 1 && inputs[0].kind == LW_INPUT_AUDIO ? &inputs[0] : nullptr;
}

int Model::stream_output(const std::string &name) const {
    for (size_t i = 0; i < stream_outputs.size(); i++)
        if (name == stream_outputs[i].name) return static_cast<int>(i);
    return -1;
}

Status status_of(lw_status status, const std::string &what) {
    return status == LW_OK ? Status() : status_of(status, what, lw_last_error());
}

Status status_of(lw_status status, const std::string &what, const std::string &detail) {
    if (status == LW_OK) return {};
    std::string text = what + ": " + (detail.empty() ? lw_status_text(status) : detail);
    if (detail.starts_with(what + ":")) text = detail; // it names the file itself
    switch (status) {
    case LW_CHECK_FAILED: return Status::check(std::move(text));
    case LW_NO_STREAM: return Status::usage(std::move(text));
    case LW_NOT_FOUND:
    case LW_BAD_ARTIFACT:
    case LW_BAD_VERSION:
    case LW_BAD_STATE:
    case LW_BAD_TOKEN:
    case LW_TOO_LONG:
    case LW_TOO_SHORT:
    case LW_UNSIGNED_CODE:
    case LW_OLD_VERSION:
    case LW_NO_CODE:
    case LW_NOT_FINITE:
    case LW_IO: return Status::input(std::move(text));
    case LW_NO_VARIANT:
    case LW_NO_MEMORY:
    case LW_NO_DEVICE:
    case LW_UNSUPPORTED:
    case LW_DEVICE_LOST:
    case LW_TIMEOUT:
    case LW_DEVICE_WRONG:
    case LW_DEVICE: return Status::device(std::move(text));
    default: return Status::internal(std::move(text));
    }
}

Expected<Runner> Runner::create(const Model &model, uint32_t threads) {
    if (!model.info.has_run)
        return Status::usage(
            std::string(model.info.name) +
            ": the model has no entry for offline runs; use `longwave run --stream`, or compile "
            "it without --no-whole");
    Runner result;
    result.model_ = &model;
    if (model.remote) return result;
    lw_runner_options options = {};
    options.struct_size = sizeof options;
    options.format = LW_F32;
    options.threads = threads;
    lw_runner *runner = nullptr;
    LW_TRY(status_of(lw_runner_create(model.handle.get(), &options, &runner), "runner"));
    result.handle_ =
        std::shared_ptr<lw_runner>(runner, [keep = model.handle](lw_runner *r) { lw_runner_destroy(r); });
    return result;
}

uint64_t rows_after(const lw_output_info &output, uint64_t ticks) {
    return output.clock_num == 0 ? 1 : (ticks - ticks % output.whole) * output.clock_num / output.clock_den;
}

Expected<std::vector<std::vector<float>>> Runner::run(const Sequence &in) {
    if (model_->remote) return run_remotely(*model_, in);
    std::vector<lw_run_tensor> inputs, outputs;
    for (size_t i = 0; i < model_->inputs.size(); i++)
        inputs.push_back({sizeof(lw_run_tensor), const_cast<void *>(in.data(i)), in.rows,
                          in.lengths.empty() ? 0 : in.lengths[i]});
    std::vector<std::vector<float>> results;
    for (const lw_output_info &output : model_->run_outputs) {
        const size_t rows = static_cast<size_t>(rows_after(output, model_->info.run_capacity));
        results.emplace_back(rows * output.width);
        outputs.push_back({sizeof(lw_run_tensor), results.back().data(), rows, 0});
    }
    LW_TRY(status_of(lw_run(handle_.get(), inputs.data(), inputs.size(), outputs.data(), outputs.size()),
                     "run"));
    for (size_t i = 0; i < results.size(); i++)
        results[i].resize(outputs[i].rows * model_->run_outputs[i].width);
    return results;
}

Expected<Stream> Stream::create(const Model &model, lw_sample_format format, uint32_t entry) {
    if (!model.info.has_stream)
        return Status::usage(
            std::string(model.info.name) +
            ": the model has no stream entry; compile it with --stream, or use `longwave run`");
    const bool tokens = model.inputs.at(0).kind == LW_INPUT_TOKENS;
    lw_stream_options options = {};
    options.struct_size = sizeof options;
    options.format = tokens ? LW_I32 : format;
    options.block = model.entry(entry).block;
    Stream result;
    result.tick_bytes_ = tokens ? 4 : (format == LW_S16 ? 2 : 4) * size_t{model.inputs[0].width};
    if (model.remote) {
        LW_ASSIGN(result.remote_, RemoteStream::create(model, options, result.tick_bytes_));
        return result;
    }
    lw_stream *stream = nullptr;
    LW_TRY(status_of(lw_stream_create(model.handle.get(), &options, &stream), "stream"));
    // The stream keeps its model alive.
    result.handle_ =
        std::shared_ptr<lw_stream>(stream, [keep = model.handle](lw_stream *s) { lw_stream_destroy(s); });
    size_t widest = 1;
    for (const lw_output_info &output : model.stream_outputs) widest = std::max(widest, size_t{output.width});
    result.rows_.resize(widest * std::max(64u, model.entry(entry).block));
    return result;
}

Status Stream::pull(const OnRow &row) {
    for (;;) {
        lw_stream_rows out = {};
        out.struct_size = sizeof out;
        out.data = rows_.data();
        out.capacity = rows_.size();
        const lw_status status = lw_stream_pull_rows(handle_.get(), &out);
        if (status == LW_AGAIN || status == LW_END) return {};
        LW_TRY(status_of(status, "pull"));
        for (size_t i = 0; i < out.rows; i++)
            row({out.index, out.width, out.row + i, out.data + i * out.width});
    }
}

Status Stream::push(const void *samples, size_t n, const OnRow &row) {
    if (remote_) return remote_->push(samples, n, row);
    auto at = static_cast<const uint8_t *>(samples);
    bool stuck = false;
    while (n > 0) {
        size_t taken = 0;
        LW_TRY(status_of(lw_stream_push(handle_.get(), at, n, &taken), "push"));
        LW_TRY(pull(row));
        if (taken == 0 && stuck)
            return Status::internal("the stream accepts no samples, although its outputs were pulled");
        stuck = taken == 0;
        at += taken * tick_bytes_;
        n -= taken;
    }
    return {};
}

Status Stream::finish(const OnRow &row) {
    if (remote_) return remote_->finish(row);
    LW_TRY(status_of(lw_stream_finish(handle_.get()), "finish"));
    return pull(row);
}

Status Stream::reset() {
    return remote_ ? remote_->reset() : status_of(lw_stream_reset(handle_.get()), "reset");
}

Status Stream::set(const std::string &scalar, float value) {
    return status_of(lw_stream_set(handle_.get(), scalar.c_str(), value), "set");
}

Status Stream::prefill(const void *samples, size_t n) {
    return remote_ ? remote_->prefill(samples, n)
                   : status_of(lw_stream_prefill(handle_.get(), samples, n), "prefill");
}

Expected<std::vector<uint8_t>> Stream::save() const {
    if (remote_) return remote_->save();
    size_t size = 0;
    LW_TRY(status_of(lw_stream_save(handle_.get(), nullptr, 0, &size), "save"));
    std::vector<uint8_t> saved(size);
    LW_TRY(status_of(lw_stream_save(handle_.get(), saved.data(), saved.size(), &size), "save"));
    return saved;
}

Status Stream::load(const std::vector<uint8_t> &state) {
    return remote_ ? remote_->load(state)
                   : status_of(lw_stream_load(handle_.get(), state.data(), state.size()), "load");
}

Status Stream::copy_from(const Stream &other) {
    return remote_ ? remote_->copy_from(*other.remote_)
                   : status_of(lw_stream_copy(handle_.get(), other.handle_.get()), "copy");
}

lw_stream_stats Stream::stats() const {
    lw_stream_stats stats = {};
    stats.struct_size = sizeof stats;
    (void)lw_stream_get_stats(handle_.get(), &stats);
    return stats;
}

namespace {

bool continues_text(const Model &model) {
    if (model.inputs.size() != 1 || model.inputs[0].kind != LW_INPUT_TOKENS) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.width == model.inputs[0].vocabulary) return true;
    return false;
}

} // namespace

bool gives_speech(const Model &model) {
    if (!model.audio()) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.width == 1 && output.clock_num == 1 && output.clock_den > 1 && output.sample_rate == 0)
            return true;
    return false;
}

bool gives_audio(const Model &model) {
    if (!model.audio()) return false;
    for (const lw_output_info &output : model.stream_outputs)
        if (output.sample_rate != 0) return true;
    return false;
}

std::string right_command(const Model &model, const std::string &path, bool decides) {
    if (continues_text(model)) return "use `longwave generate " + path + " -p TEXT`";
    if (decides && model.audio()) return "use `longwave listen " + path + " FILE.wav`";
    if (gives_audio(model)) return "use `longwave denoise " + path + " IN.wav OUT.wav`";
    if (gives_speech(model)) return "use `longwave vad " + path + " FILE.wav`";
    std::string text = "use `longwave run " + path;
    if (!model.info.has_run) text += " --stream";
    for (const lw_input_info &input : model.inputs)
        text += std::string(" --input ") + input.name + "=@FILE" +
                (input.kind == LW_INPUT_AUDIO ? ".wav" : ".npy");
    return text + "`";
}

} // namespace longwave::cli
