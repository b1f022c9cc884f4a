#include "tests/bench/linear/bench_linear.h"
#include "tests/bench/linear/contestant.h"
#include "tests/bench/machine.h"
#include "tests/kernels/kernel_call.h"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ctime>
#include <fmt/format.h>
#include <optional>
#include <sys/utsname.h>

namespace longwave::bench {

namespace {

struct Size {
    int in = 0, out = 0;
};

std::optional<Size> size_of(const std::string &text) {
    Size size;
    const char *end = text.data() + text.size();
    const auto in = std::from_chars(text.data(), end, size.in);
    if (in.ec != std::errc() || in.ptr == end || *in.ptr != 'x') return std::nullopt;
    const auto out = std::from_chars(in.ptr + 1, end, size.out);
    if (out.ec != std::errc() || out.ptr != end) return std::nullopt;
    const auto fits = [](int n) { return n >= 1 && n <= 1 << 16; };
    return fits(size.in) && fits(size.out) ? std::optional(size) : std::nullopt;
}

const targets::Target *target_of(const LinearOptions &options) {
    if (!options.target.empty()) return targets::find(options.target);
    const targets::Target *best = nullptr;
    for (const targets::Target &target : targets::all())
        if (!target.by_name && test::host_runs(target)) best = &target;
    return best;
}

// Processor time: others may use the same CPU.
double now_us() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

double time_of(Contestant &contestant, int calls) {
    const double begin = now_us();
    for (int i = 0; i < calls; i++) contestant.run();
    return (now_us() - begin) / calls;
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(values.size() / 2),
                     values.end());
    return values[values.size() / 2];
}

// Relative L2 of a few rows. With gates ours is compared after them, the peers' values before them.
double error_of(const Product &p, const Contestant &contestant, bool gates) {
    double difference = 0, size = 0;
    const auto in = static_cast<size_t>(p.in), out = static_cast<size_t>(p.out);
    for (int q = 0; q < std::min(p.rows, 8); q++) {
        const auto r = static_cast<size_t>(p.rows - 1) * static_cast<size_t>(q) /
                       static_cast<size_t>(std::max(1, std::min(p.rows, 8) - 1));
        const auto sum = [&](size_t o) {
            double total = 0;
            for (size_t i = 0; i < in; i++)
                total += static_cast<double>(p.x[r * in + i]) * contestant.weight(o * in + i);
            return total;
        };
        for (size_t o = 0; o < out; o++) {
            const double expected = gates ? sum(o) / (1 + std::exp(-sum(o + out))) : sum(o);
            difference += std::pow(contestant.result()[r * contestant.result_row() + o] - expected, 2);
            size += expected * expected;
        }
    }
    return std::sqrt(difference / size);
}

// Float32 first.
Expected<std::vector<Variant>> variants_of(const LinearOptions &options) {
    std::vector<Variant> variants = {Variant{}};
    const auto add = [&](const Variant &variant) {
        if (std::find(variants.begin(), variants.end(), variant) == variants.end())
            variants.push_back(variant);
    };
    for (const std::string &name : options.weights) {
        const auto format = schedules::find_weight_format(name);
        if (!format)
            return Status::usage(
                fmt::format("--weights {}: expected {}", name, schedules::weight_format_names));
        const bool integers =
            *format == schedules::WeightFormat::int8 || *format == schedules::WeightFormat::int4;
        add({.format = *format, .byte_activations = options.byte_activations && integers});
        if (options.float_activations && *format == schedules::WeightFormat::int8)
            add({.format = *format, .float_activations = true});
    }
    return variants;
}

// Relative L2: sums of float32, or of rows that are rounded to int16 or int8 before they are summed.
double most_error(const Variant &variant) {
    const bool integers =
        variant.format == schedules::WeightFormat::int8 || variant.format == schedules::WeightFormat::int4;
    if (!integers || variant.float_activations) return 2e-6;
    return variant.byte_activations ? 3e-2 : 2e-4;
}

Status agrees(const Product &p, const Contestant &contestant, double error, const Variant &variant) {
    const double most = most_error(variant);
    if (error <= most) return {};
    return Status::check(
        fmt::format("{}x{}, {} rows: {} differs from float64 by {:.1e} (relative L2), at most {:.0e}", p.in,
                    p.out, p.rows, contestant.name, error, most));
}

LinearResult compared(const Product &p, const Contestant &us, const Contestant &peer) {
    std::vector<double> ratios;
    for (size_t round = 0; round < us.times.size(); round++)
        ratios.push_back(us.times[round] / peer.times[round]);
    LinearResult result{p.in, p.out, p.rows, us.name, peer.name};
    result.ours_us = median(us.times);
    result.peer_us = median(peer.times);
    result.ratio = median(ratios);
    result.gflops = 2e-3 * p.in * static_cast<double>(p.outputs()) * p.rows / result.ours_us;
    result.weights_gbs = static_cast<double>(us.weight_bytes()) * 1e-3 / result.ours_us;
    result.peer_gbs = static_cast<double>(peer.weight_bytes()) * 1e-3 / result.peer_us;
    return result;
}

Status race(const LinearOptions &options, const Product &p, const targets::Target &target,
            const std::function<void(const LinearResult &)> &tell) {
    std::vector<std::unique_ptr<Contestant>> all;
    LW_ASSIGN(const auto variants, variants_of(options));
    for (const Variant &variant : variants) {
        LW_ASSIGN(auto us, ours(p, variant, target, options.kgen));
        all.push_back(std::move(us));
    }
    for (const std::string &library : options.against) {
        LW_ASSIGN(auto peer, blas(p, library));
        all.push_back(std::move(peer));
    }
    for (size_t i = 0; p.rows == 1 && i < variants.size(); i++) all.push_back(reader(all[i]->weight_bytes()));
    double once = 0;
    std::vector<int> calls;
    for (auto &contestant : all) {
        contestant->run();
        const double time = std::min(time_of(*contestant, 1), time_of(*contestant, 2));
        calls.push_back(std::clamp(static_cast<int>(4000 / time), 1, 10000));
        once += calls.back() * time;
    }
    const int rounds = std::clamp(static_cast<int>(options.seconds * 1e6 / once), 5, 500);
    for (int round = 0; round < rounds; round++) // in turns: a slow spell of the machine meets everyone
        for (size_t i = 0; i < all.size(); i++) all[i]->times.push_back(time_of(*all[i], calls[i]));
    const size_t peers = variants.size() + options.against.size();
    std::vector<double> errors;
    for (size_t i = 0; i < peers; i++) errors.push_back(error_of(p, *all[i], i < variants.size() && p.gated));
    for (size_t i = 0; i < peers; i++)
        LW_TRY(agrees(p, *all[i], errors[i], i < variants.size() ? variants[i] : Variant{}));
    errors.resize(all.size());
    for (size_t us = 0; us < variants.size(); us++)
        for (size_t i = 0; i < all.size(); i++) {
            // Other formats are compared with float32, and each walk with the reader of as many
            // bytes. Rows that are quantised are compared with rows that are not.
            const bool same_weights = i == us + 1 && i < variants.size() && variants[i].float_activations;
            if (i < variants.size() ? (i != 0 || us == 0) && !same_weights : i >= peers && i != peers + us)
                continue;
            LinearResult result = compared(p, *all[us], *all[i]);
            result.error = errors[us];
            result.peer_error = errors[i];
            tell(result);
        }
    return Status::ok();
}

} // namespace

std::string linear_environment(const LinearOptions &options) {
    utsname system{};
    uname(&system);
    const targets::Target *target = target_of(options);
    return fmt::format(
        R"({{"what":"linear-environment","cpu":"{}","system":"{} {}","target":"{}","compiler":"gcc {}","threads":1}})",
        cpu_name(), system.sysname, system.release, target ? target->name : options.target, __VERSION__);
}

std::string linear_json(const LinearResult &r) {
    return fmt::format(
        R"({{"what":"linear","in":{},"out":{},"rows":{},"weights":"{}","ours_us":{:.3f},"rows_per_second":{:.0f},"weights_gb_per_second":{:.2f},"gflops":{:.1f},"peer":"{}","peer_us":{:.3f},"peer_gb_per_second":{:.2f},"ratio":{:.3f},"error":{:.2e},"peer_error":{:.2e}}})",
        r.in, r.out, r.rows, r.weights, r.ours_us, r.rows * 1e6 / r.ours_us, r.weights_gbs, r.gflops, r.peer,
        r.peer_us, r.peer_gbs, r.ratio, r.error, r.peer_error);
}

Status bench_linear(const LinearOptions &options, const std::function<void(const LinearResult &)> &tell) {
    const targets::Target *target = target_of(options);
    if (!target) return Status::usage("unknown target '" + options.target + "'");
    restrict_blas(*target);
    for (const std::string &text : options.sizes) {
        const std::optional<Size> size = size_of(text);
        if (!size) return Status::usage("'" + text + "' is no size; expected INPUTSxOUTPUTS, as in 512x1024");
        for (int rows : options.rows)
            LW_TRY(race(options, Product(size->in, size->out, rows, options.gated), *target, tell));
    }
    return Status::ok();
}

} // namespace longwave::bench
