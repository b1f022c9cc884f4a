// What a soak test has done, for people and for a later call that goes on.
#pragma once
#include <cstdint>
#include <mutex>
#include <set>
#include <string>

namespace longwave::soak {

// Chunks that were served and found equal, and the largest figures. All members: any thread.
class Progress {
public:
    // Reads the file, if it is there: lines "key value". Throws std::runtime_error for a file of
    // another `work`.
    Progress(std::string path, std::string work, uint64_t chunks);

    bool next(uint64_t *chunk); // one to do; false: none is left
    void done(uint64_t chunk, uint64_t given, double endless_error);
    void spent(double wall_seconds, double cpu_seconds); // since the last call
    // Memory now. The largest before `settled` chunks is the base of later growth.
    void measure(uint64_t rss_kib, uint64_t settled);
    void allocated(uint64_t calls);

    std::string summary(const std::string &unit, double units_a_chunk) const; // one JSON object
    uint64_t growth_kib() const;
    uint64_t allocations() const;

private:
    void save() const;

    const std::string path_, work_;
    const uint64_t chunks_;
    mutable std::mutex mutex_;
    std::set<uint64_t> done_; // behind the first `all_`
    uint64_t all_ = 0, next_ = 0, given_ = 0, allocations_ = 0;
    uint64_t before_ = 0;                  // finished by earlier calls
    uint64_t base_kib_ = 0, most_kib_ = 0; // of this call
    double seconds_ = 0, cpu_seconds_ = 0, endless_ = 0;
};

} // namespace longwave::soak
