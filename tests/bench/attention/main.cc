// bench_attention: the core of an attention layer over a whole sequence, as a plan calls it
// (preparing a call, a few tenths of a µs, is in), after a pass that is compared with float64. LightNet: the
// weights of all rows in one call, then the matrix in chunks or row by row; CHELA and Gated DeltaNet: the
// matrix alone; softmax attention without a window: 64 queries a call, or one query over all rows as in a
// stream. One JSON object a line; pins itself to the CPU it is on.
#include "tests/bench/machine.h"
#include "tests/kernels/kernel_call.h"
#include "tools/cli/command_line/command_line.h"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <fmt/format.h>
#include <functional>
#include <random>

namespace longwave::bench {
namespace {

struct Options {
    std::string core = "lightnet";
    std::vector<std::string> sizes = {"8x64", "16x64"}; // heads x width of a head
    uint32_t rows = 4096, rounds = 7;
    uint32_t shared = 1; // heads of softmax attention that share keys and values
};

// Rows of one argument, on a line of the cache.
class Rows {
public:
    Rows(uint32_t rows, uint32_t width, uint32_t seed) : width_(width), values_(size_t{rows} * width + 16) {
        std::mt19937 random(seed);
        std::normal_distribution<float> normal;
        for (float &value : values_) value = normal(random);
    }
    uint8_t *at(uint32_t row) {
        auto *first = reinterpret_cast<uint8_t *>(values_.data());
        first += (64 - reinterpret_cast<uintptr_t>(first) % 64) % 64;
        return first + size_t{row} * width_ * sizeof(float);
    }
    void each(const auto &function) {
        for (float &value : values_) value = function(value);
    }
    double value(uint32_t row, uint32_t lane) { return reinterpret_cast<float *>(at(row))[lane]; }

private:
    uint32_t width_;
    std::vector<float> values_;
};

// Median and least of the rounds, µs a row.
std::pair<double, double> measure(const Options &options, const std::function<void()> &pass) {
    std::vector<double> times;
    pass();
    for (uint32_t round = 0; round < options.rounds; ++round) {
        const auto begin = std::chrono::steady_clock::now();
        pass();
        const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
        times.push_back(took.count() / options.rows);
    }
    std::sort(times.begin(), times.end());
    return {times[times.size() / 2], times[0]};
}

// The first head by its definition in float64: row t sees rows up to t. `decays`: LightNet's weights
// of the keys, which are a softmax over the rows so far.
std::vector<double> first_head(const Options &options, uint32_t width, bool decays, Rows &q, Rows &k,
                               Rows &v) {
    std::vector<double> state(size_t{width} * width), z(width, -INFINITY), out;
    for (uint32_t t = 0; t < options.rows; t++) {
        std::vector<double> sums(width);
        for (uint32_t i = 0; i < width; i++) {
            const double key = k.value(t, i), top = std::max(z[i], key);
            z[i] = top + std::log(std::exp(z[i] - top) + std::exp(key - top));
            const double weight = decays ? std::exp(key - z[i]) : key;
            for (uint32_t j = 0; j < width; j++) {
                double &c = state[size_t{i} * width + j];
                c += weight * (v.value(t, j) - (decays ? c : 0));
                sums[j] += q.value(t, i) * c;
            }
        }
        out.insert(out.end(), sums.begin(), sums.end());
    }
    return out;
}

// The same of Gated DeltaNet: S = w S + b (a S) + k v, with a number w for each head.
std::vector<double> first_head_of_delta(const Options &options, uint32_t width, Rows &q, Rows &k, Rows &v,
                                        Rows &w, Rows &a, Rows &b) {
    std::vector<double> state(size_t{width} * width), out;
    for (uint32_t t = 0; t < options.rows; t++) {
        std::vector<double> sums(width), read(width);
        for (uint32_t i = 0; i < width; i++)
            for (uint32_t j = 0; j < width; j++) read[j] += a.value(t, i) * state[size_t{i} * width + j];
        for (uint32_t i = 0; i < width; i++)
            for (uint32_t j = 0; j < width; j++) {
                double &c = state[size_t{i} * width + j];
                c = w.value(t, 0) * c + b.value(t, i) * read[j] + k.value(t, i) * v.value(t, j);
                sums[j] += q.value(t, i) * c;
            }
        out.insert(out.end(), sums.begin(), sums.end());
    }
    return out;
}

// Relative L2 of the first head.
double error_of(const Options &options, uint32_t width, const std::vector<double> &expected, Rows &o) {
    double difference = 0, size = 0;
    for (uint32_t t = 0; t < options.rows; t++)
        for (uint32_t j = 0; j < width; j++) {
            const double value = expected[size_t{t} * width + j];
            difference += std::pow(o.value(t, j) - value, 2), size += value * value;
        }
    return std::sqrt(difference / size);
}

constexpr double most_error = 1e-5; // relative L2; float32 makes 1e-7 to 2e-6 of these sums

Status agree(const std::string &core, double error) {
    if (error <= most_error) return {};
    return Status::check(fmt::format("{}: differs from float64 by {:.1e} (relative L2), at most {:.0e}", core,
                                     error, most_error));
}

Status bench(const Options &options, uint32_t heads, uint32_t width, const targets::Target &target) {
    const uint32_t all = heads * width, chunk = 16;
    const std::string head = fmt::format(R"("heads":{},"dk":{},"dv":{})", heads, width, width);
    const bool decays = options.core == "lightnet";
    const std::string core = decays ? "decaying_attention" : "linear_attention", key = decays ? "w" : "k";
    LW_ASSIGN(std::vector<test::Kernel> kernels,
              test::load_kernels(
                  {fmt::format(R"({{"kernel":"cumulative_softmax","params":{{"channels":{},"rows":{}}}}})",
                               all, options.rows),
                   fmt::format(R"({{"kernel":"{}_chunk","params":{{{},"rows":{}}}}})", core, head, chunk),
                   fmt::format(R"({{"kernel":"{}_step","params":{{{}}}}})", core, head)},
                  target, test::find_kgen()));
    Rows q(options.rows, all, 1), k(options.rows, all, 2), v(options.rows, all, 3), w(options.rows, all, 4),
        o(options.rows, all, 5);
    kernels[0].prepare({{"k", k.at(0)}, {"w", w.at(0)}});
    if (decays) kernels[0].call_prepared(); // from an empty state; measured below, where w counts no more
    Rows scratch(1, 1 << 18, 6);
    const std::vector<double> expected = first_head(options, width, decays, q, decays ? k : w, v);
    double error = 0;
    const auto over = [&](test::Kernel &kernel, uint32_t rows) {
        const auto pass = [&] {
            for (uint32_t t = 0; t < options.rows; t += rows) {
                kernel.prepare({{"q", q.at(t)},
                                {key, w.at(t)},
                                {"v", v.at(t)},
                                {"o", o.at(t)},
                                {"scratch", scratch.at(0)}});
                kernel.call_prepared();
            }
        };
        pass(); // from an empty state
        error = std::max(error, error_of(options, width, expected, o));
        return measure(options, pass);
    };
    const auto chunks = over(kernels[1], chunk), steps = over(kernels[2], 1);
    std::pair<double, double> weights{0, 0};
    if (decays) weights = measure(options, [&] { kernels[0].call_prepared(); });
    fmt::print("{{\"core\":\"{}\",\"heads\":{},\"width\":{},\"rows\":{},\"weights_us\":{:.2f},\"chunk_us\":{:"
               ".2f},\"step_"
               "us\":{:.2f},"
               "\"whole_us\":{:.2f},\"whole_least_us\":{:.2f},\"error\":{:.2e}}}\n",
               options.core, heads, width, options.rows, weights.first, chunks.first, steps.first,
               weights.first + chunks.first, weights.second + chunks.second, error);
    std::fflush(stdout);
    return agree(options.core, error);
}

Status bench_delta(const Options &options, uint32_t heads, uint32_t width, const targets::Target &target) {
    const uint32_t all = heads * width, chunk = 16;
    const std::string head = fmt::format(
        R"("heads":{0},"key_heads":{0},"dk":{1},"dv":{1},"decay":"head","rank_one":1)", heads, width);
    LW_ASSIGN(
        std::vector<test::Kernel> kernels,
        test::load_kernels(
            {fmt::format(R"({{"kernel":"matrix_recurrence_chunk","params":{{{},"rows":{}}}}})", head, chunk),
             fmt::format(R"({{"kernel":"matrix_recurrence_step","params":{{{}}}}})", head)},
            target, test::find_kgen()));
    Rows q(options.rows, all, 1), k(options.rows, all, 2), v(options.rows, all, 3),
        w(options.rows, schedules::pad(heads), 4), a(options.rows, all, 5), b(options.rows, all, 5),
        o(options.rows, all, 6), read(chunk, all, 7), scratch(1, 1 << 18, 8);
    w.each([](float x) { return 1 / (1 + std::exp(-3 - x)); });
    b.each([=](float x) { return x / std::sqrt(static_cast<float>(width)); });
    a.each([=](float x) { return -0.5f * x / std::sqrt(static_cast<float>(width)); });
    const std::vector<double> expected = first_head_of_delta(options, width, q, k, v, w, a, b);
    double error = 0;
    const auto over = [&](test::Kernel &kernel, uint32_t rows) {
        const auto pass = [&] {
            for (uint32_t t = 0; t < options.rows; t += rows) {
                kernel.prepare({{"q", q.at(t)},
                                {"k", k.at(t)},
                                {"v", v.at(t)},
                                {"w", w.at(t)},
                                {"a", a.at(t)},
                                {"b", b.at(t)},
                                {"read", read.at(0)},
                                {"o", o.at(t)},
                                {"scratch", scratch.at(0)}});
                kernel.call_prepared();
            }
        };
        pass(); // from an empty state
        error = std::max(error, error_of(options, width, expected, o));
        return measure(options, pass);
    };
    const auto chunks = over(kernels[0], chunk), steps = over(kernels[1], 1);
    fmt::print("{{\"core\":\"{}\",\"heads\":{},\"width\":{},\"rows\":{},\"chunk_us\":{:.2f},\"chunk_least_"
               "us\":{:.2f},"
               "\"step_us\":{:.2f},\"step_least_us\":{:.2f},\"error\":{:.2e}}}\n",
               options.core, heads, width, options.rows, chunks.first, chunks.second, steps.first,
               steps.second, error);
    std::fflush(stdout);
    return agree(options.core, error);
}

// Some queries of the first head by the definition of softmax attention in float64, relative L2. `values`:
// where they begin in a row.
double softmax_error(const Options &options, uint32_t queries, uint32_t values, uint32_t width, bool causal,
                     Rows &q, Rows &kv, Rows &y) {
    double difference = 0, size = 0;
    for (uint32_t row = queries - 1;; row -= std::min(row, std::max(1u, queries / 16))) {
        const uint32_t seen = causal ? row + 1 : options.rows;
        std::vector<double> sums(width);
        double total = 0;
        for (uint32_t t = 0; t < seen; t++) {
            double score = 0;
            for (uint32_t i = 0; i < width; i++) score += q.value(row, i) * kv.value(t, i);
            const double weight =
                std::exp(score / std::sqrt(width)); // scores of this input are far below 700
            total += weight;
            for (uint32_t j = 0; j < width; j++) sums[j] += weight * kv.value(t, values + j);
        }
        for (uint32_t j = 0; j < width; j++)
            difference += std::pow(y.value(row, j) - sums[j] / total, 2),
                size += std::pow(sums[j] / total, 2);
        if (row == 0) return std::sqrt(difference / size);
    }
}

// Rows of keys, of values, and 1: each is there.
Status bench_softmax(const Options &options, uint32_t heads, uint32_t width, const targets::Target &target) {
    if (heads % options.shared) return Status::input("--shared must divide the number of heads");
    const bool causal = options.core == "softmax-causal", token = options.core == "softmax-token";
    const uint32_t all = heads * width, key_heads = heads / options.shared, of_keys = key_heads * width,
                   queries = token ? 1 : options.rows, of_call = std::min(queries, 64u),
                   kv_width = schedules::pad(2 * of_keys + 1);
    LW_ASSIGN(
        std::vector<test::Kernel> kernels,
        test::load_kernels(
            {fmt::format(
                R"({{"kernel":"softmax_attention","params":{{"heads":{},{}"dk":{},"dv":{},"rows":{},"ring":{},{}}}}})",
                heads, options.shared > 1 ? fmt::format(R"("key_heads":{},)", key_heads) : "", width, width,
                of_call, options.rows,
                causal  ? fmt::format(R"("window":{},"whole":1)", options.rows)
                : token ? fmt::format(R"("window":{})", options.rows)
                        : R"("window":0)")},
            target, test::find_kgen()));
    Rows q(queries, all, 1), kv(options.rows, kv_width, 2), y(queries, all, 3);
    for (uint32_t t = 0; t < options.rows; t++) reinterpret_cast<float *>(kv.at(t))[2 * of_keys] = 1;
    if (token) {
        kernels[0].scalar("position") = static_cast<int>(options.rows - 1);
        kernels[0].scalar("filled") = static_cast<int>(options.rows);
    }
    const auto took = measure(options, [&] {
        for (uint32_t t = 0; t < queries; t += of_call) {
            if (causal) kernels[0].scalar("position") = static_cast<int>(t);
            kernels[0].prepare({{"kv", kv.at(0)}, {"q", q.at(t)}, {"y", y.at(t)}});
            kernels[0].call_prepared();
        }
    });
    const double error = softmax_error(options, queries, of_keys, width, causal, q, kv, y),
                 shown = token ? options.rows : 1; // µs of a token, or of a row
    fmt::print("{{\"core\":\"{}\",\"heads\":{},\"key_heads\":{},\"width\":{},\"rows\":{},\"whole_us\":{:.2f},"
               "\"whole_least_us\":{:.2f},\"error\":{:.2e}}}\n",
               options.core, heads, key_heads, width, options.rows, took.first * shown, took.second * shown,
               error);
    std::fflush(stdout);
    return agree(options.core, error);
}

} // namespace
} // namespace longwave::bench

int main(int argc, char **argv) {
    using namespace longwave;
    bench::Options options;
    cli::CommandLine program("Time the core of an attention layer in an offline run on one pinned thread. "
                             "Prints medians in µs per "
                             "row, one JSON object per line.",
                             "bench_attention");
    program.add_option("--core", options.core, "Model family of the core")
        ->check(
            cli::one_of({"lightnet", "chela", "gated-delta", "softmax", "softmax-causal", "softmax-token"}))
        ->capture_default_str();
    program.add_option("--sizes", options.sizes, "Numbers of heads x width of a head")
        ->delimiter(',')
        ->capture_default_str();
    program.add_option("--rows", options.rows, "Rows of the sequence, a multiple of 16")
        ->check(cli::range(16, 1 << 20))
        ->capture_default_str();
    program.add_option("--shared", options.shared, "Heads of softmax attention that share keys and values")
        ->check(cli::range(1, 4096))
        ->capture_default_str();
    program.add_option("--rounds", options.rounds, "Repetitions of each measurement")
        ->check(cli::range(1, 1000))
        ->capture_default_str();
    if (const std::optional<int> code = program.parse(argc, argv)) return *code;
    const bool softmax = options.core.starts_with("softmax");
    bench::pin_to_this_cpu();
    const targets::Target *best = nullptr;
    for (const targets::Target &target : targets::all())
        if (!target.by_name && test::host_runs(target)) best = &target;
    for (const std::string &size : options.sizes) {
        unsigned heads = 0, width = 0;
        if (options.rows % (softmax ? std::min(options.rows, 64u) : 16) ||
            std::sscanf(size.c_str(), "%ux%u", &heads, &width) != 2 || heads * width == 0)
            return std::fprintf(
                       stderr, "error: expected sizes such as 8x64 and rows in chunks of 16 (softmax: 64)\n"),
                   2;
        const auto of_core = softmax                         ? bench::bench_softmax
                             : options.core == "gated-delta" ? bench::bench_delta
                                                             : bench::bench;
        const Status status = of_core(options, heads, width, *best);
        if (!status) {
            std::fprintf(stderr, "error: %s\n", status.message().c_str());
            return status.fault() == Fault::check ? 1 : 4;
        }
    }
    return 0;
}
