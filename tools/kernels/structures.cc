#include "tools/kernels/structures.h"
#include "tools/kernels/kernel_call.h"
#include "tools/kernels/machine.h"
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fmt/format.h>

namespace longwave::kernels {

namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr int compared_channels = 64, compared_tile = 16;

// One kernel, called for every tile of a row of all channels, as the runtime does.
class TiledCalls {
public:
    static Expected<TiledCalls> create(const std::string &kernel, const std::string &params, int rows,
                                       const MeasureOptions &options, const std::string &structures) {
        const std::string spec = fmt::format(R"({{"kernel":"{}","params":{{"channels":{},{}}}}})", kernel,
                                             compared_channels, params);
        TiledCalls calls;
        for (int t = 0; t < compared_channels / compared_tile; t++) { // each with spectra of its own
            LW_ASSIGN(auto loaded, load_kernels({spec}, *options.target, options.kgen,
                                                {.structures = structures, .cache = options.cache}));
            calls.tiles_.push_back(std::move(loaded.front()));
        }
        calls.prepare(rows);
        return Expected<TiledCalls>(std::move(calls)); // arguments point into it: never copied
    }
    // Best of a few runs of all tiles, so that an interruption does not count.
    Expected<double> best_ns(int runs) {
        double best = 1e300;
        for (int i = 0; i < runs; i++) {
            const auto begin = std::chrono::steady_clock::now();
            for (Kernel &kernel : tiles_)
                if (kernel.call_prepared() != 0) return Status::device("the kernel failed");
            const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
            best = std::min(best, took.count());
        }
        return best;
    }

private:
    void prepare(int rows) {
        const size_t row = compared_channels, floats = static_cast<size_t>(rows) * row + 16;
        u_ = std::make_shared<std::vector<float>>(floats, 0.25f);
        y_ = std::make_shared<std::vector<float>>(floats);
        scratch_ =
            std::make_shared<std::vector<float>>(tiles_[0].signature().scratch_bytes / sizeof(float) + 16);
        for (size_t t = 0; t < tiles_.size(); t++) {
            tiles_[t].fill_inputs(static_cast<uint32_t>(t + 1));
            tiles_[t].prepare({{"u", line(*u_) + t * compared_tile * sizeof(float)},
                               {"y", line(*y_) + t * compared_tile * sizeof(float)},
                               {"scratch", line(*scratch_)}});
        }
    }
    static uint8_t *line(std::vector<float> &memory) {
        auto *bytes = reinterpret_cast<uint8_t *>(memory.data());
        return bytes + (64 - reinterpret_cast<uintptr_t>(bytes) % 64) % 64;
    }
    std::vector<Kernel> tiles_;
    std::shared_ptr<std::vector<float>> u_, y_, scratch_;
};

std::string table_of(const targets::Target &target, const Structure &structure) {
    return OrderedJson{{target.name, {{"structures", OrderedJson::array({to_json(structure, 1 << 22)})}}}}
        .dump();
}

// Rounds in turns; a result for each contestant against the first.
Expected<std::vector<Comparison>> in_turns(std::vector<TiledCalls> &contestants, double elements,
                                           double seconds) {
    double once = 0;
    for (TiledCalls &contestant : contestants) {
        LW_ASSIGN(const double ns, contestant.best_ns(2));
        once += ns;
    }
    const int runs =
                  std::clamp(static_cast<int>(1e6 * static_cast<double>(contestants.size()) / once), 3, 50),
              rounds = std::clamp(
                  static_cast<int>(1e9 * seconds * static_cast<double>(contestants.size()) / (once * runs)),
                  7, 400);
    std::vector<std::vector<double>> times(contestants.size()), ratios(contestants.size());
    for (int round = 0; round < rounds; round++)
        for (size_t i = 0; i < contestants.size(); i++) {
            LW_ASSIGN(const double ns, contestants[i].best_ns(runs));
            times[i].push_back(ns / elements);
            ratios[i].push_back(times[i].back() / times[0].back());
        }
    std::vector<Comparison> found;
    for (size_t i = 0; i < contestants.size(); i++)
        found.push_back({median(std::move(times[i])), median(std::move(ratios[i]))});
    return found;
}

} // namespace

std::string to_text(const Structure &s) {
    return fmt::format("vec={} outer={} columns={} chunk={} gap={} fused={}", s.vec, s.outer, s.columns,
                       s.chunk, s.gap, s.fused ? 1 : 0);
}

std::optional<Structure> parse_structure(const std::string &text) {
    Structure s;
    int fused = 0;
    if (std::sscanf(text.c_str(), "vec=%d outer=%d columns=%d chunk=%d gap=%d fused=%d", &s.vec, &s.outer,
                    &s.columns, &s.chunk, &s.gap, &fused) != 6)
        return std::nullopt;
    s.fused = fused != 0;
    if (to_text(s) != text) return std::nullopt;
    return s;
}

OrderedJson to_json(const Structure &s, int up_to) {
    OrderedJson row{{"up_to", up_to}, {"vec", s.vec}, {"outer", s.outer}};
    if (s.columns) row["columns"] = s.columns, row["chunk"] = s.chunk;
    if (s.gap) row["gap"] = s.gap;
    if (s.fused) row["fused"] = true;
    return row;
}

const std::vector<int> &structure_lengths() {
    static const std::vector<int> lengths = {256, 1024, 4096, 16384, 65536, 262144};
    return lengths;
}

Structure generic_structure(const targets::Target &target) { return {.vec = target.vector_lanes}; }

std::vector<Structure> first_candidates(const targets::Target &target, int length) {
    Structure base = generic_structure(target);
    base.fused = target.fused_multiply_add;
    base.outer = 10;
    std::vector<Structure> all = {base};
    for (const int columns : {16, 64, 256}) {
        // Columns about as long as rows, within what has ever paid.
        if (columns * 4 > length || int64_t{columns} * columns * 64 < length ||
            int64_t{columns} * columns > length * int64_t{4})
            continue;
        for (const int chunk : {2, 4, 8, 16}) {
            all.push_back(base);
            all.back().columns = columns;
            all.back().chunk = chunk;
        }
    }
    return all;
}

std::vector<Structure> more_candidates(const targets::Target &target, const Structure &best) {
    std::vector<Structure> all;
    for (const int outer : {4, 8, 16}) {
        all.push_back(best);
        all.back().outer = outer;
    }
    if (target.fused_multiply_add) {
        all.push_back(best);
        all.back().fused = !best.fused;
    }
    for (const int gap : {1, 2}) {
        if (best.columns == 0) break;
        all.push_back(best);
        all.back().gap = gap;
    }
    if (best.vec > 4) {
        all.push_back(best);
        all.back().vec = best.vec / 2;
    }
    std::erase(all, best);
    return all;
}

Expected<std::vector<Comparison>> compare_structures(int length, const std::vector<Structure> &candidates,
                                                     const MeasureOptions &options) {
    std::vector<TiledCalls> contestants;
    std::vector<Structure> all = {generic_structure(*options.target)};
    all.insert(all.end(), candidates.begin(), candidates.end());
    for (const Structure &structure : all) {
        LW_ASSIGN(auto calls, TiledCalls::create("long_conv_right_angle",
                                                 fmt::format(R"("length":{0},"rows":{0})", length), length,
                                                 options, table_of(*options.target, structure)));
        contestants.push_back(std::move(calls));
    }
    LW_ASSIGN(auto found, in_turns(contestants, double(length) * compared_channels, options.seconds));
    found.erase(found.begin());
    return found;
}

std::vector<std::string> judged_kernels() {
    std::vector<std::string> names;
    for (int length = 64; length <= 65536; length *= 2)
        names.push_back(fmt::format("right_angle {}", length));
    for (const int block : {64, 160, 256, 1024, 4096}) names.push_back(fmt::format("partitioned {}", block));
    return names;
}

Expected<double> judge_kernel(const std::string &name, const MeasureOptions &options) {
    int length = 0;
    const bool whole = std::sscanf(name.c_str(), "right_angle %d", &length) == 1;
    if (!whole && std::sscanf(name.c_str(), "partitioned %d", &length) != 1)
        return Status::usage(fmt::format("\"{}\" is none of the kernels that are judged", name));
    std::vector<TiledCalls> contestants;
    for (const std::string &structures : {std::string(), options.structures}) {
        LW_ASSIGN(auto calls, TiledCalls::create(whole ? "long_conv_right_angle" : "long_conv_partitioned",
                                                 whole ? fmt::format(R"("length":{0},"rows":{0})", length)
                                                       : fmt::format(R"("block":{},"partitions":8)", length),
                                                 length, options, structures));
        contestants.push_back(std::move(calls));
    }
    LW_ASSIGN(const auto found, in_turns(contestants, 1, options.seconds));
    return found[1].ratio;
}

} // namespace longwave::kernels
