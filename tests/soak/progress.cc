#include "tests/soak/progress.h"
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace longwave::soak {

Progress::Progress(std::string path, std::string work, uint64_t chunks)
    : path_(std::move(path)), work_(std::move(work)), chunks_(chunks) {
    std::ifstream file(path_);
    if (path_.empty() || !file) return;
    const nlohmann::json saved = nlohmann::json::parse(file, nullptr, false);
    if (saved.is_discarded() || saved.value("work", "") != work_)
        throw std::runtime_error(path_ + ": progress of other work; expected " + work_ +
                                 "; choose another file");
    all_ = before_ = saved.value("chunks", uint64_t{0});
    given_ = saved.value("given", uint64_t{0});
    seconds_ = saved.value("seconds", 0.0);
    cpu_seconds_ = saved.value("cpu_seconds", 0.0);
    endless_ = saved.value("endless_error", 0.0);
    next_ = all_;
}

void Progress::save() const {
    if (path_.empty()) return;
    const nlohmann::json saved = {{"work", work_},
                                  {"chunks", all_},
                                  {"given", given_},
                                  {"seconds", seconds_},
                                  {"cpu_seconds", cpu_seconds_},
                                  {"endless_error", endless_}};
    const std::string fresh = path_ + ".new";
    std::ofstream(fresh) << saved.dump() << "\n";
    std::rename(fresh.c_str(), path_.c_str());
}

bool Progress::next(uint64_t *chunk) {
    const std::lock_guard lock(mutex_);
    if (next_ >= chunks_) return false;
    *chunk = next_++;
    return true;
}

void Progress::done(uint64_t chunk, uint64_t given, double endless_error) {
    const std::lock_guard lock(mutex_);
    done_.insert(chunk);
    while (done_.erase(all_)) all_++;
    given_ += given;
    endless_ = std::max(endless_, endless_error);
    save();
}

void Progress::spent(double wall_seconds, double cpu_seconds) {
    const std::lock_guard lock(mutex_);
    seconds_ += wall_seconds;
    cpu_seconds_ += cpu_seconds;
}

void Progress::measure(uint64_t rss_kib, uint64_t settled) {
    const std::lock_guard lock(mutex_);
    most_kib_ = std::max(most_kib_, rss_kib);
    if (all_ + done_.size() - before_ < settled) base_kib_ = most_kib_;
}

void Progress::allocated(uint64_t calls) {
    const std::lock_guard lock(mutex_);
    allocations_ += calls;
}

uint64_t Progress::growth_kib() const {
    const std::lock_guard lock(mutex_);
    return most_kib_ - base_kib_;
}
uint64_t Progress::allocations() const {
    const std::lock_guard lock(mutex_);
    return allocations_;
}

std::string Progress::summary(const std::string &unit, double units_a_chunk) const {
    const std::lock_guard lock(mutex_);
    const double units = static_cast<double>(all_ + done_.size()) * units_a_chunk;
    return nlohmann::ordered_json{{unit, units},
                                  {"of", static_cast<double>(chunks_) * units_a_chunk},
                                  {"given", given_},
                                  {"wall_seconds", seconds_},
                                  {"cpu_seconds", cpu_seconds_},
                                  {unit + "_a_cpu_second", cpu_seconds_ > 0 ? units / cpu_seconds_ : 0},
                                  {"rss_kib", most_kib_},
                                  {"growth_kib", most_kib_ - base_kib_},
                                  {"allocations", allocations_},
                                  {"endless_error", endless_}}
        .dump();
}

} // namespace longwave::soak
