#include "tools/cli/model/model.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/placement.h"
#include "tools/cli/model/signature.h"
#include "tools/cli/model/status.h"
#include "tools/cli/remote/remote_model.h"

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

} // namespace longwave::cli
