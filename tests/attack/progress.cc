#include "tests/attack/progress.h"
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

namespace longwave::attack {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::pair<const char *, uint64_t Counts::*> counted[] = {{"inputs", &Counts::inputs},
                                                                   {"sound", &Counts::sound},
                                                                   {"ran", &Counts::ran},
                                                                   {"opened", &Counts::opened},
                                                                   {"on_gpu", &Counts::on_gpu}};

Totals totals_of(const Json &row) {
    Totals totals;
    row.at("next").get_to(totals.next);
    for (const auto &[name, count] : counted) row.at(name).get_to(totals.counts.*count);
    row.at("cpu_seconds").get_to(totals.cpu_seconds);
    row.at("findings").get_to(totals.findings);
    return totals;
}

Json row_of(const Totals &totals) {
    Json row{{"next", totals.next}};
    for (const auto &[name, count] : counted) row[name] = totals.counts.*count;
    row["cpu_seconds"] = totals.cpu_seconds;
    row["findings"] = totals.findings;
    return row;
}

} // namespace

Progress::Progress(std::string path) : path_(std::move(path)) {
    std::ifstream file(path_);
    if (path_.empty() || !file) return;
    try {
        const Json saved = Json::parse(file);
        for (const auto &[name, row] : saved.at("subjects").items()) subjects_[name] = totals_of(row);
    } catch (const Json::exception &error) {
        std::fprintf(stderr, "%s: %s; expected the progress of an attack; choose another file\n",
                     path_.c_str(), error.what());
        std::exit(2);
    }
}

void Progress::save() const {
    if (path_.empty()) return;
    Json subjects = Json::object();
    for (const auto &[name, totals] : subjects_) subjects[name] = row_of(totals);
    const std::string fresh = path_ + ".new";
    std::ofstream file(fresh);
    file << Json{{"subjects", subjects}}.dump(1) << '\n';
    file.close();
    if (!file || std::rename(fresh.c_str(), path_.c_str()) != 0) std::perror(path_.c_str()), std::exit(3);
}

} // namespace longwave::attack
