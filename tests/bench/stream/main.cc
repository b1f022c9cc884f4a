// bench_stream: streams of long convolutions against zita-convolver and uniform partitions with
// FFTW, JSON lines on standard output. `longwave bench stream` starts it. Pins itself to the CPU it
// is on.
#include "tests/bench/machine.h"
#include "tests/bench/stream/contestant.h"
#include "tests/kernels/kernel_call.h"
#include "tools/cli/command_line/command_line.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <random>

namespace {

using namespace longwave;
using namespace longwave::bench;

struct Options {
    std::vector<uint32_t> channels = {1, 2, 4, 16, 64}, blocks = {64, 256};
    uint32_t taps = 16384;
    double seconds = 3; // for each of the contestants of a problem
    std::string target, convolution;
    bool alone = false, mix = false;
};

StreamProblem make_problem(uint32_t channels, uint32_t block, uint32_t taps, bool mixes) {
    StreamProblem p{
        .channels = channels, .block = block, .taps = taps, .mixes = mixes, .kernel = {}, .input = {}};
    std::mt19937 random(channels * 31 + block);
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (uint32_t filter = 0; filter < channels * p.heard(); filter++)
        for (uint32_t t = 0; t < taps; t++)
            p.kernel.push_back(uniform(random) *
                               std::exp(-4.0f * static_cast<float>(t) / static_cast<float>(taps)));
    const size_t blocks = (taps + block - 1) / block;
    for (size_t i = 0; i < blocks * block * channels; i++) p.input.push_back(uniform(random));
    return p;
}

// Times of blocks, by where they stand in the period.
struct Times {
    std::vector<std::vector<double>> phases;
    std::vector<double> all;
};

double quantile(std::vector<double> values, double q) {
    const auto at = values.begin() + static_cast<ptrdiff_t>(q * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

class Runner {
public:
    Runner(const StreamProblem &p, std::unique_ptr<StreamContestant> contestant)
        : p_(p), contestant_(std::move(contestant)), out_(size_t{p.block} * p.channels) {
        times_.phases.resize(contestant_->period());
    }
    const StreamContestant &contestant() const { return *contestant_; }

    // Relative L2 error of some rows, against sums in float64; every sample of the kernel has its
    // part.
    Expected<double> check() {
        double difference = 0, size = 0;
        const size_t rows = p_.input_rows();
        for (uint64_t done = 0; done < 2 * uint64_t{rows}; done += p_.block, block_++) {
            LW_TRY(contestant_->block(p_.rows(block_), out_.data()));
            if (done < rows || block_ % 7) continue;
            for (uint32_t c = 0; c < p_.channels; c += 1 + p_.channels / 4) {
                const size_t n = block_ % p_.block, t = done + n;
                double sum = 0;
                for (uint32_t i = 0; i < p_.heard(); i++)
                    for (size_t j = 0; j < p_.taps; j++)
                        sum += double{p_.filter(c, i)[j]} *
                               p_.input[(t - j) % rows * p_.channels + p_.first(c) + i];
                difference += std::pow(sum - out_[n * p_.channels + c], 2), size += sum * sum;
            }
        }
        return std::sqrt(difference / size);
    }
    // Some whole periods.
    Status run(double seconds) {
        using Clock = std::chrono::steady_clock;
        const uint32_t period = contestant_->period();
        for (double spent = 0; spent < seconds * 1e9 || block_ % period;) {
            const float *in = p_.rows(block_);
            const auto begin = Clock::now();
            LW_TRY(contestant_->block(in, out_.data()));
            const double ns = std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
            times_.phases[block_ % period].push_back(ns);
            times_.all.push_back(ns);
            block_++;
            spent += ns;
        }
        return {};
    }
    // The mean over the period of what a block usually costs: ns a block.
    double mean() const {
        double sum = 0;
        for (const auto &phase : times_.phases) sum += quantile(phase, 0.5);
        return sum / static_cast<double>(times_.phases.size());
    }
    double dearest() const {
        double most = 0;
        for (const auto &phase : times_.phases) most = std::max(most, quantile(phase, 0.5));
        return most;
    }
    double raw_mean() const {
        double sum = 0;
        for (double t : times_.all) sum += t;
        return sum / static_cast<double>(times_.all.size());
    }
    double at(double q) const { return quantile(times_.all, q); }

private:
    const StreamProblem &p_;
    std::unique_ptr<StreamContestant> contestant_;
    std::vector<float> out_;
    Times times_;
    uint64_t block_ = 0;
};

void tell(const StreamProblem &p, const Runner &r, double error) {
    const double samples = double(p.block) * p.channels;
    const std::string settings = r.contestant().settings();
    fmt::print(
        R"({{"what":"stream","contestant":"{}","channels":{},"filters":{},"block":{},"taps":{},"ns":{:.2f},)"
        R"("raw_mean_ns":{:.2f},"median_ns":{:.2f},"p99_ns":{:.2f},"dearest":{:.2f},"period":{},)"
        R"("error":{:.1e},"settings":{}}})"
        "\n",
        r.contestant().name(), p.channels, p.channels * p.heard(), p.block, p.taps, r.mean() / samples,
        r.raw_mean() / samples, r.at(0.5) / samples, r.at(0.99) / samples, r.dearest() / r.mean(),
        r.contestant().period(), error, settings.empty() ? "{}" : settings);
    fflush(stdout);
}

// The best of zita's settings, by a short run each.
Streamer best_zita(const StreamProblem &p) {
    uint32_t best = 0;
    double least = 1e300;
    for (uint32_t largest : {p.block, 512u, 1024u, 2048u, 4096u, 8192u}) {
        LW_ASSIGN(auto zita, zita_stream(p, std::max(largest, p.block)));
        Runner runner(p, std::move(zita));
        LW_TRY(runner.run(0.2));
        if (runner.raw_mean() < least) best = std::max(largest, p.block), least = runner.raw_mean();
    }
    return zita_stream(p, best);
}

Status measure(const StreamProblem &p, const Options &options) {
    std::vector<Runner> runners;
    LW_ASSIGN(auto ours, our_stream(p, options.target, options.convolution));
    runners.emplace_back(p, std::move(ours));
    if (!options.alone) {
        LW_ASSIGN(auto zita, best_zita(p));
        runners.emplace_back(p, std::move(zita));
        LW_ASSIGN(auto fftw, fftw_stream(p));
        runners.emplace_back(p, std::move(fftw));
    }
    std::vector<double> errors;
    for (Runner &runner : runners) {
        LW_ASSIGN(const double error, runner.check());
        errors.push_back(error);
    }
    constexpr int rounds = 20; // in turns, so that a slow spell of the machine meets everyone
    for (int round = 0; round < rounds; round++)
        for (Runner &runner : runners) LW_TRY(runner.run(options.seconds / rounds));
    for (size_t i = 0; i < runners.size(); i++) tell(p, runners[i], errors[i]);
    constexpr double most_error = 5e-6; // float32 transforms and sums of these lengths make 1e-7 to 1e-6
    for (size_t i = 0; i < runners.size(); i++)
        if (!(errors[i] <= most_error))
            return Status::check(
                fmt::format("{}: differs from float64 by {:.1e} (relative L2), at most {:.0e}",
                            runners[i].contestant().name(), errors[i], most_error));
    return {};
}

void environment(const Options &options) {
    double load[1] = {0};
    if (getloadavg(load, 1) < 1) load[0] = 0;
    fmt::print(R"({{"what":"stream-environment","cpu":"{}","target":"{}","threads":1,"plans":"measure",)"
               R"("load":{:.1f},"compiler":"gcc {}"}})"
               "\n",
               cpu_name(), options.target, load[0], __VERSION__);
}

} // namespace

int main(int argc, char **argv) {
    Options options;
    for (const targets::Target &target : targets::all())
        if (!target.by_name && test::host_runs(target)) options.target = target.name;
    bool json = true;
    cli::CommandLine program(
        "Compare streamed long convolutions with zita-convolver and FFTW on one pinned CPU. "
        "Prints one JSON object per line.",
        "longwave bench stream");
    program.add_option("--channels", options.channels, "Channels")->delimiter(',')->capture_default_str();
    program.add_option("--blocks", options.blocks, "Rows per block")->delimiter(',')->capture_default_str();
    program.add_option("--taps", options.taps, "Taps per channel")
        ->check(cli::range(64, 1 << 20))
        ->capture_default_str();
    program.add_option("--seconds", options.seconds, "Seconds per library and problem")
        ->check(cli::range(0.1, 3600.0))
        ->capture_default_str();
    program.add_option("--target", options.target, "x86-64-v2, x86-64-v3 or x86-64-v4")
        ->capture_default_str();
    program.add_option("--convolution", options.convolution, "Use this algorithm");
    program.add_flag("--mix", options.mix, "Each output hears all channels, as in true stereo");
    program.add_flag("--alone", options.alone, "Time Longwave only");
    program.add_flag("--json", json, "Accepted for uniformity: the result is always JSON");
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;

    pin_to_this_cpu();
    environment(options);
    for (uint32_t block : options.blocks)
        for (uint32_t channels : options.channels) {
            const Status status = measure(make_problem(channels, block, options.taps, options.mix), options);
            if (status) continue;
            fprintf(stderr, "error: bench stream: %s\n", status.message().c_str());
            return status.fault() == Fault::check ? 1 : status.fault() == Fault::usage ? 2 : 4;
        }
    return 0;
}
