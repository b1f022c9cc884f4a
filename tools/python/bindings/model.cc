// longwave.Model: open, describe, verify, run.
#include "bindings.h"
#include "longwave/vulkan.h"
#include <cstring>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <sodium.h>

namespace longwave::python {

using namespace nb::literals;

struct Model::Runner {
    lw_runner *runner = nullptr;
    lw_sample_format format = LW_F32;
    uint32_t threads = 1;
    ~Runner() { lw_runner_destroy(runner); }
};

namespace {

constexpr size_t key_bytes = 32;

int signature_matches(void *, const uint8_t *key, const uint8_t *root, const uint8_t *signature) {
    return crypto_sign_verify_detached(signature, root, 32, key) == 0;
}

std::shared_ptr<lw_device> open_device(const std::string &name) {
    auto options = make<lw_vulkan_options>();
    options.device = name == "gpu" ? nullptr : name.c_str();
    lw_device *device = nullptr;
    check(lw_vulkan_open(&options, &device));
    return {device, lw_vulkan_close};
}

nb::dict output_dict(const lw_output_info &info) {
    nb::dict out;
    out["name"] = info.name;
    out["width"] = info.width;
    out["rows_per_tick"] = nb::make_tuple(info.clock_num, info.clock_den);
    out["delay"] = info.delay;
    if (info.sample_rate) {
        out["sample_rate"] = info.sample_rate;
        out["lag"] = info.lag;
    }
    return out;
}

std::vector<lw_output_info> run_outputs(const lw_model *model) {
    auto info = make<lw_model_info>();
    check(lw_model_get_info(model, &info));
    std::vector<lw_output_info> list(info.run_outputs, make<lw_output_info>());
    for (uint32_t i = 0; i < info.run_outputs; i++) check(lw_model_run_output(model, i, &list[i]));
    return list;
}

} // namespace

lw_input_info input_info(const lw_model *model, uint32_t index) {
    auto info = make<lw_input_info>();
    check(lw_model_input(model, index, &info));
    return info;
}

Model::Model(const nb::bytes &path, const std::optional<nb::bytes> &keys, uint64_t least_version,
             const std::string &variant, const std::string &device, uint64_t memory_limit, bool map_weights) {
    if (std::strlen(path.c_str()) != path.size())
        fail(LW_INVALID_ARGUMENT, "path: contains a NUL character, which no file name has");
    auto options = make<lw_open_options>();
    options.allow_unsigned_code = !keys;
    if (keys) {
        if (keys->size() == 0 || keys->size() % key_bytes != 0)
            fail(LW_INVALID_ARGUMENT, "keys: expected one or more public keys of 32 bytes each");
        options.require_signature = 1;
        options.trusted_keys = static_cast<const uint8_t *>(keys->data());
        options.n_trusted_keys = keys->size() / key_bytes;
        options.check_signature = signature_matches;
    }
    options.least_version = least_version;
    options.variant = variant.empty() ? nullptr : variant.c_str();
    options.memory_limit = memory_limit;
    options.map_weights = map_weights;
    const nb::gil_scoped_release release;
    std::shared_ptr<lw_device> opened;
    if (device != "cpu") {
        opened = open_device(device);
        options.device = opened.get();
    }
    lw_model *model = nullptr;
    check(lw_model_open(path.c_str(), &options, &model));
    model_ = std::shared_ptr<lw_model>(model, [opened](lw_model *m) { lw_model_close(m); });
}

Model::~Model() = default;

lw_model *Model::get() const {
    if (!model_) fail(LW_WRONG_STATE, "the model is closed");
    return model_.get();
}

nb::dict Model::info() const {
    auto info = make<lw_model_info>();
    check(lw_model_get_info(get(), &info));
    nb::dict out;
    out["name"] = info.name;
    out["producer"] = info.producer;
    out["variant"] = info.variant;
    nb::list inputs, runs, streams, labels, blocks;
    for (uint32_t i = 0; i < info.inputs; i++) {
        const lw_input_info input = input_info(get(), i);
        static const char *const kinds[] = {"audio", "features", "tokens"};
        nb::dict one;
        one["name"] = input.name;
        one["kind"] = kinds[input.kind - LW_INPUT_AUDIO];
        one["width"] = input.width;
        one["sample_rate"] = input.sample_rate;
        one["vocabulary"] = input.vocabulary;
        inputs.append(one);
    }
    for (const lw_output_info &output : run_outputs(get())) runs.append(output_dict(output));
    for (uint32_t i = 0; i < info.stream_outputs; i++) {
        auto output = make<lw_output_info>();
        check(lw_model_stream_output(get(), i, &output));
        streams.append(output_dict(output));
    }
    for (uint32_t i = 0; i < info.labels; i++) labels.append(lw_model_label(get(), i));
    for (uint32_t i = 0; i < info.stream_entries; i++) {
        auto entry = make<lw_stream_entry_info>();
        check(lw_model_stream_entry(get(), i, &entry));
        blocks.append(entry.block);
    }
    nb::list scalars;
    for (uint32_t i = 0; i < info.scalars; i++) {
        auto scalar = make<lw_scalar_info>();
        check(lw_model_scalar(get(), i, &scalar));
        nb::dict one;
        one["name"] = scalar.name;
        one["unit"] = scalar.unit;
        one["initial"] = scalar.initial;
        one["low"] = scalar.low;
        one["high"] = scalar.high;
        one["smoothed"] = scalar.smoothed != 0;
        scalars.append(one);
    }
    out["inputs"] = inputs;
    out["run_outputs"] = runs;
    out["stream_outputs"] = streams;
    out["labels"] = labels;
    out["blocks"] = blocks;
    out["scalars"] = scalars;
    out["run_capacity"] = info.has_run ? info.run_capacity : 0;
    out["state_bytes"] = info.stream_state_bytes;
    out["memory_bytes"] = info.memory_bytes;
    out["artifact_bytes"] = info.artifact_bytes;
    out["report"] = info.report;
    return out;
}

double Model::verify() const {
    double worst = 0;
    const std::shared_ptr<lw_model> model = share();
    const nb::gil_scoped_release release;
    check(lw_model_verify(model.get(), &worst));
    return worst;
}

void Model::close() {
    const std::lock_guard<std::mutex> lock(runners_lock_);
    runners_.clear();
    model_.reset();
}

std::unique_ptr<Model::Runner> Model::take_runner(const lw_model *model, lw_sample_format format,
                                                  uint32_t threads) {
    {
        const std::lock_guard<std::mutex> lock(runners_lock_);
        for (auto &kept : runners_)
            if (kept->format == format && kept->threads == threads) {
                std::unique_ptr<Runner> taken = std::move(kept);
                runners_.erase(runners_.begin() + (&kept - runners_.data()));
                return taken;
            }
    }
    auto made = std::make_unique<Runner>();
    made->format = format;
    made->threads = threads;
    auto options = make<lw_runner_options>();
    options.format = format == LW_I32 ? LW_F32 : format;
    options.threads = threads;
    check(lw_runner_create(model, &options, &made->runner));
    return made;
}

void Model::keep_runner(std::unique_ptr<Runner> runner) {
    const std::lock_guard<std::mutex> lock(runners_lock_);
    if (model_) runners_.push_back(std::move(runner)); // else it was closed during the run
}

nb::object Model::run(nb::args inputs, uint32_t length, uint32_t threads) {
    const std::shared_ptr<lw_model> model = share();
    auto info = make<lw_model_info>();
    check(lw_model_get_info(model.get(), &info));
    if (inputs.size() != info.inputs)
        fail(LW_INVALID_ARGUMENT,
             "expected " + std::to_string(info.inputs) + " inputs, got " + std::to_string(inputs.size()));
    std::vector<Samples> given;
    std::vector<lw_run_tensor> in;
    for (uint32_t i = 0; i < info.inputs; i++) {
        given.push_back(samples(inputs[i], input_info(model.get(), i)));
        if (given[i].format != given[0].format)
            fail(LW_INVALID_ARGUMENT, "inputs of one type were expected: all float32 or all int16");
        auto tensor = make<lw_run_tensor>();
        tensor.data = const_cast<void *>(given[i].data); // read only
        tensor.rows = given[i].ticks;
        tensor.length = length;
        in.push_back(tensor);
    }
    const std::vector<lw_output_info> outputs = run_outputs(model.get());
    std::vector<std::unique_ptr<float[]>> room;
    std::vector<lw_run_tensor> out;
    for (const lw_output_info &output : outputs) {
        auto tensor = make<lw_run_tensor>();
        tensor.rows =
            output.clock_num ? uint64_t{given[0].ticks} * output.clock_num / output.clock_den + 1 : 1;
        room.emplace_back(new float[tensor.rows * output.width]);
        tensor.data = room.back().get();
        out.push_back(tensor);
    }
    {
        const nb::gil_scoped_release release;
        std::unique_ptr<Runner> runner = take_runner(model.get(), given[0].format, threads);
        check(lw_run(runner->runner, in.data(), in.size(), out.data(), out.size()));
        keep_runner(std::move(runner));
    }
    if (outputs.size() == 1) return rows_array(std::move(room[0]), out[0].rows, outputs[0].width);
    nb::dict all;
    for (size_t i = 0; i < outputs.size(); i++)
        all[outputs[i].name] = rows_array(std::move(room[i]), out[i].rows, outputs[i].width);
    return all;
}

void bind_model(nb::module_ &module) {
    nb::class_<Model>(module, "Model",
                      "A compiled model. Any number of threads may use it at once.\n\n"
                      "Use `longwave.open` or `longwave.compile`. Streams keep their model in memory.")
        .def(nb::init<const nb::bytes &, const std::optional<nb::bytes> &, uint64_t, const std::string &,
                      const std::string &, uint64_t, bool>(),
             "path"_a, "keys"_a.none(), "least_version"_a, "variant"_a, "device"_a, "memory_limit"_a,
             "map_weights"_a)
        .def("_info", &Model::info, nb::sig("def _info(self) -> dict[str, typing.Any]"))
        .def("verify", &Model::verify,
             "Runs the reference inputs stored in the file and compares the outputs.\n\n"
             "Returns the largest error relative to its limit: at most 1 is good. Raises CheckFailedError "
             "otherwise.")
        .def("_run", &Model::run, "inputs"_a, nb::kw_only(), "length"_a = 0, "threads"_a = 1,
             nb::sig("def _run(self, *inputs: numpy.typing.ArrayLike, length: int = 0, threads: int = 1) -> "
                     "typing.Any"))
        .def("close", &Model::close,
             "Closes the model. Streams that exist continue. Later calls raise WrongStateError.");
}

} // namespace longwave::python
