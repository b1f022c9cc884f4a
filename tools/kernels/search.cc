#include "tools/kernels/search.h"
#include <algorithm>
#include <cstdio>
#include <fmt/format.h>

namespace longwave::kernels {

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
