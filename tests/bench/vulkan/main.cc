// bench_conv_gpu: our fused convolution of a GPU against VkFFT's and a copy, JSON lines on standard
// output. `longwave bench conv --device vulkan` starts it.
#include "tests/bench/vulkan/limits.h"
#include "tests/bench/vulkan/problem.h"
#include "tools/cli/command_line/command_line.h"
#include "tools/cli/output/json_line.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

using namespace longwave;
using namespace longwave::bench;
using nlohmann::ordered_json;

namespace {

constexpr double most_error = 1e-6; // relative L2: float32 transforms of these lengths make 1e-7 to 5e-7

struct Flags {
    std::vector<uint32_t> lengths = {64, 128, 256, 512, 1024, 2048, 4096}, batches = {1, 8, 64};
    uint32_t channels = 64, repeats = 20;
    std::string device = "vulkan", kernels, to_write, peer = "vkfft";
    uint64_t limits_bytes = 0; // 0: convolutions
    bool json = true, software_times = false;
};

struct Made {
    std::string name;
    Expected<std::unique_ptr<Contestant>> contestant;
};

// So many calls a submission that it takes some milliseconds.
unsigned calls_for(const Gpu &gpu, const Problem &problem) {
    if (gpu.software()) return 1; // takes that long by itself
    return static_cast<unsigned>(std::clamp<uint64_t>((uint64_t{1} << 26) / problem.samples(), 1, 256));
}

// A line for each. Returns whether all are right.
Expected<bool> compare(Gpu &gpu, const Problem &problem, const Flags &flags) {
    std::vector<Made> all;
    all.push_back({"copy", copy(gpu, problem)});
    const bool registers = has_registers(problem);
    all.push_back({"longwave", fused(gpu, problem, flags.kernels,
                                     registers ? Points::in_registers : Points::in_shared_memory)});
    if (registers)
        all.push_back(
            {"longwave-in-shared-memory", fused(gpu, problem, flags.kernels, Points::in_shared_memory)});
    all.push_back({"vkfft-three-steps", vkfft_three_steps(gpu, problem)});
    all.push_back({"vkfft-packed", vkfft_packed(gpu, problem)});
    double of_copy = 0, ours = 0;
    bool right = true;
    for (Made &made : all) {
        ordered_json line = {{"what", "conv-gpu"},           {"device", gpu.name()},
                             {"contestant", made.name},      {"length", problem.length},
                             {"channels", problem.channels}, {"batch", problem.batch}};
        if (!made.contestant) {
            line["failed"] = made.contestant.status().message();
            right = right && made.name != "longwave" && made.name != "copy"; // a peer may lack what it needs
        } else {
            Contestant &contestant = **made.contestant;
            const auto record = [&](VkCommandBuffer commands) { return contestant.record(commands); };
            LW_TRY(gpu.run(record));
            LW_ASSIGN(const std::vector<float> outputs, contestant.outputs());
            if (made.name != "copy") {
                line["error"] = problem.error_of(outputs);
                right = right && line["error"].get<double>() <= most_error;
            } else {
                right = right && outputs == problem.inputs;
            }
            line["dispatches"] = contestant.dispatches();
            if (gpu.software() && !flags.software_times) {
                line["times"] = "left out: a software driver";
            } else {
                LW_TRY(contestant.reset());
                LW_ASSIGN(const Gpu::Times times, gpu.time(record, calls_for(gpu, problem), flags.repeats));
                const double seconds = times.median;
                if (made.name == "copy") of_copy = seconds;
                if (made.name == "longwave") ours = seconds;
                line["us"] = 1e6 * seconds;
                line["us_least"] = 1e6 * times.least;
                line["us_most"] = 1e6 * times.most;
                line["gs_per_s"] = 1e-9 * static_cast<double>(problem.samples()) / seconds;
                line["share_of_copy"] = of_copy / seconds;
                if (ours > 0 && made.name != "longwave") line["ratio"] = ours / seconds;
            }
        }
        std::printf("%s\n", cli::json_line(line).c_str());
        std::fflush(stdout);
    }
    return right;
}

Status compare_all(const Flags &flags) {
    if (!flags.to_write.empty()) return write_kernels(flags.to_write, flags.lengths, flags.channels);
    const size_t colon = flags.device.find(':');
    const int number = colon == std::string::npos ? -1 : std::atoi(flags.device.c_str() + colon + 1);
    if (flags.limits_bytes > 0) {
        LW_ASSIGN(Gpu gpu, Gpu::open(number));
        return measure_limits(gpu, flags.limits_bytes, flags.repeats);
    }
    bool right = true;
    for (const uint32_t length : flags.lengths)
        for (const uint32_t batch : flags.batches) {
            LW_ASSIGN(Gpu gpu, Gpu::open(number)); // afresh: all of its memory goes with it
            if (gpu.software() && length == flags.lengths[0] && batch == flags.batches[0])
                std::fprintf(stderr, "note: %s is a software driver: correctness only, no times\n",
                             gpu.name().c_str());
            const Problem problem = Problem::made_up(length, flags.channels, batch);
            LW_ASSIGN(const bool all, compare(gpu, problem, flags));
            right = right && all;
        }
    return right ? Status()
                 : Status::check("some results differ from the definition: see `error` and `failed`");
}

} // namespace

int main(int argc, char **argv) {
    Flags flags;
    cli::CommandLine program(
        "Compare the fused convolution on a GPU with VkFFT and with a copy. Prints one JSON object per line.",
        "longwave bench conv --device vulkan");
    program.add_option("--device", flags.device, "Device: vulkan, or vulkan:NUMBER of `longwave devices`")
        ->capture_default_str();
    program.add_option("--against", flags.peer, "Library to compare with")
        ->check(cli::one_of({"vkfft"}))
        ->capture_default_str();
    program.add_option("--lengths", flags.lengths, "Lengths of sequence and kernel")
        ->delimiter(',')
        ->check(cli::range(16, 4096));
    program.add_option("--batches", flags.batches, "Sequences per run")
        ->delimiter(',')
        ->check(cli::range(1, 4096));
    program.add_option("--channels", flags.channels, "Channels, each with its own kernel")
        ->check(cli::range(1, 4096))
        ->capture_default_str();
    program.add_option("--repeats", flags.repeats, "Repetitions per measurement. The median is printed")
        ->capture_default_str();
    program.add_option("--kernels", flags.kernels, "Folder of compiled kernels (default: compile them now)");
    program.add_option("--write-kernels", flags.to_write, "Compile the kernels into this folder, and exit");
    program.add_option("--limits", flags.limits_bytes,
                       "Measure copies up to this many bytes instead, and what a dispatch, a barrier and a "
                       "submission cost");
    program.add_flag("--software-times", flags.software_times,
                     "Measure on a software driver, too. Only ratios of our kernels mean something there");
    program.add_flag("--json", flags.json, "Accepted for uniformity: the result is always JSON");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;
    char scratch[] = "/tmp/longwave-bench-XXXXXX";
    Status status;
    const bool temporary = flags.kernels.empty() && flags.to_write.empty();
    if (temporary) {
        flags.kernels = mkdtemp(scratch);
        status = write_kernels(flags.kernels, flags.lengths, flags.channels);
    }
    if (status) status = compare_all(flags);
    std::error_code ignored;
    if (temporary) std::filesystem::remove_all(flags.kernels, ignored);
    if (status) return 0;
    std::fprintf(stderr, "error: bench conv: %s\n", status.message().c_str());
    return status.fault() == Fault::check ? 1 : 4;
}
