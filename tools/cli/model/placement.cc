#include "tools/cli/model/placement.h"
#include "compiler/codegen/kernel_cache_folder.h"
#include "formats/artifact/hash.h"
#include "tools/cli/audio/samples.h"
#include "tools/cli/model/artifact_file.h"
#include "tools/cli/model/device.h"
#include "tools/cli/model/model.h"
#include "tools/cli/output/json_line.h"
#include "tools/cli/output/printable.h"
#include "tools/cli/output/text.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

using nlohmann::ordered_json;

namespace longwave::cli {
namespace {

constexpr int measurements = 5;        // after one that warms the caches
constexpr size_t blocks_per_time = 32; // of a stream

double median(std::array<double, measurements> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[measurements / 2];
}

// Includes conversions and transfers from and to the caller's memory.
Expected<double> seconds_of_run(const Model &model) {
    const Sequence in = made_up(model, model.info.run_capacity, 3);
    LW_ASSIGN(Runner runner, Runner::create(model));
    std::array<double, measurements> seconds;
    for (int i = -1; i < measurements; i++) {
        const double start = now();
        LW_ASSIGN(const auto rows, runner.run(in));
        if (i >= 0) seconds[static_cast<size_t>(i)] = now() - start;
    }
    return median(seconds);
}

Expected<double> seconds_of_block(const Model &model) {
    const size_t block = std::max<uint32_t>(1, model.info.stream_block);
    const Sequence in = made_up(model, blocks_per_time * block, 3);
    LW_ASSIGN(Stream stream, Stream::create(model));
    std::array<double, measurements> seconds;
    for (int i = -1; i < measurements; i++) {
        const double start = now();
        LW_TRY(stream.push(in.data(0), in.rows, [](const StreamRow &) {}));
        if (i >= 0) seconds[static_cast<size_t>(i)] = (now() - start) / static_cast<double>(blocks_per_time);
    }
    return median(seconds);
}

Expected<double> seconds_of(const Model &model, bool streams) {
    return streams ? seconds_of_block(model) : seconds_of_run(model);
}

// A measurement is valid for this GPU, driver, CPU, code, model, kind of run and program.
std::string key_of(const ModelFlags &flags, const Model &cpu, const Model &gpu, const uint8_t *root) {
    artifact::Hasher hasher;
    const std::string text = "placement 1\n" + identity_of(gpu.device.get()) + "\n" + kernels::cpu_name() +
                             "\n" + cpu.info.variant + "\n" + lw_version() +
                             (flags.streams ? "\nblock\n" : "\nrun\n");
    hasher.update(text.data(), text.size());
    hasher.update(root, artifact::hash_bytes);
    uint8_t hash[artifact::hash_bytes];
    hasher.finish(hash);
    std::string digits;
    for (int i = 0; i < 16; i++) digits += format("%02x", hash[i]);
    return digits;
}

// The record has the suffix of the pipelines in the same folder, so that it counts for the limit of
// the folder.
std::optional<Costs> recall(const compiler::KernelCacheFolder &folder, const std::string &key) {
    const auto bytes = folder.read(key + ".lwvk");
    if (!bytes) return std::nullopt;
    const auto json = ordered_json::parse(bytes->begin(), bytes->end(), nullptr, false);
    if (!json.is_object() || json.value("key", ordered_json()) != key) return std::nullopt;
    const auto seconds = [&](const char *name) {
        const auto found = json.find(name);
        return found != json.end() && found->is_number() ? found->get<double>() : -1.0;
    };
    const Costs costs{seconds("cpu_s"), seconds("gpu_s"), "", true};
    if (!(costs.cpu > 0 && costs.gpu > 0)) return std::nullopt;
    return costs;
}

void remember(const compiler::KernelCacheFolder &folder, const std::string &key, const Costs &costs) {
    const std::string line = json_line({{"key", key}, {"cpu_s", costs.cpu}, {"gpu_s", costs.gpu}}) + "\n";
    folder.write(key + ".lwvk", {reinterpret_cast<const uint8_t *>(line.data()), line.size()});
}

Expected<Costs> costs_of(const ModelFlags &flags, const Model &cpu, const Model &gpu) {
    LW_ASSIGN(const ArtifactFile file, ArtifactFile::read(flags.path));
    const std::string key = key_of(flags, cpu, gpu, file.view().header().root);
    const std::string place = device_cache_folder();
    const auto folder = place.empty() ? Expected<compiler::KernelCacheFolder>(Status::device("none"))
                                      : compiler::KernelCacheFolder::open(place);
    const std::string of = flags.streams ? format("block of %u ticks", cpu.info.stream_block)
                                         : format("run of %u ticks", cpu.info.run_capacity);
    if (folder)
        if (auto known = recall(*folder, key)) {
            known->of = of;
            return *known;
        }
    Costs costs{0, 0, of, false};
    LW_ASSIGN(costs.cpu, seconds_of(cpu, flags.streams));
    LW_ASSIGN(costs.gpu, seconds_of(gpu, flags.streams));
    if (folder) remember(*folder, key, costs);
    return costs;
}

// The reason why the GPU cannot run the command; empty: it can.
std::string missing(const ModelFlags &flags, const Model &gpu) {
    if (flags.streams && !gpu.info.has_stream)
        return std::string(gpu.info.name) + " has no stream entry for a GPU";
    if (!flags.streams && !gpu.info.has_run)
        return std::string(gpu.info.name) + " has no offline run for a GPU";
    return "";
}

Model placed(Model model, Placement placement) {
    print_text(stderr, "auto: %s: %s\n", placement.device.c_str(), placement.reason.c_str());
    model.placement = std::make_shared<const Placement>(std::move(placement));
    return model;
}

} // namespace

Expected<Model> open_placed(const ModelFlags &flags) {
    ModelFlags one = flags;
    one.device = "cpu";
    LW_ASSIGN(Model cpu, Model::open(one));
    one.device = "vulkan";
    one.streams = false; // checked below: auto then takes the CPU
    auto gpu = Model::open(one);
    if (!gpu) return placed(std::move(cpu), {"cpu", gpu.status().message(), {}});
    if (const std::string why = missing(flags, *gpu); !why.empty())
        return placed(std::move(cpu), {"cpu", why, {}});
    auto costs = costs_of(flags, cpu, *gpu);
    if (!costs) return placed(std::move(cpu), {"cpu", costs.status().message(), {}});
    const std::string name = name_of(gpu->device.get());
    std::string reason =
        format("a %s takes %s on the CPU and %s on %s", costs->of.c_str(), seconds_text(costs->cpu).c_str(),
               seconds_text(costs->gpu).c_str(), name.c_str());
    if (costs->remembered) reason += " (measured before)";
    const bool on_gpu = costs->gpu < costs->cpu;
    return placed(on_gpu ? *std::move(gpu) : std::move(cpu), {on_gpu ? name : "cpu", reason, *costs});
}

ordered_json to_json(const Placement &placement) {
    ordered_json json = {{"device", placement.device}, {"reason", placement.reason}};
    if (const auto &costs = placement.costs)
        json.update({{"of", costs->of},
                     {"cpu_ms", 1e3 * costs->cpu},
                     {"gpu_ms", 1e3 * costs->gpu},
                     {"remembered", costs->remembered}});
    return json;
}

} // namespace longwave::cli
