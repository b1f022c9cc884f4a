// An open model: the C API with C++ lifetimes and Status.
#pragma once
#include "formats/artifact/header.h"
#include "formats/base/expected.h"
#include "tools/cli/command_line/command_line.h"
#include "tools/cli/model/device.h"
#include <functional>
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

// A status of the C library as one of this program, with its exit code.

// Ok for LW_OK. Otherwise `what` and the detail of lw_last_error().
Status status_of(lw_status status, const std::string &what);
// The same with the detail of a call elsewhere.
Status status_of(lw_status status, const std::string &what, const std::string &detail);

// Offline runs of an open model, in this process or in another one.

// The inputs of an offline run: one vector of rows × width elements per input (float, or int32 for
// tokens). The results are one vector per output.
struct Sequence {
    std::vector<std::vector<float>> floats; // by input
    std::vector<std::vector<int32_t>> ids;
    size_t rows = 0;
    std::vector<size_t> lengths; // valid rows by input; empty: all
    const void *data(size_t input) const {
        return floats[input].empty() ? static_cast<const void *>(ids[input].data()) : floats[input].data();
    }
};

class Runner {
public:
    static Expected<Runner> create(const Model &model, uint32_t threads = 1);
    Expected<std::vector<std::vector<float>>> run(const Sequence &in);

private:
    const Model *model_ = nullptr;
    std::shared_ptr<lw_runner> handle_;
};

// Rows an output has after `ticks` input ticks (clock 0/1: one).
uint64_t rows_after(const lw_output_info &output, uint64_t ticks);

// A stream of an open model, in this process or in another one.

class RemoteStream; // remote/remote_model.h

// One row of a stream's output.
struct StreamRow {
    uint32_t index, width; // which output, floats
    uint64_t row;          // its number
    const float *data;
};
using OnRow = std::function<void(const StreamRow &row)>;

class Stream {
public:
    static Expected<Stream> create(const Model &model, lw_sample_format format = LW_F32, uint32_t entry = 0);
    // All n ticks, handing out rows as they appear. `samples` holds n × width elements of the
    // format.
    Status push(const void *samples, size_t n, const OnRow &row);
    Status pull(const OnRow &row); // the rows that are ready
    Status finish(const OnRow &row);
    Status reset();
    Status set(const std::string &scalar, float value); // of a stream in this process
    Status prefill(const void *samples, size_t n);
    Expected<std::vector<uint8_t>> save() const;
    Status load(const std::vector<uint8_t> &state);
    Status copy_from(const Stream &other); // of the same model
    lw_stream_stats stats() const;         // of a stream in this process
    lw_stream *get() const { return handle_.get(); }

private:
    std::shared_ptr<lw_stream> handle_;
    std::shared_ptr<RemoteStream> remote_; // instead of it
    std::vector<float> rows_;              // room for the rows of one pull
    size_t tick_bytes_ = 4;
};

// The command that fits a model, for messages of commands that do not.

// Whether one output gives a value for every so many samples of audio: a probability of speech.
bool gives_speech(const Model &model);
// Whether one output of its stream is audio.
bool gives_audio(const Model &model);

// "use `longwave generate text.lw -p TEXT`". `decides`: the model has keyword decisions.
std::string right_command(const Model &model, const std::string &path, bool decides);

} // namespace longwave::cli
