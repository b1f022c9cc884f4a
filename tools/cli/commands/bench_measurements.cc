#include "tools/cli/commands/bench_measurements.h"
#include "formats/artifact/geometry.h"
#include "longwave/batch.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/cli/text/generator.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <cstdio>
#include <optional>
#if LONGWAVE_WITH_VULKAN
#include <longwave/vulkan.h>
#endif
using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

// The run entry of the artifact that takes the longest sequences on a kind of device; -1: none.
int longest_run(const fb::Plan &plan, fb::DeviceKind device) {
    int longest = -1;
    for (uint32_t e = 0; e < plan.entries()->size(); e++) {
        const fb::Entry &entry = *plan.entries()->Get(e);
        if (entry.kind() != fb::EntryKind::run || entry.device() != device) continue;
        if (longest < 0 || entry.block() > plan.entries()->Get(static_cast<uint32_t>(longest))->block())
            longest = static_cast<int>(e);
    }
    return longest;
}

// Names of layers in the order of the compile report.
Expected<std::vector<std::string>> layers_of(const fb::Plan &plan, const std::string &path) {
    LW_ASSIGN(const ordered_json report,
              parse_limited(plan.report() ? plan.report()->string_view() : std::string_view(),
                            path + ": its compile report"));
    std::vector<std::string> names;
    if (report.is_object() && report.contains("layers") && report["layers"].is_array())
        for (const auto &layer : report["layers"])
            if (layer.is_object() && layer.contains("layer") && layer["layer"].is_string())
                names.push_back(layer["layer"].get<std::string>());
    return names;
}

// A step's name begins with that of its layer. names.size(): it belongs to none.
size_t layer_of(const std::vector<std::string> &names, const fb::Step &step) {
    const std::string_view name = step.name() ? step.name()->string_view() : std::string_view();
    size_t found = names.size();
    for (size_t i = 0; i < names.size(); i++)
        if (name.size() > names[i].size() && name.starts_with(names[i]) && name[names[i].size()] == ' ' &&
            (found == names.size() || names[i].size() > names[found].size()))
            found = i;
    return found;
}

#if LONGWAVE_WITH_VULKAN
// Bytes that the calls of a layer reach on the GPU, each argument once.
std::vector<uint64_t> bytes_of(const fb::Plan &plan, int entry, const std::vector<std::string> &names) {
    std::vector<uint64_t> layers(names.size(), 0);
    for (const fb::Step *step : *plan.entries()->Get(static_cast<uint32_t>(entry))->steps()) {
        const size_t layer = layer_of(names, *step);
        if (layer == names.size() || step->kind() != fb::StepKind::call || step->cpu()) continue;
        for (const fb::KernelArg *arg : *plan.kernels()->Get(step->kernel())->args()) {
            uint64_t span = 0;
            if (arg->kind() != fb::ArgKind::scalar && artifact::span_bytes(*arg, &span))
                layers[layer] += span;
        }
    }
    return layers;
}

// Microseconds per layer in an entry, summed over its steps on one device; -1: the layer has no
// call there.
Expected<std::vector<double>> times_of(const Model &model, const fb::Plan &plan, int entry, bool gpu,
                                       const std::vector<std::string> &names, lw_vulkan_times &found) {
    const auto &steps = *plan.entries()->Get(static_cast<uint32_t>(entry))->steps();
    std::vector<double> us(steps.size()), layers(names.size(), -1);
    found.struct_size = sizeof found;
    LW_TRY(status_of(
        lw_vulkan_time_run(model.handle.get(), static_cast<uint32_t>(entry), us.data(), us.size(), &found),
        "layer times"));
    for (uint32_t i = 0; i < steps.size(); i++) {
        const fb::Step &step = *steps.Get(i);
        const size_t layer = layer_of(names, step);
        if (layer == names.size() || (gpu && step.cpu())) continue;
        if (step.kind() == fb::StepKind::call && layers[layer] < 0) layers[layer] = 0;
        if (layers[layer] >= 0 || step.kind() == fb::StepKind::zero)
            layers[layer] = std::max(layers[layer], 0.0) + us[i];
    }
    return layers;
}
#endif

} // namespace

Expected<ordered_json> bench_layers(const ModelFlags &flags) {
#if LONGWAVE_WITH_VULKAN
    if (!flags.device.starts_with("vulkan"))
        return Status::usage("--layers compares a GPU with the CPU; pass --device vulkan");
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.path));
    const fb::Plan &plan = file.plan();
    const int here = longest_run(plan, fb::DeviceKind::cpu), there = longest_run(plan, fb::DeviceKind::gpu);
    if (here < 0 || there < 0)
        return Status::usage(
            flags.path + ": --layers needs offline runs on a GPU; compile with --target host,vulkan-32k, and "
                         "with --place auto if the target rejects a layer");
    ModelFlags both = flags;
    both.use.fall_back = true; // so that the model has its CPU part
    LW_ASSIGN(const Model model, Model::open(both));
    LW_ASSIGN(const auto names, layers_of(plan, flags.path));
    lw_vulkan_times times = {};
    LW_ASSIGN(const auto cpu, times_of(model, plan, here, false, names, times));
    LW_ASSIGN(const auto gpu, times_of(model, plan, there, true, names, times));
    ordered_json json = {{"layer_times", 1},
                         {"model", plan.name()->str()},
                         {"device", name_of(model.device.get())},
                         {"processor", kernels::cpu_name()},
                         {"ticks", plan.entries()->Get(static_cast<uint32_t>(there))->block()},
                         {"submission_us", times.submission_us},
                         {"byte_us", times.byte_us},
                         {"move_us", times.move_us}};
    const std::vector<uint64_t> bytes = bytes_of(plan, there, names);
    json["layers"] = ordered_json::array();
    for (size_t i = 0; i < names.size(); i++)
        if (cpu[i] >= 0)
            json["layers"].push_back({{"layer", names[i]},
                                      {"cpu_us", cpu[i]},
                                      {"gpu_us", gpu[i] >= 0 ? ordered_json(gpu[i]) : ordered_json()},
                                      {"gpu_bytes", bytes[i]}});
    return json;
#else
    return Status::usage("--layers: this program was built without Vulkan");
#endif
}

void print_layers(const ordered_json &json) {
    print_text(stdout, "layers    %u ticks on %s and %s, one thread, each layer timed alone\n",
               json["ticks"].get<unsigned>(), json["processor"].get<std::string>().c_str(),
               json["device"].get<std::string>().c_str());
    for (const auto &layer : json["layers"]) {
        print_text(stdout, "          %s %10.1f µs on the CPU,",
                   padded(layer["layer"].get<std::string>(), 28).c_str(), layer["cpu_us"].get<double>());
        if (layer["gpu_us"].is_null()) print_text(stdout, "  not supported\n");
        else print_text(stdout, " %10.1f µs on the GPU\n", layer["gpu_us"].get<double>());
    }
    print_text(stdout, "transfers %.1f µs per submission, %.1f µs per transfer and %.0f µs per MB\n",
               json["submission_us"].get<double>(), json["move_us"].get<double>(),
               json["byte_us"].get<double>() * 1e6);
}

namespace {

// lw_device_flush, which waits for the block, or lw_device_submit, which leaves it in flight.
using Go = lw_status (*)(lw_device *);

// A block for each stream; on a device they run together.
Status push_blocks(const Model &model, std::vector<Stream> &streams, const void *samples, size_t block,
                   Go go) {
    for (Stream &stream : streams)
        LW_TRY(status_of(lw_stream_push(stream.get(), samples, block, nullptr), "push"));
    LW_TRY(status_of(go(model.device.get()), "running the blocks"));
    for (Stream &stream : streams) LW_TRY(stream.pull([](const StreamRow &) {}));
    return {};
}

// Seconds of each round, sorted.
Expected<std::vector<double>> time_rounds(const Model &model, std::vector<Stream> &streams,
                                          const void *samples, size_t block, unsigned rounds, Go go) {
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds + 1; round++) { // the first warms
        const double start = now();
        LW_TRY(push_blocks(model, streams, samples, block, go));
        if (round > 0) seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

// The same on the CPU, by kernels for several streams at once; the rows have the same bits.
Expected<std::vector<double>> time_batches(lw_batch *batch, std::vector<Stream> &streams, const void *samples,
                                           size_t block, unsigned rounds) {
    std::vector<lw_stream *> list;
    for (const Stream &stream : streams) list.push_back(stream.get());
    const std::vector<const void *> all(streams.size(), samples);
    const std::vector<size_t> counts(streams.size(), block);
    std::vector<size_t> taken(streams.size());
    std::vector<double> seconds;
    for (unsigned round = 0; round < rounds + 1; round++) { // the first warms
        const double start = now();
        LW_TRY(
            status_of(lw_batch_push(batch, list.data(), list.size(), all.data(), counts.data(), taken.data()),
                      "running the streams together"));
        for (Stream &stream : streams) LW_TRY(stream.pull([](const StreamRow &) {}));
        if (round > 0) seconds.push_back(now() - start);
    }
    std::sort(seconds.begin(), seconds.end());
    return seconds;
}

ordered_json milliseconds(const std::vector<double> &seconds) {
    return {{"median", 1e3 * seconds[seconds.size() / 2]}, {"worst", 1e3 * seconds.back()}};
}

} // namespace

Expected<ordered_json> bench_streams(const Model &model, uint32_t n, unsigned rounds) {
    if (!model.info.has_stream)
        return Status::usage(std::string("--streams: ") + model.info.name + " has no stream entry");
    const size_t block = std::max<uint32_t>(1, model.info.stream_block);
    const Sequence in = made_up(model, block, 3);
    std::vector<Stream> streams;
    const double creating = now();
    for (uint32_t s = 0; s < n; s++) {
        LW_ASSIGN(Stream stream, Stream::create(model));
        streams.push_back(std::move(stream));
    }
    const double create_seconds = now() - creating;
    LW_ASSIGN(const std::vector<double> seconds,
              time_rounds(model, streams, in.data(0), block, rounds, lw_device_flush));
    std::vector<double> in_flight;
    if (model.device) {
        LW_ASSIGN(in_flight, time_rounds(model, streams, in.data(0), block, rounds, lw_device_submit));
        LW_TRY(status_of(lw_device_flush(model.device.get()), "flush"));
    }
    std::vector<double> together;
    uint32_t at_once = 0;
    if (!model.device) {
        lw_batch *made = nullptr;
        LW_TRY(status_of(lw_batch_create(model.handle.get(), &made), "creating a batch"));
        const std::unique_ptr<lw_batch, void (*)(lw_batch *)> batch(made, lw_batch_destroy);
        at_once = lw_batch_streams(made);
        if (at_once > 1) {
            LW_ASSIGN(together, time_batches(made, streams, in.data(0), block, rounds));
        }
    }
    const double destroying = now();
    streams.clear();
    const double destroy_seconds = now() - destroying;
    const double median = seconds[seconds.size() / 2];
    ordered_json json = {{"streams", n},
                         {"block", block},
                         {"round_ms", milliseconds(seconds)},
                         {"create_ms", 1e3 * create_seconds},
                         {"destroy_ms", 1e3 * destroy_seconds},
                         {"ticks_per_second", static_cast<double>(n * block) / median}};
    if (!in_flight.empty()) json["in_flight_round_ms"] = milliseconds(in_flight);
    if (!together.empty()) {
        json["together"] = at_once;
        json["together_round_ms"] = milliseconds(together);
    }
    const double rate = model.inputs[0].sample_rate;
    if (rate > 0) json["real_time_factor"] = median / (static_cast<double>(block) / rate); // of all of them
    return json;
}

void print_streams(const ordered_json &json) {
    print_text(stdout, "streams   %u at once, one block of %u ticks each: median %.3f ms, worst %.3f ms",
               json["streams"].get<unsigned>(), json["block"].get<unsigned>(),
               json["round_ms"]["median"].get<double>(), json["round_ms"]["worst"].get<double>());
    if (json.contains("real_time_factor"))
        print_text(stdout, " · real-time factor %.5f", json["real_time_factor"].get<double>());
    if (json.contains("in_flight_round_ms"))
        print_text(stdout, "\n          with a block in flight: median %.3f ms, worst %.3f ms",
                   json["in_flight_round_ms"]["median"].get<double>(),
                   json["in_flight_round_ms"]["worst"].get<double>());
    if (json.contains("together_round_ms"))
        print_text(stdout, "\n          %u together: median %.3f ms, worst %.3f ms",
                   json["together"].get<unsigned>(), json["together_round_ms"]["median"].get<double>(),
                   json["together_round_ms"]["worst"].get<double>());
    print_text(stdout, "\n          created in %.1f ms, destroyed in %.1f ms\n",
               json["create_ms"].get<double>(), json["destroy_ms"].get<double>());
}

namespace {

constexpr size_t prompt_ids = 4096, timed_tokens = 1000;

std::optional<uint32_t> single_entry(const Model &model) {
    for (uint32_t i = 0; i < model.info.stream_entries; i++)
        if (model.entry(i).block == 1) return i;
    return std::nullopt;
}

std::vector<int32_t> random_ids(const Model &model, size_t n) {
    Random random(3);
    std::vector<int32_t> ids(n);
    for (int32_t &id : ids) id = static_cast<int32_t>(random.below(model.inputs[0].vocabulary));
    return ids;
}

// Samples, so that the text does not repeat itself.
SamplingFlags drawing() {
    SamplingFlags flags;
    flags.temperature = 1;
    return flags;
}

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

Expected<double> seconds_for_prompt(const Model &model, const std::string &path,
                                    const std::vector<int32_t> &ids) {
    std::vector<double> times;
    for (int i = 0; i < 3; i++) {
        LW_ASSIGN(Generator generator, Generator::create(model, path, drawing(), 0, false, false));
        const double start = now();
        LW_TRY(generator.prompt(ids));
        times.push_back(now() - start);
    }
    return median(times);
}

Expected<double> seconds_for_steps(const Model &model, const std::vector<int32_t> &ids) {
    LW_ASSIGN(Stream stream, Stream::create(model, LW_I32, *single_entry(model)));
    const double start = now();
    for (const int32_t &id : ids) LW_TRY(stream.push(&id, 1, [](const StreamRow &) {}));
    return now() - start;
}

} // namespace

bool writes_text(const Model &model, const std::string &path) {
    return logits_of(model, path) && single_entry(model);
}

Expected<ordered_json> bench_text(const Model &model, const std::string &path, double seconds) {
    const std::vector<int32_t> ids = random_ids(model, prompt_ids);
    LW_ASSIGN(const double in_blocks, seconds_for_prompt(model, path, ids));
    LW_ASSIGN(const double in_steps, seconds_for_steps(model, ids));
    ordered_json json = {{"prompt_tokens", prompt_ids},
                         {"prompt_ms", 1e3 * in_blocks},
                         {"prompt_in_steps_ms", 1e3 * in_steps},
                         {"tokens", ordered_json::array()}};
    LW_ASSIGN(Generator generator, Generator::create(model, path, drawing(), 0, false, false));
    size_t behind = 0;
    for (const size_t position : {size_t{100}, size_t{10000}, size_t{1000000}}) {
        if (in_blocks / prompt_ids * static_cast<double>(position - behind) > seconds) break;
        LW_TRY(generator.prompt(random_ids(model, position - behind)));
        std::vector<double> times;
        for (size_t i = 0; i < timed_tokens; i++) {
            const double start = now();
            LW_TRY(generator.next().status());
            times.push_back(now() - start);
        }
        behind = position + timed_tokens;
        const double typical = median(times);
        json["tokens"].push_back({{"behind", position},
                                  {"median_us", 1e6 * typical},
                                  {"worst_us", 1e6 * *std::max_element(times.begin(), times.end())},
                                  {"per_second", 1 / typical}});
    }
    return json;
}

void print_text(const ordered_json &text) {
    print_text(stdout, "prompt    %u tokens: %.2f ms in blocks, %.2f ms one at a time (ratio %.1f)\n",
               text["prompt_tokens"].get<unsigned>(), text["prompt_ms"].get<double>(),
               text["prompt_in_steps_ms"].get<double>(),
               text["prompt_in_steps_ms"].get<double>() / text["prompt_ms"].get<double>());
    for (const auto &t : text["tokens"])
        print_text(stdout,
                   "token     after %u tokens: median %.1f µs, worst %.1f µs, %.0f tokens per second\n",
                   t["behind"].get<unsigned>(), t["median_us"].get<double>(), t["worst_us"].get<double>(),
                   t["per_second"].get<double>());
}

} // namespace longwave::cli
