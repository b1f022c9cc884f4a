#include "tests/bench/conv/bench_conv.h"
#include "schedules/contract/twiddles.h"
#include "tests/bench/conv/problem.h"
#include "tests/bench/machine.h"
#include "tests/kernels/kernel_call.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <random>
#include <sys/utsname.h>

namespace longwave::bench {

namespace {

Problem make_problem(int length, int channels, int taps) {
    Problem p{.length = length, .channels = channels, .tap_count = taps, .input = {}, .taps = {}};
    std::mt19937 random(static_cast<uint32_t>(length));
    std::uniform_real_distribution<float> uniform(-1, 1);
    for (int c = 0; c < p.channels; c++)
        for (int t = 0; t < length; t++) {
            p.input.push_back(uniform(random));
            const float tap =
                uniform(random) * std::exp(-3.0f * static_cast<float>(t) / static_cast<float>(length));
            p.taps.push_back(t < taps ? tap : 0);
        }
    return p;
}

// Relative L2 of three channels against sums in float64.
double error_of(const Problem &p, const Contestant &contestant) {
    double difference = 0, size = 0;
    const size_t n = static_cast<size_t>(p.length);
    for (int channel : {0, p.channels / 2, p.channels - 1}) {
        const float *u = &p.input[static_cast<size_t>(channel) * n],
                    *k = &p.taps[static_cast<size_t>(channel) * n];
        const int stride = std::max(1, p.length / 1024); // of a long output, some rows
        for (int t = p.length - 1; t >= 0; t -= stride) {
            double sum = 0;
            for (int j = 0; j <= t && j < p.tap_count; j++)
                sum += static_cast<double>(k[j]) * static_cast<double>(u[t - j]);
            difference += std::pow(contestant.output(channel, t) - sum, 2), size += sum * sum;
        }
    }
    return std::sqrt(difference / size);
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

std::string best_target() {
    std::string name;
    for (const targets::Target &target : targets::all())
        if (!target.by_name && test::host_runs(target)) name = target.name;
    return name;
}

// The form that was asked for, or the faster one: its name, and it.
using Best = std::pair<std::string, std::unique_ptr<Contestant>>;
Expected<Best> our_best(const Problem &problem, const ConvOptions &options) {
    Best best;
    double least = 0;
    for (const std::string form : {"right_angle", "polyphase", "overlap_add_phases"}) {
        const bool exists = form == "right_angle" ? true
                            : form == "polyphase"
                                ? schedules::has_polyphase(static_cast<uint32_t>(problem.length))
                                : problem.tap_count < problem.length && problem.channels == 1;
        if (options.form.empty() ? !exists : options.form != form) continue;
        LW_ASSIGN(auto one,
                  ours(problem, form, options.target.empty() ? best_target() : options.target, options.kgen));
        const double ns = best_ns(*one, 5, 1);
        if (!best.second || ns < least) best = {form, std::move(one)}, least = ns;
    }
    return best;
}

// The transforms of the complete sequence, or what is best for few taps.
std::vector<std::pair<std::string, std::unique_ptr<Contestant>>> peers_of(const Problem &problem,
                                                                          bool patient) {
    std::vector<std::pair<std::string, std::unique_ptr<Contestant>>> peers;
    if (problem.tap_count < problem.length)
        peers.emplace_back("fftw-overlap-save", fftw_overlap_save(problem, patient));
    else peers.emplace_back("fftw-right-angle", fftw_right_angle(problem, patient));
    peers.emplace_back("fftw-rfft-2L", fftw_rfft(problem, patient));
    return peers;
}

} // namespace

double best_ns(Contestant &contestant, int runs, double samples) {
    double best = 1e300;
    for (int i = 0; i < runs; i++) {
        const auto begin = std::chrono::steady_clock::now();
        contestant.run();
        best = std::min(
            best, std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count());
    }
    return best / samples;
}

std::string conv_environment(const ConvOptions &options) {
    utsname system{};
    uname(&system);
    return fmt::format(
        R"({{"what":"conv-environment","cpu":"{}","system":"{} {}","target":"{}","fftw":"{}","plans":"{}","compiler":"gcc {}","threads":1}})",
        cpu_name(), system.sysname, system.release, options.target.empty() ? best_target() : options.target,
        fftw_version(), options.patient ? "patient" : "measure", __VERSION__);
}

std::string conv_json(const ConvResult &r) {
    return fmt::format(
        R"({{"what":"conv","length":{},"channels":{},"taps":{},"form":"{}","ours_ns":{:.3f},"peer":"{}","peer_ns":{:.3f},"ratio":{:.3f},"error":{:.2e},"peer_error":{:.2e}}})",
        r.length, r.channels, r.taps, r.form, r.ours_ns, r.peer, r.peer_ns, r.ratio, r.error, r.peer_error);
}

Expected<std::vector<ConvResult>> bench_conv(const ConvOptions &options,
                                             const std::function<void(const ConvResult &)> &tell) {
    std::vector<ConvResult> results;
    for (int length : options.lengths) {
        const int channels = options.channels ? options.channels : length < 4096 ? 64 : 32;
        const Problem problem =
            make_problem(length, channels, options.taps ? std::min(options.taps, length) : length);
        const double samples = static_cast<double>(length) * problem.channels;
        LW_ASSIGN(const Best best, our_best(problem, options));
        const auto &[form, us] = best;
        const auto peers = peers_of(problem, options.patient);
        const double once =
            best_ns(*us, 3, 1) + best_ns(*peers[0].second, 3, 1) + best_ns(*peers[1].second, 3, 1);
        const int runs = 5,
                  rounds = std::clamp(static_cast<int>(options.seconds * 1e9 / (once * runs)), 5, 200);
        std::vector<double> our_times, peer_times[2], ratios[2];
        for (int round = 0; round < rounds;
             round++) { // in turns, so that a slow spell of the machine meets everyone
            const double own = best_ns(*us, runs, samples);
            our_times.push_back(own);
            for (int i = 0; i < 2; i++) {
                peer_times[i].push_back(best_ns(*peers[i].second, runs, samples));
                ratios[i].push_back(own / peer_times[i].back());
            }
        }
        for (int i = 0; i < 2; i++) {
            results.push_back({length, problem.channels, problem.tap_count, form, peers[i].first,
                               median(our_times), median(peer_times[i]), median(ratios[i]),
                               error_of(problem, *us), error_of(problem, *peers[i].second)});
            tell(results.back());
        }
    }
    return results;
}

} // namespace longwave::bench
