// An open model: the C API with C++ lifetimes and Status.
#pragma once
#include "formats/artifact/header.h"
#include "formats/base/expected.h"
#include "tools/cli/command_line/command_line.h"
#include "tools/cli/model/device.h"
#include <longwave/longwave.h>
#include <memory>
#include <string>
#include <vector>

namespace longwave::cli {

// The flags of every command that runs a compiled model.
struct ModelFlags {
    std::string path, variant; // variant empty: the best for this CPU
    uint64_t memory = 0;       // limit in bytes; 0: the library's default
    bool map = false;          // weights stay in the mapped file
    // Public keys, or files of them (public_keys). Empty: unsigned files open, as the user chose
    // the file.
    std::vector<std::string> require_key;
    uint64_t least_version = 0; // of a signed model
    std::string device = "cpu"; // device.h; only for commands that have the flag
    DeviceUse use;              // likewise
    bool streams = false;       // the command needs stream entries, on any device
    bool checked = false;       // the command checks the device itself
    // Instead of `device`: the CPU, which tells when each step ran (runtime/watch/watched_cpu.h).
    std::shared_ptr<lw_device> watched;

    void add(CommandLine &app);
    // For commands that read the file besides opening it: what --require-key asks for.
    Status check_trust(const artifact::Header &header) const;
};

struct Placement; // placement.h
class Remote;     // remote/remote.h
struct RemoteModel;

// An open model with its inputs, outputs and labels.
struct Model {
    static Expected<Model> open(const ModelFlags &flags);
    static Expected<Model> open(const std::vector<uint8_t> &bytes, const std::string &variant = "");
    // A file of this program's own, whose weights stay in it.
    static Expected<Model> open_mapped(const std::string &path, const std::string &variant);
    static Expected<Model> open(const std::vector<uint8_t> &bytes, std::shared_ptr<lw_device> device);
    // In another process, for code of another machine. `handle` stays null: only what is declared
    // here works. `weights`: what a runner gets that contains the model otherwise.
    static Expected<Model> open(const std::vector<uint8_t> &artifact, const std::string &variant,
                                std::shared_ptr<Remote> remote,
                                const std::vector<uint8_t> *weights = nullptr);

    // Golden vectors. `worst`: largest error relative to its limit.
    Status verify(double *worst) const;

    std::shared_ptr<lw_model> handle;
    std::shared_ptr<const RemoteModel> remote;  // null: open in this process
    std::shared_ptr<lw_device> device;          // null: the CPU
    std::shared_ptr<const Placement> placement; // of --device auto
    lw_model_info info = {};
    std::vector<lw_input_info> inputs;
    std::vector<lw_output_info> run_outputs, stream_outputs;
    std::vector<lw_stream_entry_info> entries; // of streams
    std::vector<lw_state_field> state_fields;
    std::vector<std::string> labels;

    const lw_input_info *audio() const;               // the only input, if it is audio
    int stream_output(const std::string &name) const; // -1: there is none
    const lw_stream_entry_info &entry(uint32_t index) const { return entries.at(index); }

private:
    // The devices stay for as long as the model does; null: the CPU.
    static Expected<Model> describe(lw_model *model, std::shared_ptr<lw_device> device = nullptr,
                                    std::shared_ptr<lw_device> watched = nullptr);
};

} // namespace longwave::cli
