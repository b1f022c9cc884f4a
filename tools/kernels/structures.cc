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

namespace {

using Json = nlohmann::json;

constexpr size_t finalists = 3;

std::string name_of(int length, const std::vector<Structure> &structures) {
    std::string name = fmt::format("structures {}: ", length);
    for (size_t i = 0; i < structures.size(); i++) name += (i ? "; " : "") + to_text(structures[i]);
    return name;
}

// Time as a part of the generic structure's; none: not measured, or failed.
std::optional<double> ratio_of(const Measured &measured, int length, const Structure &structure) {
    const std::string name = name_of(length, {structure});
    if (!succeeded(measured, name)) return std::nullopt;
    return measured.at(name).at(0).at("ratio").get<double>();
}

struct Ranked {
    Structure structure;
    double ratio;
};

// The candidates that could be measured, the best first; the generic one is its own measure.
std::vector<Ranked> ranked(const targets::Target &target, const Measured &measured, int length,
                           const std::vector<Structure> &candidates) {
    std::vector<Ranked> list;
    for (const Structure &candidate : candidates)
        if (const auto ratio = ratio_of(measured, length, candidate)) list.push_back({candidate, *ratio});
    list.push_back({generic_structure(target), 1.0});
    std::stable_sort(list.begin(), list.end(),
                     [](const Ranked &a, const Ranked &b) { return a.ratio < b.ratio; });
    return list;
}

// The rounds of one length as far as they are known.
struct Rounds {
    std::vector<Structure> candidates; // of the first and second round
    std::vector<Structure> last;       // who meets in the last one; empty: not yet known
    bool started = false;              // something was measured

    Rounds(const targets::Target &target, const Measured &measured, int length) {
        candidates = first_candidates(target, length);
        const auto done = [&](const Structure &s) { return measured.count(name_of(length, {s})) > 0; };
        started = std::any_of(candidates.begin(), candidates.end(), done);
        if (!std::all_of(candidates.begin(), candidates.end(), done)) return;
        const auto best = ranked(target, measured, length, candidates).front().structure;
        for (const Structure &more : more_candidates(target, best))
            if (std::find(candidates.begin(), candidates.end(), more) == candidates.end())
                candidates.push_back(more);
        if (!std::all_of(candidates.begin(), candidates.end(), done)) return;
        for (const Ranked &r : ranked(target, measured, length, candidates))
            if (last.size() < finalists) last.push_back(r.structure);
    }
    // The best so far.
    Ranked best(const targets::Target &target, const Measured &measured, int length) const {
        const std::string name = name_of(length, last);
        if (last.empty() || !succeeded(measured, name))
            return ranked(target, measured, length, candidates).front();
        Ranked best{generic_structure(target), 1.0};
        for (size_t i = 0; i < last.size(); i++)
            if (const double ratio = measured.at(name).at(i).at("ratio"); ratio < best.ratio)
                best = {last[i], ratio};
        return best;
    }
};

Expected<Json> measure_structures(const std::string &text, const MeasureOptions &options) {
    int length = 0, read = 0;
    if (std::sscanf(text.c_str(), "%d: %n", &length, &read) != 1 || read == 0 || length < 4 ||
        length > 1 << 22)
        return Status::usage(fmt::format("\"{}\" names no length and structures", text));
    std::vector<Structure> structures;
    for (size_t at = static_cast<size_t>(read); at < text.size();) {
        const size_t end = std::min(text.find("; ", at), text.size());
        const auto structure = parse_structure(text.substr(at, end - at));
        if (!structure)
            return Status::usage(fmt::format("\"{}\" names no structure", text.substr(at, end - at)));
        structures.push_back(*structure);
        at = end + 2;
    }
    LW_ASSIGN(const auto found, compare_structures(length, structures, options));
    Json list = Json::array();
    for (const Comparison &comparison : found)
        list.push_back({{"ns", comparison.ns}, {"ratio", comparison.ratio}});
    return list;
}

} // namespace

bool succeeded(const Measured &measured, const std::string &name) {
    const auto found = measured.find(name);
    return found != measured.end() && !(found->second.is_object() && found->second.contains("failed"));
}

bool plausible(const std::string &name, const Json &result) {
    if (result.is_object()) return result.contains("failed") && result["failed"].is_string();
    const auto numbers = [](const Json &list) {
        return std::all_of(list.begin(), list.end(), [](const Json &n) { return n.is_number(); });
    };
    if (name.rfind("cost ", 0) == 0)
        return result.is_number() || (result.is_array() && result.size() >= 2 && numbers(result));
    if (name.rfind("structures ", 0) != 0 || !result.is_array()) return false;
    const auto contestants = static_cast<size_t>(std::count(name.begin(), name.end(), ';')) + 1;
    return result.size() == contestants && std::all_of(result.begin(), result.end(), [](const Json &one) {
               return one.is_object() && one.contains("ratio") && one["ratio"].is_number();
           });
}

std::vector<std::string> structure_names(const targets::Target &target, const Measured &measured) {
    std::vector<std::string> names;
    for (const int length : structure_lengths()) {
        const Rounds rounds(target, measured, length);
        for (const Structure &candidate : rounds.candidates) names.push_back(name_of(length, {candidate}));
        if (rounds.last.size() > 1) names.push_back(name_of(length, rounds.last));
    }
    return names;
}

size_t structure_total(const targets::Target &target, const Measured &measured) {
    size_t total = 0;
    for (const int length : structure_lengths()) {
        const Rounds rounds(target, measured, length);
        const size_t later = more_candidates(target, generic_structure(target)).size() + 1;
        const bool first = rounds.candidates.size() == first_candidates(target, length).size();
        total +=
            rounds.candidates.size() + (rounds.last.empty() ? (first ? later : 1) : rounds.last.size() > 1);
    }
    return total;
}

nlohmann::ordered_json structure_table(const targets::Target &target, const Measured &measured) {
    std::vector<std::pair<int, Structure>> rows;
    for (const int length : structure_lengths())
        if (const Rounds rounds(target, measured, length); rounds.started)
            rows.emplace_back(length, rounds.best(target, measured, length).structure);
    if (rows.empty()) return {};
    rows.back().first = 1 << 22; // and beyond
    auto table = nlohmann::ordered_json::array();
    for (const auto &[up_to, structure] : rows) table.push_back(to_json(structure, up_to));
    return table;
}

std::string structure_summary(const targets::Target &target, const Measured &measured) {
    std::string text;
    for (const int length : structure_lengths()) {
        const Rounds rounds(target, measured, length);
        if (!rounds.started) continue;
        const Ranked best = rounds.best(target, measured, length);
        text += fmt::format("length    {:>5}: {:<44} {:.2f} of the generic time\n", length,
                            to_text(best.structure), best.ratio);
    }
    return text;
}

Expected<Json> measure(const std::string &name, const MeasureOptions &options) {
    const auto rest = [&](const char *kind) { return name.substr(std::string_view(kind).size()); };
    if (name.rfind("structures ", 0) == 0) return measure_structures(rest("structures "), options);
    if (name.rfind("cost ", 0) == 0) return measure_cost(rest("cost "), options);
    if (name.rfind("judge ", 0) != 0)
        return Status::usage(fmt::format("\"{}\" names nothing that is measured", name));
    LW_ASSIGN(const double ratio, judge_kernel(rest("judge "), options));
    return Json(ratio);
}

} // namespace longwave::kernels
